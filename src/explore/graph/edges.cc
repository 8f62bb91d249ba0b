// SPDX-License-Identifier: Apache-2.0
#include "explore/graph/edges.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "explore/graph/bindings.h"
#include "explore/graph/call_sites.h"
#include "explore/graph/python_bindings.h"
#include "explore/graph/resolve.h"
#include "explore/parse/cpp_words.h"

namespace crossdock::explore {
namespace {

constexpr std::size_t kCandidatesMax = 24;  // More say nothing; the call is listed as external.

class Builder {
 public:
  Builder(Project& project, const Rules& rules, const MacroTable& macros, const Symbols& symbols)
      : project_(project), rules_(rules), macros_(macros), symbols_(symbols) {}

  void run() {
    for (std::size_t file = 0; file < project_.files.size(); ++file) {
      find_tables(static_cast<int>(file));
    }
    for (std::size_t index = 0; index < project_.files.size(); ++index) {
      const SourceFile& file = *project_.files[index];
      if (file.language == Language::kText) {
        continue;
      }
      find_call_sites(
          file,
          [&](std::string_view name) {
            return !symbols_.functions(name).empty() || symbols_.is_class(name);
          },
          [&](const CallSite& site) { add_site(file, site); });
      for (std::size_t token = 0; token < file.code.size(); ++token) {
        if (file.owners[token] != kNone) {
          add_mentions(file, static_cast<int>(index), token);
        }
      }
    }
  }

 private:
  [[nodiscard]] Site site_of(const SourceFile& file, std::size_t token) const {
    return file.text.site(file.code[token].bytes());
  }

  void add_site(const SourceFile& file, const CallSite& site) {
    const std::string_view name = file.code.text(site.token);
    if (file.code[site.token].begin == project_.function(site.function).found.name_at.begin) {
      return;
    }
    if (file.is_cpp() && !macros_.find(name, 0, 0).empty() && symbols_.functions(name).empty()) {
      return;  // Its mentions are added below.
    }
    const bool is_value = site.argument_count < 0 &&
                          (site.form == EdgeForm::kPointer || site.form == EdgeForm::kTemplateCall);
    Meaning meaning = file.is_cpp() ? resolve_cpp(project_, symbols_, site)
                                    : resolve_python(project_, symbols_, site);
    if (file.is_python()) {
      add_bindings(project_, symbols_, site, meaning);
    }
    if (is_value) {
      add_value(file, site, std::move(meaning));
    } else if (meaning.functions.empty() && site.form == EdgeForm::kConstruct) {
      return;  // A class without a constructor of its own.
    } else if (meaning.functions.empty() || meaning.functions.size() > kCandidatesMax) {
      if (meaning.functions.size() > kCandidatesMax) {
        meaning.reason = fmt::format("too many candidates: {}", meaning.functions.size());
      }
      add_external(file, site, meaning.reason);
    } else {
      add_edges(site.function, meaning, site_of(file, site.token));
    }
  }

  /// A function handed on: only what is certain to be one, not a variable of that name.
  void add_value(const SourceFile& file, const CallSite& site, Meaning meaning) {
    if (meaning.functions.empty() || meaning.functions.size() > kCandidatesMax) {
      return;
    }
    const bool takes_address = site.token > 0 && file.code.text(site.token - 1) == "&";
    std::erase_if(meaning.functions, [&](int index) {
      const bool is_member = project_.function(index).kind == FunctionKind::kMember;
      return is_member && meaning.form != EdgeForm::kConstruct && !takes_address &&
             site.qualifier.empty() && site.receiver != Receiver::kThis;
    });
    const bool constructs = meaning.form == EdgeForm::kConstruct;
    if (meaning.functions.empty() || (constructs && !makes_object(file, site.token))) {
      return;
    }
    if (meaning.functions.size() == 1 && meaning.edge_class == EdgeClass::kAmbiguous) {
      meaning.edge_class = EdgeClass::kNameOnly;
    }
    meaning.form = meaning.form == EdgeForm::kLambda || constructs ? meaning.form : site.form;
    const bool is_launch = site.form == EdgeForm::kPointer && meaning.functions.size() == 1 &&
                           project_.function(meaning.functions.front()).execution == "kernel" &&
                           project_.function(site.function).execution == "host";
    if (is_launch) {
      meaning.form = EdgeForm::kLaunch;
    }
    add_edges(site.function, meaning, site_of(file, site.token));
  }

