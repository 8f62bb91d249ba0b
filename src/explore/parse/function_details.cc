// SPDX-License-Identifier: Apache-2.0
#include "explore/parse/function_details.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "explore/parse/cpp_words.h"
#include "explore/parse/parameters.h"

namespace crossdock::explore {
namespace {

/// The first byte of what belongs to the head: qualifiers and macros that were masked before it.
std::size_t head_begin(const SourceFile& file, std::size_t begin) {
  const std::vector<Masked>& masked = file.masked.masked;
  auto next = std::lower_bound(
      masked.begin(), masked.end(), begin,
      [](const Masked& entry, std::size_t value) { return entry.bytes.begin < value; });
  while (next != masked.begin()) {
    const Masked& before = *std::prev(next);
    const std::string_view between =
        before.bytes.end <= begin
            ? file.text.view().substr(before.bytes.end, begin - before.bytes.end)
            : "x";
    const std::string_view masked_text =
        file.text.view().substr(before.bytes.begin, before.bytes.end - before.bytes.begin);
    const bool is_call = before.kind == MaskKind::kMacro && masked_text.ends_with(')');
    if (!trimmed(between).empty() || before.kind == MaskKind::kLaunch ||
        before.kind == MaskKind::kConditional || is_call) {
      break;
    }
    begin = before.bytes.begin;
    --next;
  }
  return begin;
}

void set_execution(Function& function, const SourceFile& file, const Rules& rules,
                   const MacroTable& macros, TokenRange head) {
  bool host = false;
  bool device = false;
  for (std::size_t index = head.first; index < head.last; ++index) {
    if (!file.code.is_name(index)) {
      continue;
    }
    const std::string_view word = file.code.text(index);
    std::string_view execution = rules.execution(word);
    if (execution.empty() && looks_like_macro(word)) {
      execution = macros.execution(word);
    }
    if (execution == "kernel") {
      function.execution = "kernel";
      return;
    }
    host = host || execution == "host";
    device = device || execution == "device";
  }
  function.execution = device ? (host ? "host device" : "device") : "host";
}

std::uint64_t hash_tokens(const Tokens& code, std::size_t first, std::size_t last) {
  std::string joined_text;
  for (std::size_t index = first; index < last; ++index) {
    joined_text += code.text(index);
    joined_text += ' ';
  }
  return hash_text(joined_text);
}

/// "(void)x;" silences a warning, it reads nothing.
bool is_voided(const Tokens& code, std::size_t index) {
  return index >= 3 && code.text(index - 1) == ")" && code.text(index - 2) == "void" &&
         code.text(index - 3) == "(";
}

void set_reads(Function& function, const Tokens& code, std::size_t first, std::size_t last) {
  std::set<std::string_view> read;
  for (std::size_t index = first; index < last; ++index) {
    if (code.is_name(index) && !is_voided(code, index)) {
      read.insert(code.text(index));
    } else if (code[index].kind == TokenKind::kString) {
      continue;
    }
  }
  for (Parameter& parameter : function.parameters) {
    if (!parameter.name.empty()) {
      parameter.read = read.contains(parameter.name);
    }
  }
}

std::size_t token_at(const Tokens& code, std::size_t offset) { return code.at_or_after(offset); }

/// Fields that C++ and Python share.
Function common(const SourceFile& file, const FoundFunction& found, std::size_t begin) {
  Function function;
  function.found = found;
  function.found.whole.begin = begin;
  function.name = found.name;
  function.kind = found.kind;
  function.is_template = found.is_template;
  function.is_internal = found.is_internal;
  function.lines = file.text.lines_of(function.found.whole);
  function.name_line = file.text.line_at(found.name_at.begin);
  function.body_lines = file.text.lines_of(found.body);
  function.first_token = token_at(file.code, found.body.begin);
  function.last_token = token_at(file.code, found.body.end);
  function.body_hash = hash_tokens(file.code, function.first_token, function.last_token);
  const int last_head_line =
      file.text.line_at(found.body.begin > begin ? found.body.begin - 1 : begin);
  function.signature_lines = {function.lines.first, std::max(function.lines.first, last_head_line)};
  if (const ConditionedLines* region = file.directives.at(function.name_line)) {
    function.conditions = region->conditions;
    function.compiled_out = region->never;
  }
  return function;
}

}  // namespace

Function describe_cpp_function(const SourceFile& file, const FoundFunction& found,
                               const Rules& rules, const MacroTable& macros) {
  const Tokens& code = file.code;
  Function function = common(file, found, head_begin(file, found.whole.begin));
  const TokenRange head{token_at(code, function.found.whole.begin), function.first_token};
  function.qualified = found.scope + (found.scope.empty() ? "" : "::") + found.name;
  std::size_t signature = head.first;
  while (code.text(signature) == "template" && code.text(signature + 1) == "<") {
    const std::size_t close = code.match_angle(signature + 1);
    signature = close < head.last ? close + 1 : signature + 2;
  }
  function.signature = one_line(joined(code, {signature, head.last}), 300);
  set_execution(function, file, rules, macros, head);
  if (found.parameters.end > found.parameters.begin) {
    function.parameters = read_cpp_parameters(code, token_at(code, found.parameters.begin));
  }
  const std::size_t after_parameters = token_at(code, found.parameters.end);
  set_reads(function, code,
            found.parameters.end > found.parameters.begin
                ? std::min(after_parameters, function.first_token)
                : function.first_token,
            function.last_token);
  for (std::size_t index = head.first; index < head.last; ++index) {
    const std::string_view word = code.text(index);
    function.is_internal =
        function.is_internal || (word == "static" && found.kind == FunctionKind::kFunction);
    function.is_implicit =
        function.is_implicit || word == "override" || word == "virtual" || word == "final";
  }
  function.is_implicit =
      function.is_implicit || found.name.starts_with("~") || found.name.starts_with("operator");
  return function;
}

Function describe_python_function(const SourceFile& file, const FoundFunction& found) {
  const Tokens& code = file.code;
  Function function = common(file, found, found.whole.begin);
  function.qualified =
      file.module + (found.scope.empty() ? "" : "." + found.scope) + "." + found.name;
  const std::size_t name = token_at(code, found.name_at.begin);
  function.signature = one_line(joined(code, {name > 0 ? name - 1 : name, function.first_token}));
  if (found.parameters.end > found.parameters.begin) {
    function.parameters = read_python_parameters(code, token_at(code, found.parameters.begin));
  }
  set_reads(function, code, function.first_token, function.last_token);
  function.is_implicit = found.name.starts_with("__") && found.name.ends_with("__");
  for (std::size_t index = token_at(code, found.whole.begin); index < name; ++index) {
    const std::string_view word = code.text(index);
    function.is_implicit = function.is_implicit || word == "property" || word == "setter";
  }
  return function;
}

}  // namespace crossdock::explore
