// SPDX-License-Identifier: Apache-2.0
// What the third analyser says about the inventory; see function_table.h.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status_macros.h"
#include "explore/parse/cpp_words.h"
#include "explore/parse/function_table.h"

namespace crossdock::explore {
namespace {

constexpr std::string_view kCtags = "ctags";
constexpr int kLineDistanceMax = 3;  // It counts from the type, or from the name.

/// ctags writes "operator []" for "operator[]".
bool same_operator(std::string_view name, std::string_view tag) {
  if (!name.starts_with("operator") || !tag.starts_with("operator")) {
    return false;
  }
  return std::equal(name.begin(), name.end(), tag.begin(), tag.end()) ||
         (tag.size() == name.size() + 1 && tag.substr(9) == name.substr(8));
}

/// Why a function that ctags lists is not in the inventory.
std::string reason_of(const SourceFile& file, const CtagsFunction& tag) {
  if (is_cpp_keyword(tag.name)) {
    return "a keyword";
  }
  if (tag.name.starts_with("__anon")) {
    return "a name that ctags made up";
  }
  const auto line = static_cast<std::uint32_t>(tag.line);
  for (const Token& token : file.tokens.all()) {
    if (token.line > line) {
      break;
    }
    if (token.kind == TokenKind::kDirective && token.line == line) {
      return "the definition of a macro";
    }
  }
  const auto& masked = file.masked.masked;
  const bool was_masked = std::any_of(masked.begin(), masked.end(), [&](const Masked& entry) {
    return file.text.lines_of(entry.bytes).contains(tag.line);
  });
  return was_masked ? "inside a masked range" : "no body was found there";
}

}  // namespace

Status add_ctags_votes(Project& project, const RunProgram& run) {
  std::vector<std::string> paths;
  for (const auto& file : project.files) {
    if (file->language != Language::kText) {
      paths.push_back(file->absolute);
    }
  }
  CROSSDOCK_ASSIGN_OR_RETURN(auto tags, run_ctags(run, paths));
  for (std::size_t index = 0; index < project.files.size(); ++index) {
    const SourceFile& file = *project.files[index];
    for (const CtagsFunction& tag : tags[file.absolute]) {
      bool is_known = false;
      for (const int candidate : file.functions) {
        Function& function = project.function(candidate);
        const bool is_lambda =
            function.kind == FunctionKind::kLambda && tag.name.starts_with("__anon");
        const bool has_name =
            function.name == tag.name || is_lambda || same_operator(function.name, tag.name) ||
            (function.kind == FunctionKind::kMacro && function.name.starts_with(tag.name));
        if (has_name && std::abs(function.name_line - tag.line) <= kLineDistanceMax) {
          is_known = true;
          if (function.found_by.empty() || function.found_by.back() != kCtags) {
            function.found_by.push_back(kCtags);
            break;
          }
        }
      }
      if (!is_known) {
        project.disagreements.push_back({static_cast<int>(index),
                                         tag.line,
                                         tag.name,
                                         {kCtags},
                                         {"tree-sitter", "scanner"},
                                         reason_of(file, tag)});
      }
    }
    for (const int candidate : file.functions) {
      const Function& function = project.function(candidate);
      const bool listed = !function.found_by.empty() && function.found_by.back() == kCtags;
      if (!listed && function.kind != FunctionKind::kLambda) {
        project.disagreements.push_back({static_cast<int>(index),
                                         function.name_line,
                                         function.name,
                                         function.found_by,
                                         {kCtags},
                                         "not in ctags' list"});
      }
    }
  }
  return {};
}

}  // namespace crossdock::explore