  /// "make_shared<T>(...)".
  static bool makes_object(const SourceFile& file, std::size_t token) {
    std::size_t open = token;
    while (open > 0 && (file.code.is_name(open) || file.code.text(open) == "::")) {
      --open;
    }
    return open > 0 && file.code.text(open) == "<" &&
           (file.code.text(open - 1).starts_with("make_") ||
            file.code.text(open - 1).starts_with("emplace"));
  }

  void add_edges(int from, const Meaning& meaning, Site site) {
    for (const int to : meaning.functions) {
      std::vector<int> others;
      if (meaning.edge_class == EdgeClass::kAmbiguous || meaning.functions.size() > 1) {
        std::copy_if(meaning.functions.begin(), meaning.functions.end(), std::back_inserter(others),
                     [&](int other) { return other != to; });
      }
      add_edge(from, to, meaning.edge_class, meaning.form, site, std::move(others));
    }
  }

  void add_edge(int from, int to, EdgeClass edge_class, EdgeForm form, Site site,
                std::vector<int> alternatives) {
    const auto key = std::make_tuple(from, to, edge_class, form);
    const auto [entry, is_new] = edges_.try_emplace(key, project_.edges.size());
    if (is_new) {
      Edge edge;
      edge.from = from;
      edge.to = to;
      edge.edge_class = edge_class;
      edge.form = form;
      edge.alternatives = std::move(alternatives);
      edge.conditions = conditions_at(from, site.line);
      project_.edges.push_back(std::move(edge));
    }
    std::vector<Site>& sites = project_.edges[entry->second].sites;
    if (std::find(sites.begin(), sites.end(), site) == sites.end()) {
      sites.push_back(site);
    }
  }

  /// Those inside the function.
  [[nodiscard]] std::vector<std::string> conditions_at(int function, int line) const {
    const Function& caller = project_.function(function);
    const ConditionedLines* const region = project_.file_of(caller).directives.at(line);
    if (region == nullptr || region->conditions.size() <= caller.conditions.size()) {
      return {};
    }
    return {region->conditions.begin() + static_cast<std::ptrdiff_t>(caller.conditions.size()),
            region->conditions.end()};
  }

  void add_external(const SourceFile& file, const CallSite& site, const std::string& reason) {
    const std::string_view name = file.code.text(site.token);
    std::string written =
        site.qualifier.empty() ? std::string(name) : site.qualifier + "::" + std::string(name);
    if (site.receiver != Receiver::kAbsent) {
      written = site.chain + "." + written;
    }
    const auto key = std::make_pair(site.function, written);
    const auto [entry, is_new] = externals_.try_emplace(key, project_.external_calls.size());
    if (is_new) {
      ExternalCall call;
      call.from = site.function;
      call.name = written;
      call.mechanism = rules_.mechanism(name);
      if (!reason.empty()) {
        call.reason = reason;
      }
      project_.external_calls.push_back(std::move(call));
    }
    project_.external_calls[entry->second].sites.push_back(site_of(file, site.token));
  }

  void find_tables(int file_index) {
    const SourceFile& file = project_.file(file_index);
    const Tokens& code = file.code;
    for (std::size_t open = 1; open < code.size() && file.is_cpp(); ++open) {
      if (code.text(open) != "{" || code.text(open - 1) != "=" || file.owners[open] != kNone) {
        continue;
      }
      std::size_t name = open - 1;
      while (name > 0 && !code.is_name(name)) {
        name = code.text(name) == "]" && name >= 2 ? name - 1 : name - 1;
      }
      const std::size_t close = std::min(code.match(open), code.size());
      for (std::size_t index = open; index < close; ++index) {
        const std::string_view after = code.text(index + 1);
        if (code.is_name(index) && (after == "," || after == "}") &&
            !symbols_.functions(code.text(index)).empty()) {
          tables_[std::string(code.text(name))].emplace_back(code.text(index));
        }
      }
    }
  }

