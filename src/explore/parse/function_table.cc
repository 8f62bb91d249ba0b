// SPDX-License-Identifier: Apache-2.0
#include "explore/parse/function_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "explore/parse/brace_scanner.h"
#include "explore/parse/cpp_inventory.h"
#include "explore/parse/cpp_words.h"
#include "explore/parse/function_details.h"
#include "explore/parse/parameters.h"
#include "explore/parse/python_inventory.h"

namespace crossdock::explore {
namespace {

constexpr std::string_view kParser = "tree-sitter";
constexpr std::string_view kScanner = "scanner";

/// The tree-sitter library corrupts its memory when its stack holds more than 65,535 entries, which
/// only brackets, or one statement without end, can bring about.
bool is_too_deep(const SourceFile& file) {
  constexpr int kDepthMax = 5000;
  constexpr int kStatementMax = 20000;
  int depth = 0;
  int statement = 0;
  std::uint32_t line = 0;
  for (const Token& token : file.code.all()) {
    const std::string_view word = file.code.text(token);
    const bool opens = word == "(" || word == "[" || word == "{";
    const bool closes = word == ")" || word == "]" || word == "}";
    depth += opens ? 1 : (closes && depth > 0) ? -1 : 0;
    const bool begins_line = file.is_python() && depth == 0 && token.line != line;
    const bool ends = word == ";" || word == "}" || word == "{" || word == "," || begins_line;
    statement = ends ? 0 : statement + 1;
    line = token.line;
    if (depth > kDepthMax || statement > kStatementMax) {
      return true;
    }
  }
  return false;
}

/// A definition and who found it.
struct Vote {
  FoundFunction found;
  std::vector<std::string_view> by;
};

class FileInventory {
 public:
  FileInventory(Project& project, int file, const Rules& rules, const MacroTable& macros)
      : project_(project),
        file_index_(file),
        file_(*project.files[static_cast<std::size_t>(file)]),
        rules_(rules),
        macros_(macros) {}

  void run(Duration time_max) {
    Inventory second;
    if (is_too_deep(file_)) {
      file_.inventory.gave_up = true;
      file_.inventory.unparsed.push_back({0, file_.text.size()});
    } else if (file_.is_python()) {
      file_.inventory = take_python_inventory(file_.text.view(), time_max);
    } else {
      const Grammar grammar = file_.language == Language::kC ? Grammar::kC : Grammar::kCpp;
      file_.inventory = take_cpp_inventory(file_.masked.text, grammar, time_max);
    }
    if (file_.is_python()) {
      second = scan_python(file_.text, file_.code);
    } else {
      const Tokens masked(file_.masked.text, code_tokens(lex(file_.masked.text, LexerMode::kCpp)));
      second = scan_cpp(masked);
    }
    if (file_.inventory.gave_up) {
      project_.warnings.push_back(
          {"parser-gave-up", file_.path, 0,
           "nested too deeply, or too slow to parse; read by brackets alone"});
    }
    merge(file_.inventory.functions, second.functions);
    if (file_.is_cpp()) {
      rename_macros();
      add_made_functions();
    }
    std::stable_sort(votes_.begin(), votes_.end(), [](const Vote& a, const Vote& b) {
      return a.found.whole.begin < b.found.whole.begin;
    });
    for (const Vote& vote : votes_) {
      add(vote);
    }
  }

 private:
  void merge(const std::vector<FoundFunction>& first, const std::vector<FoundFunction>& second) {
    for (const FoundFunction& found : first) {
      votes_.push_back({found, {kParser}});
    }
    const std::size_t first_count = votes_.size();
    std::vector<const FoundFunction*> alone;
    for (const FoundFunction& found : second) {
      const auto last = votes_.begin() + static_cast<std::ptrdiff_t>(first_count);
      const auto same = std::find_if(votes_.begin(), last,
                                     [&](const Vote& vote) { return is_same(vote.found, found); });
      if (same == last) {
        alone.push_back(&found);
        continue;
      }
      same->by.push_back(kScanner);
      if (file_.is_cpp() && found.body.end < same->found.body.end && is_torn(same->found)) {
        same->found.body = found.body;
        same->found.whole.end = found.whole.end;
      }
    }
    for (const FoundFunction* const found : alone) {
      if (file_.is_python() || is_inside_function(*found)) {
        disagree(*found, {kScanner}, {kParser}, "inside what the parser reads as something else");
      } else {
        votes_.push_back({*found, {kScanner}});
        disagree(*found, {kScanner}, {kParser}, "the parser could not read its surroundings");
      }
    }
    for (std::size_t index = 0; index < first_count; ++index) {
      const Vote& vote = votes_[index];
      if (vote.by.size() == 1 && vote.found.kind != FunctionKind::kLambda &&
          !is_inside_function(vote.found)) {
        disagree(vote.found, {kParser}, {kScanner}, "brackets and macros around it do not match");
      }
    }
  }

