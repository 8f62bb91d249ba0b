// SPDX-License-Identifier: Apache-2.0
#include "explore/parse/macro_table.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "explore/parse/cpp_words.h"

namespace crossdock::explore {
namespace {

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void add_once(std::vector<std::string>& names, std::string_view name) {
  if (!contains(names, name)) {
    names.emplace_back(name);
  }
}

/// "name##_impl" before the '(' at `open`, when a parameter of the macro is part of it and a type
/// stands before it.
std::vector<std::string> pasted_name(const Tokens& body, std::size_t open, const Macro& macro) {
  std::vector<std::string> parts;
  std::size_t index = open;
  while (index > 0 && body.is_name(index - 1)) {
    parts.insert(parts.begin(), std::string(body.text(--index)));
    if (index == 0 || body.text(index - 1) != "##") {
      break;
    }
    --index;
  }
  const bool has_type = index > 0 && (body.is_name(index - 1) || body.text(index - 1) == "*" ||
                                      body.text(index - 1) == "&" || body.text(index - 1) == ">");
  const bool has_parameter = std::any_of(parts.begin(), parts.end(), [&](const std::string& part) {
    return contains(macro.parameters, part);
  });
  return has_type && has_parameter ? parts : std::vector<std::string>{};
}

MacroInfo describe(const SourceFile& file, int file_index, const Macro& macro, const Rules& rules) {
  const std::string_view text =
      file.text.view().substr(macro.body.begin, macro.body.end - macro.body.begin);
  const Tokens body(file.text.view(),
                    code_tokens(lex(text, LexerMode::kCpp, macro.body.begin, macro.line)));
  MacroInfo info;
  info.file = file_index;
  info.line = macro.line;
  info.macro = &macro;
  for (std::size_t index = 0; index < body.size(); ++index) {
    const std::string_view word = body.text(index);
    info.has_body = info.has_body || word == "{";
    if (word == "(" && info.function_name.empty() && !info.has_body) {
      info.function_name = pasted_name(body, index, macro);
    }
    if (!body.is_name(index) || is_cpp_keyword(word)) {
      continue;
    }
    if (info.execution != "kernel" && !rules.execution(word).empty()) {
      info.execution = rules.execution(word);
    }
    add_once(info.names, word);
    if (body.text(index + 1) == "(" || body.text(index + 1) == "<") {
      add_once(info.called, word);
    }
  }
  return info;
}

}  // namespace

MacroTable::MacroTable(const Project& project, const Rules& rules) {
  for (std::size_t file = 0; file < project.files.size(); ++file) {
    for (const Macro& macro : project.files[file]->directives.macros) {
      macros_[macro.name].push_back(
          describe(*project.files[file], static_cast<int>(file), macro, rules));
    }
  }
}

std::vector<const MacroInfo*> MacroTable::find(std::string_view name, int file, int line) const {
  const auto found = macros_.find(name);
  if (found == macros_.end()) {
    return {};
  }
  const MacroInfo* nearest = nullptr;
  std::vector<const MacroInfo*> all;
  for (const MacroInfo& info : found->second) {
    all.push_back(&info);
    if (info.file == file && info.line <= line) {
      nearest = &info;
    }
  }
  return nearest != nullptr ? std::vector<const MacroInfo*>{nearest} : all;
}

std::string_view MacroTable::execution(std::string_view name) const {
  const auto found = macros_.find(name);
  if (found != macros_.end()) {
    for (const MacroInfo& info : found->second) {
      if (!info.execution.empty() && !info.has_body) {
        return info.execution;
      }
    }
  }
  return {};
}

std::optional<std::string> made_function(const MacroInfo& macro,
                                         std::span<const std::string> arguments) {
  if (macro.function_name.empty()) {
    return std::nullopt;
  }
  std::string name;
  for (const std::string& part : macro.function_name) {
    const std::vector<std::string>& parameters = macro.macro->parameters;
    const auto at = static_cast<std::size_t>(std::find(parameters.begin(), parameters.end(), part) -
                                             parameters.begin());
    name += at < arguments.size() ? arguments[at] : part;
  }
  return name;
}

}  // namespace crossdock::explore