  void add_mentions(const SourceFile& file, int file_index, std::size_t token) {
    const int function = file.owners[token];
    if (file.code[token].kind == TokenKind::kString) {
      add_string(file, function, token);
      return;
    }
    if (!file.is_cpp() || !file.code.is_name(token)) {
      return;
    }
    const std::string_view name = file.code.text(token);
    if (const auto table = tables_.find(std::string(name)); table != tables_.end()) {
      for (const std::string& target : table->second) {
        add_textual(function, target, EdgeForm::kTable, site_of(file, token));
      }
    }
    if (function != kNone && symbols_.functions(name).empty()) {
      std::set<std::string> seen;
      add_macro(function, name, file_index, static_cast<int>(file.code[token].line),
                site_of(file, token), seen);
    }
  }

  void add_macro(int function, std::string_view name, int file, int line, Site site,
                 std::set<std::string>& seen) {
    constexpr std::size_t kMacrosMax = 64;
    const std::vector<const MacroInfo*> found = macros_.find(name, file, line);
    if (found.empty() || seen.size() > kMacrosMax || !seen.emplace(name).second) {
      return;
    }
    for (const MacroInfo* macro : found) {
      for (const std::string& called : macro->called) {
        const auto& parameters = macro->macro->parameters;
        if (std::find(parameters.begin(), parameters.end(), called) == parameters.end()) {
          add_textual(function, called, EdgeForm::kMacroCall, site);
        }
      }
      for (const std::string& inner : macro->names) {
        if (inner != name) {
          add_macro(function, inner, macro->file, macro->line + kMacroLinesMax, site, seen);
        }
      }
    }
  }

  void add_textual(int from, std::string_view name, EdgeForm form, Site site) {
    std::vector<int> targets;
    for (const int index : symbols_.functions(name)) {
      const Function& function = project_.function(index);
      const bool is_seen = !function.is_internal || function.file == project_.function(from).file;
      if (project_.file_of(function).is_cpp() && is_seen &&
          (function.kind != FunctionKind::kMember || form == EdgeForm::kTable)) {
        targets.push_back(index);
      }
    }
    if (targets.size() <= kCandidatesMax) {
      add_edges(from, {targets, EdgeClass::kTextual, form, {}}, site);
    }
  }

  /// Kernels that a program text in a string names, and what getattr() asks for.
  void add_string(const SourceFile& file, int function, std::size_t token) {
    const std::string_view content = string_content(file.code.text(token));
    if (file.is_python()) {
      const bool is_asked =
          token >= 4 && file.code.text(token - 1) == "," &&
          (file.code.text(token - 4) == "getattr" || file.code.text(token - 5) == "getattr");
      if (is_asked) {
        for (const int index : bindings_named(project_, content, {})) {
          const int target = project_.bindings[static_cast<std::size_t>(index)].function;
          if (target != kNone) {
            add_edge(function, target, EdgeClass::kTextual, EdgeForm::kBinding,
                     site_of(file, token), {});
          }
        }
      }
      return;
    }
    constexpr std::size_t kContentMax = 20000;
    const Tokens words(content, lex(content.substr(0, kContentMax), LexerMode::kCpp));
    for (std::size_t index = 0; index < words.size(); ++index) {
      const bool is_used =
          words.is_name(index) && (words.text(index + 1) == "<" || words.text(index + 1) == "(" ||
                                   (index > 0 && words.text(index - 1) == "&"));
      if (!is_used) {
        continue;
      }
      std::vector<int> kernels;
      for (const int candidate : symbols_.functions(words.text(index))) {
        if (project_.function(candidate).execution == "kernel") {
          kernels.push_back(candidate);
        }
      }
      if (!kernels.empty() && kernels.size() <= kCandidatesMax) {
        add_edges(function, {kernels, EdgeClass::kTextual, EdgeForm::kLaunch, {}},
                  site_of(file, token));
      }
    }
  }

  static constexpr int kMacroLinesMax = 100000;  // A macro may use those defined after it.

  Project& project_;
  const Rules& rules_;
  const MacroTable& macros_;
  const Symbols& symbols_;
  std::map<std::tuple<int, int, EdgeClass, EdgeForm>, std::size_t> edges_;
  std::map<std::pair<int, std::string>, std::size_t> externals_;
  std::map<std::string, std::vector<std::string>> tables_;
};

}  // namespace

void build_edges(Project& project, const Rules& rules, const MacroTable& macros,
                 const Symbols& symbols) {
  project.bindings = find_bindings(project, symbols);
  Builder(project, rules, macros, symbols).run();
}

}  // namespace crossdock::explore