  /// The parser lost its place inside: brackets know better where it ends.
  [[nodiscard]] bool is_torn(const FoundFunction& found) const {
    const std::vector<ByteRange>& unparsed = file_.inventory.unparsed;
    return std::any_of(unparsed.begin(), unparsed.end(), [&](ByteRange bytes) {
      return bytes.begin <= found.body.end && found.body.begin <= bytes.end;
    });
  }

  [[nodiscard]] bool is_same(const FoundFunction& a, const FoundFunction& b) const {
    return a.name_at.begin == b.name_at.begin || (a.body == b.body && !file_.is_python()) ||
           (a.name == b.name &&
            file_.text.line_at(a.name_at.begin) == file_.text.line_at(b.name_at.begin));
  }

  [[nodiscard]] bool is_inside_function(const FoundFunction& found) const {
    return std::any_of(votes_.begin(), votes_.end(), [&](const Vote& vote) {
      return vote.found.body.begin < found.name_at.begin &&
             found.name_at.begin < vote.found.body.end;
    });
  }

  void disagree(const FoundFunction& found, std::vector<std::string_view> by,
                std::vector<std::string_view> missing, std::string reason) {
    project_.disagreements.push_back({file_index_, file_.text.line_at(found.name_at.begin),
                                      found.name, std::move(by), std::move(missing),
                                      std::move(reason)});
  }

  [[nodiscard]] std::vector<std::string> arguments_at(std::size_t open) const {
    std::vector<std::string> arguments;
    for (const TokenRange part : split_arguments(file_.code, open)) {
      arguments.push_back(joined(file_.code, part));
    }
    return arguments;
  }

  /// "TEST(Suite, Name) {...}" is read as a function TEST: it is named by what it makes.
  void rename_macros() {
    for (Vote& vote : votes_) {
      FoundFunction& found = vote.found;
      const bool may_be_macro = found.kind == FunctionKind::kFunction &&
                                trimmed(found.return_type).empty() && found.name != "main";
      if (!may_be_macro) {
        continue;
      }
      const std::size_t name = file_.code.at_or_after(found.name_at.begin);
      const std::vector<std::string> arguments = arguments_at(name + 1);
      const int line = file_.text.line_at(found.name_at.begin);
      for (const MacroInfo* macro : macros_.find(found.name, file_index_, line)) {
        if (const auto made = made_function(*macro, arguments)) {
          found.name = *made;
          found.kind = FunctionKind::kMacro;
          break;
        }
      }
      if (found.kind != FunctionKind::kMacro && looks_like_macro(found.name)) {
        found.name =
            fmt::format("{}({})", found.name,
                        one_line(joined(file_.code, {name + 2, file_.code.match(name + 1)})));
        found.kind = FunctionKind::kMacro;
      }
    }
  }

  void enter_namespace(std::size_t index,
                       std::vector<std::pair<std::size_t, std::string>>& open) const {
    while (!open.empty() && open.back().first <= index) {
      open.pop_back();
    }
    if (file_.code.text(index) != "namespace") {
      return;
    }
    std::string name = open.empty() ? "" : open.back().second;
    std::size_t at = index + 1;
    for (; file_.code.is_name(at) || file_.code.text(at) == "::"; ++at) {
      const bool joins = file_.code.is_name(at) && !name.empty();
      name += joins ? "::" + std::string(file_.code.text(at)) : "";
      name += !joins && file_.code.is_name(at) ? std::string(file_.code.text(at)) : "";
    }
    if (file_.code.text(at) == "{") {
      open.emplace_back(file_.code.match(at), std::move(name));
    }
  }

  /// "MAKE_KERNEL(copy, float)" with the whole function in the macro.
  void add_made_functions() {
    const Tokens& code = file_.code;
    std::vector<std::pair<std::size_t, std::string>> namespaces;  // closing brace, name
    for (std::size_t index = 0; index < code.size(); ++index) {
      enter_namespace(index, namespaces);
      const bool may_be = code.is_name(index) && code.text(index + 1) == "(" &&
                          (index == 0 || code.text(index - 1) == ";" ||
                           code.text(index - 1) == "}" || code.text(index - 1) == ")" ||
                           code.text(index - 1) == "{" || code.text(index - 1) == ">");
      const std::size_t close = may_be ? code.match(index + 1) : code.size();
      if (close >= code.size() || code.text(close + 1) == "{") {
        continue;
      }
      for (const MacroInfo* macro :
           macros_.find(code.text(index), file_index_, static_cast<int>(code[index].line))) {
        const auto made =
            macro->has_body ? made_function(*macro, arguments_at(index + 1)) : std::nullopt;
        FoundFunction found;
        found.whole = {code[index].begin, code[close].end};
        found.name_at = code[index].bytes();
        if (made.has_value() && !is_inside_function(found)) {
          found.name = *made;
          found.scope = namespaces.empty() ? "" : namespaces.back().second;
          found.kind = FunctionKind::kMacro;
          found.body = {code[index + 1].begin, code[close].end};
          votes_.push_back({std::move(found), {kScanner}});
          break;
        }
      }
    }
  }

