// SPDX-License-Identifier: Apache-2.0
// Marks that follow from names and where they are read and written; see marks.h.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "explore/facts/marks.h"
#include "explore/graph/declared_names.h"
#include "explore/parse/cpp_words.h"

namespace crossdock::explore {
namespace {

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool contains_any(std::string_view text, std::initializer_list<std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](std::string_view part) { return contains(text, part); });
}

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// Without "_v2", "V3", "New", "_old" at the end; the name itself when it has none.
std::string_view without_version(std::string_view name) {
  for (const std::string_view suffix : {"_new", "_old", "New", "Old", "_legacy", "Legacy"}) {
    if (name.size() > suffix.size() && name.ends_with(suffix)) {
      return name.substr(0, name.size() - suffix.size());
    }
  }
  std::size_t end = name.size();
  while (end > 0 && name[end - 1] >= '0' && name[end - 1] <= '9') {
    --end;
  }
  const bool has_version = end < name.size() && end >= 2 &&
                           ((name[end - 1] == 'v' && name[end - 2] == '_') || name[end - 1] == 'V');
  return has_version ? name.substr(0, name[end - 1] == 'v' ? end - 2 : end - 1) : name;
}

/// Every name that some type, macro, alias or function of the tree defines.
std::set<std::string, std::less<>> defined_names(const Project& project) {
  std::set<std::string, std::less<>> names;
  for (const Function& function : project.functions) {
    names.insert(function.name);
  }
  for (const auto& file : project.files) {
    for (const FoundDeclaration& declaration : file->inventory.declarations) {
      names.insert(declaration.name);
    }
    for (const Macro& macro : file->directives.macros) {
      names.insert(macro.name);
    }
    for (std::size_t index = 0; index + 1 < file->code.size(); ++index) {
      const bool defines =
          is_one_of(file->code.text(index), {"class", "struct", "union", "enum", "using", "typedef",
                                             "concept", "typename", "namespace", "import", "as"});
      if (defines) {
        std::size_t name = index + 1;
        while (is_one_of(file->code.text(name), {"class", "struct", "typename", "::"}) ||
               file->code.text(name + 1) == "::") {
          ++name;
        }
        const bool is_type =
            is_one_of(file->code.text(index), {"class", "struct", "union", "enum"});
        const std::string_view after = file->code.text(name + 1);
        if (!is_type || is_one_of(after, {"{", ":", "<", "final"})) {
          names.emplace(file->code.text(name));  // Not "struct T;" and "struct T* p".
        }
      }
      if (file->code.text(index + 1) == ";" && index > 0 && file->code.text(index - 1) == "}") {
        names.emplace(file->code.text(index));  // typedef struct {...} name;
      }
    }
  }
  return names;
}

/// By its name a helper that says where something lies. Those of well-known libraries aside.
bool computes_address(std::string_view name) {
  for (const std::string_view prefix : {"cu", "nccl", "nvshmem", "acl", "ibv_", "__"}) {
    if (name.starts_with(prefix)) {
      return false;
    }
  }
  for (const std::string_view suffix : {"_ptr", "_offset", "_address", "_addr", "_base", "Ptr",
                                        "Offset", "Address", "Addr", "Base"}) {
    if (name.ends_with(suffix) && name.size() > suffix.size()) {
      return true;
    }
  }
  return false;
}

/// "(void)x": meant, and said.
bool is_voided(const SourceFile& file, const Function& function, std::string_view name) {
  for (std::size_t index = function.first_token + 3; index < function.last_token; ++index) {
    if (file.code.text(index) == name && file.code.text(index - 1) == ")" &&
        file.code.text(index - 2) == "void") {
      return true;
    }
  }
  return false;
}

}  // namespace

void mark_unread_parameters(const MarkContext& context) {
  const Project& project = context.project;
  for (std::size_t index = 0; index < project.functions.size(); ++index) {
    const Function& function = project.functions[index];
    if (function.is_implicit || function.kind == FunctionKind::kMacro ||
        function.kind == FunctionKind::kLambda) {
      continue;
    }
    std::vector<std::string> names;
    for (const Parameter& parameter : function.parameters) {
      const bool is_meant = parameter.name.starts_with("_") || parameter.is_pack ||
                            is_one_of(parameter.name, {"self", "cls"}) ||
                            contains(parameter.type, "maybe_unused") ||
                            is_voided(project.file_of(function), function, parameter.name);
      if (parameter.read == false && !is_meant) {
        names.push_back(parameter.name);
      }
    }
    if (!names.empty()) {
      context.add("parameter-never-read", static_cast<int>(index), function.file,
                  {function.signature_lines},
                  fmt::format("suspect: {} never reads {}", function.name, fmt::join(names, ", ")));
    }
  }
}

void mark_unused_sizes(const MarkContext& context) {
  const Project& project = context.project;
  for (std::size_t index = 0; index < project.functions.size(); ++index) {
    const Function& function = project.functions[index];
    const SourceFile& file = project.file_of(function);
    if (!file.is_cpp() || function.parent != kNone) {
      continue;
    }
    std::map<std::string_view, int> counts;
    for (std::size_t token = function.first_token; token < function.last_token; ++token) {
      if (file.code.is_name(token)) {
        ++counts[file.code.text(token)];
      }
    }
    for (std::size_t token = function.first_token; token < function.last_token; ++token) {
      const std::string_view name = file.code.text(token);
      const bool is_size = file.code.is_name(token) && file.code.text(token + 1) == "=" &&
                           counts[name] == 1 &&
                           contains_any(name, {"bytes", "Bytes", "size", "Size", "offset", "Offset",
                                               "length", "stride", "capacity"});
      if (is_size && cpp_declaration_at(file.code, token).is_declared) {
        const int line = static_cast<int>(file.code[token].line);
        context.add("size-without-consumer", file.owners[token], function.file, {{line, line}},
                    fmt::format("suspect: {} is computed and never used", name));
      }
    }
  }
}

