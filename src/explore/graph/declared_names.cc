// SPDX-License-Identifier: Apache-2.0
#include "explore/graph/declared_names.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "explore/parse/cpp_words.h"

namespace crossdock::explore {
namespace {

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool is_type_keyword(std::string_view word) {
  return is_one_of(word,
                   {"auto",    "bool",     "char",    "double",   "float",    "int",      "long",
                    "short",   "unsigned", "signed",  "void",     "size_t",   "int8_t",   "int16_t",
                    "int32_t", "int64_t",  "uint8_t", "uint16_t", "uint32_t", "uint64_t", "const"});
}

bool can_be_type(const Tokens& code, std::size_t index) {
  const std::string_view word = code.text(index);
  return code.is_name(index) && (!is_cpp_keyword(word) || is_type_keyword(word));
}

/// The '<' of the bracket that `close` closes, searched backwards; `close` when there is none.
std::size_t angle_before(const Tokens& code, std::size_t close) {
  constexpr std::size_t kTokensMax = 60;
  int depth = 0;
  for (std::size_t index = close + 1; index-- > 0 && close - index < kTokensMax;) {
    const std::string_view word = code.text(index);
    if (is_one_of(word, {";", "{", "}"})) {
      break;
    }
    depth += word == ">" ? 1 : word == "<" ? -1 : 0;
    if (depth == 0) {
      return index;
    }
  }
  return close;
}

/// A type cannot follow an operand: in "a * b" the '*' multiplies.
bool begins_declaration(const Tokens& code, std::size_t type) {
  while (type >= 2 && code.text(type - 1) == "::" && code.is_name(type - 2)) {
    type -= 2;
  }
  return type == 0 || code.text(type - 1) == "const" || is_type_keyword(code.text(type)) ||
         is_one_of(code.text(type - 1),
                   {";", "{", "}", "(", ",", "static", "constexpr", "::", "volatile", "extern"});
}

/// Of "shared_ptr<ns::T>" and "make_unique<T>" at their name: T. Else the name itself.
std::string pointed_to(const Tokens& code, std::size_t name) {
  const std::string_view word = code.text(name);
  const bool holds =
      is_one_of(word, {"shared_ptr", "unique_ptr", "optional", "make_shared", "make_unique"});
  if (!holds || code.text(name + 1) != "<") {
    return std::string(word);
  }
  std::size_t inner = name + 2;
  while (code.text(inner + 1) == "::" || code.text(inner) == "const") {
    inner += code.text(inner) == "const" ? 1 : 2;
  }
  return std::string(code.text(inner));
}

std::string type_name(const Tokens& code, std::size_t type, std::size_t name) {
  if (code.text(type) != "auto" && code.text(type) != "const") {
    return pointed_to(code, type);
  }
  if (code.text(name + 1) != "=" || code.text(name + 2) == "[") {
    return {};
  }
  std::size_t callee = name + 2;
  while (code.text(callee + 1) == "::") {
    callee += 2;
  }
  const bool makes = is_one_of(code.text(callee), {"make_shared", "make_unique"});
  return makes ? pointed_to(code, callee) : std::string(chain_end(code, name + 2));
}

}  // namespace

std::string_view chain_end(const Tokens& code, std::size_t index) {
  if (code.text(index) == "new") {
    ++index;
  }
  while (code.is_name(index)) {
    std::size_t next = index + 1;
    if (code.text(next) == "<") {
      const std::size_t close = code.match_angle(next);
      next = close < code.size() ? close + 1 : next;
    }
    if (is_one_of(code.text(next), {"::", "."})) {
      index = next + 1;
    } else {
      return is_one_of(code.text(next), {"(", "{"}) ? code.text(index) : std::string_view{};
    }
  }
  return {};
}

DeclaredName cpp_declaration_at(const Tokens& code, std::size_t index) {
  if (index == 0 || !code.is_name(index) || is_cpp_keyword(code.text(index)) ||
      !is_one_of(code.text(index + 1), {"=", ";", "{", "(", "[", ",", ":", ")"})) {
    return {};
  }
  std::size_t before = index - 1;
  bool has_sign = false;
  while (before > 0 && is_one_of(code.text(before), {"*", "&", "&&", "const"})) {
    has_sign = has_sign || code.text(before) != "const";
    --before;
  }
  if (code.text(before) == ">") {
    const std::size_t open = angle_before(code, before);
    if (open == before || open == 0 || !code.is_name(open - 1)) {
      return {};
    }
    const bool fits = is_one_of(code.text(index + 1), {"=", ";", "{", "(", ":", ",", ")"});
    return {fits && begins_declaration(code, open - 1), type_name(code, open - 1, index)};
  }
  if (!can_be_type(code, before) || code.text(before + 1) == "::") {
    return {};
  }
  const bool follows_member = before > 0 && is_one_of(code.text(before - 1), {".", "->"});
  if (follows_member || (has_sign && !begins_declaration(code, before))) {
    return {};
  }
  return {true, type_name(code, before, index)};
}

DeclaredName python_assignment_at(const Tokens& code, std::size_t index) {
  if (!code.is_name(index)) {
    return {};
  }
  std::size_t equals = index + 1;
  if (code.text(equals) == ":") {  // "x: T = ..."
    while (equals < code.size() && code[equals].line == code[index].line &&
           code.text(equals) != "=") {
      ++equals;
    }
  }
  if (code.text(equals) != "=") {
    return {};
  }
  if (chain_end(code, equals + 1).empty()) {
    return {true, {}};
  }
  std::string chain;
  for (std::size_t at = equals + 1; at < code.size() && code.text(at) != "("; ++at) {
    chain += code.text(at);
  }
  return {true, std::move(chain)};
}

}  // namespace crossdock::explore