  void add(const Vote& vote) {
    Function function = file_.is_python()
                            ? describe_python_function(file_, vote.found)
                            : describe_cpp_function(file_, vote.found, rules_, macros_);
    function.file = file_index_;
    function.found_by = vote.by;
    if (vote.found.kind == FunctionKind::kMacro) {
      set_macro_execution(function);
    }
    file_.functions.push_back(static_cast<int>(project_.functions.size()));
    project_.functions.push_back(std::move(function));
  }

  void set_macro_execution(Function& function) const {
    const std::size_t name = file_.code.at_or_after(function.found.name_at.begin);
    for (const MacroInfo* macro :
         macros_.find(file_.code.text(name), file_index_, function.name_line)) {
      if (macro->execution == "kernel" || macro->execution == "device") {
        function.execution = macro->execution == "kernel" ? "kernel" : "device";
      }
    }
  }

  Project& project_;
  int file_index_;
  SourceFile& file_;
  const Rules& rules_;
  const MacroTable& macros_;
  std::vector<Vote> votes_;
};

/// Parents, names of lambdas and nested functions, owners of tokens.
void nest(Project& project, int file_index) {
  SourceFile& file = *project.files[static_cast<std::size_t>(file_index)];
  std::vector<int> open;
  std::map<int, int> lambda_counts;
  for (const int index : file.functions) {
    Function& function = project.function(index);
    while (!open.empty() &&
           project.function(open.back()).found.whole.end <= function.found.whole.begin) {
      open.pop_back();
    }
    function.parent = open.empty() ? kNone : open.back();
    if (function.kind == FunctionKind::kLambda) {
      const int number = ++lambda_counts[function.parent];
      function.name = fmt::format("<lambda@{}>", number);
      function.qualified = function.name;
    }
    if (function.parent != kNone && !file.is_python()) {
      const Function& parent = project.function(function.parent);
      function.qualified = parent.qualified + "::" + function.name;
      if (function.execution == "host") {
        function.execution = parent.execution;
      }
    }
    open.push_back(index);
  }
  file.owners.assign(file.code.size(), kNone);
  for (const int index : file.functions) {  // Inner ones come later and overwrite.
    const ByteRange whole = project.function(index).found.whole;
    for (std::size_t token = file.code.at_or_after(whole.begin);
         token < file.code.size() && file.code[token].begin < whole.end; ++token) {
      file.owners[token] = index;
    }
  }
}

void set_ids(Project& project) {
  std::map<std::string, int> seen;
  for (Function& function : project.functions) {
    std::string signature = function.signature;
    std::erase(signature, ' ');
    const std::uint64_t hash = hash_text(
        fmt::format("{}\n{}\n{}", project.file_of(function).path, function.qualified, signature));
    function.id = fmt::format("{}#{:08x}", function.qualified, hash >> 32);
    const int count = ++seen[function.id];
    if (count > 1) {
      function.id += fmt::format(".{}", count);
    }
  }
}

void add_declarations(Project& project) {
  std::multimap<std::string, int> by_qualified;
  for (std::size_t index = 0; index < project.functions.size(); ++index) {
    by_qualified.emplace(project.functions[index].qualified, static_cast<int>(index));
  }
  for (std::size_t file = 0; file < project.files.size(); ++file) {
    for (const FoundDeclaration& found : project.files[file]->inventory.declarations) {
      const auto [first, last] =
          by_qualified.equal_range(found.scope + (found.scope.empty() ? "" : "::") + found.name);
      for (auto entry = first; entry != last; ++entry) {
        project.function(entry->second)
            .declarations.push_back({static_cast<int>(file), found.line});
      }
    }
  }
}

}  // namespace

void read_tokens(Project& project, const Rules& rules) {
  for (const auto& file : project.files) {
    if (file->language == Language::kText) {
      continue;
    }
    const LexerMode mode = file->is_python() ? LexerMode::kPython : LexerMode::kCpp;
    file->tokens = Tokens(file->text.view(), lex(file->text.view(), mode));
    file->code = Tokens(file->text.view(), code_tokens(file->tokens.all()));
    if (file->is_cpp()) {
      file->directives = read_directives(file->text, file->tokens);
      file->masked = mask(file->text, file->tokens, file->directives, rules);
      for (const int line : file->directives.unbalanced) {
        project.warnings.push_back({"conditional", file->path, line, "#if and #endif do not pair"});
      }
    }
  }
}

void build_functions(Project& project, const Rules& rules, const MacroTable& macros,
                     const InventoryOptions& options) {
  for (std::size_t file = 0; file < project.files.size(); ++file) {
    if (project.files[file]->language == Language::kText) {
      continue;
    }
    if (options.tell) {
      options.tell(fmt::format("parsing {} ({} of {} files)", project.files[file]->path, file + 1,
                               project.files.size()));
    }
    FileInventory(project, static_cast<int>(file), rules, macros).run(options.parse_time_max);
    nest(project, static_cast<int>(file));
  }
  set_ids(project);
  add_declarations(project);
}

}  // namespace crossdock::explore