void mark_unwritten_budgets(const MarkContext& context) {
  struct Use {
    int file;
    int function;
    int line;
  };
  std::map<std::string, Use> tested;
  std::set<std::string, std::less<>> written;
  const Project& project = context.project;
  for (const Function& function : project.functions) {
    for (const Parameter& parameter : function.parameters) {
      written.insert(parameter.name);
    }
  }
  for (std::size_t index = 0; index < project.files.size(); ++index) {
    const SourceFile& file = *project.files[index];
    for (std::size_t token = 1; token < file.code.size(); ++token) {
      const std::string_view name = file.code.text(token);
      if (!file.code.is_name(token) || !file.is_cpp() ||
          !contains_any(name, {"budget", "Budget", "credit", "Credit", "quota", "Quota"})) {
        continue;
      }
      const std::string_view before = file.code.text(token - 1);
      const std::string_view after = file.code.text(token + 1);
      const bool writes = is_one_of(after, {"=", "+=", "-=", "++", "--", "[", "{", "(", "."}) ||
                          is_one_of(before, {"++", "--", "&", "::"}) || looks_like_macro(name) ||
                          name.starts_with("k");
      if (writes) {
        written.emplace(name);
      } else if (is_one_of(after, {"<", ">", "<=", ">=", "==", "!="}) ||
                 is_one_of(before, {"<", ">", "<=", ">=", "==", "!="})) {
        tested.try_emplace(std::string(name), Use{static_cast<int>(index), file.owners[token],
                                                  static_cast<int>(file.code[token].line)});
      }
    }
  }
  for (const auto& [name, use] : tested) {
    if (!written.contains(name)) {
      context.add("budget-without-writer", use.function, use.file, {{use.line, use.line}},
                  fmt::format("suspect: {} is tested here and nothing writes it", name));
    }
  }
}

void mark_missing_layouts(const MarkContext& context) {
  const Project& project = context.project;
  const auto defined = defined_names(project);
  std::set<std::string, std::less<>> seen;
  for (std::size_t index = 0; index < project.files.size(); ++index) {
    const SourceFile& file = *project.files[index];
    for (std::size_t token = 1; token < file.code.size() && file.is_cpp(); ++token) {
      const std::string_view name = file.code.text(token);
      const std::string_view after = file.code.text(token + 1);
      const bool is_type =
          name.ends_with("Layout") && name.size() > 6 && name.front() <= 'Z' &&
          (file.code.is_name(token + 1) || is_one_of(after, {"(", "{", "*", "&", ">", "::"}));
      const std::string_view before = file.code.text(token - 1);
      const bool is_foreign =
          is_one_of(before, {".", "->", "class", "struct"}) ||
          (before == "::" && token >= 2 && !context.symbols.is_scope(file.code.text(token - 2)));
      if (file.code.is_name(token) && is_type && !is_foreign && !defined.contains(name) &&
          seen.emplace(name).second) {
        const int line = static_cast<int>(file.code[token].line);
        context.add("layout-missing", file.owners[token], static_cast<int>(index), {{line, line}},
                    fmt::format("suspect: {} is used and defined nowhere in the source", name));
      }
    }
  }
  for (const ExternalCall& call : project.external_calls) {
    const bool is_helper =
        call.name.find_first_of(":.") == std::string::npos && computes_address(call.name);
    if (is_helper && !defined.contains(call.name) && seen.insert(call.name).second) {
      const int line = call.sites.front().line;
      context.add("layout-missing", call.from, project.function(call.from).file, {{line, line}},
                  fmt::format("suspect: the address helper {} is defined nowhere in the source",
                              call.name));
    }
  }
}

void mark_version_families(const MarkContext& context) {
  const Project& project = context.project;
  std::map<std::pair<std::string, std::string>, std::vector<int>> families;
  for (std::size_t index = 0; index < project.functions.size(); ++index) {
    const Function& function = project.functions[index];
    if (function.kind != FunctionKind::kLambda && function.kind != FunctionKind::kMacro) {
      families[{function.found.scope, std::string(without_version(function.name))}].push_back(
          static_cast<int>(index));
    }
  }
  for (const auto& [key, members] : families) {
    std::set<std::string> names;
    std::vector<std::string> live;
    for (const int member : members) {
      const Function& function = project.function(member);
      names.insert(function.name);
      if (function.reach != Reach::kUnreachable) {
        live.push_back(function.name);
      }
    }
    if (names.size() < 2) {
      continue;
    }
    std::sort(live.begin(), live.end());
    live.erase(std::unique(live.begin(), live.end()), live.end());
    const Function& first = project.function(members.front());
    std::vector<LineRange> lines;
    for (const int member : members) {
      if (project.function(member).file == first.file) {
        lines.push_back(project.function(member).lines);
      }
    }
    context.add("version-family", members.front(), first.file, std::move(lines),
                fmt::format("{} versions of {}; reached: {}", names.size(), key.second,
                            live.empty() ? "none" : fmt::format("{}", fmt::join(live, ", "))),
                members);
  }
}

}  // namespace crossdock::explore
