// SPDX-License-Identifier: Apache-2.0
#include "explore/parse/cpp_words.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace crossdock::explore {
namespace {

constexpr auto kKeywords = std::to_array<std::string_view>({
    "alignas",     "alignof",
    "and",         "asm",
    "auto",        "bool",
    "break",       "case",
    "catch",       "char",
    "class",       "co_await",
    "co_return",   "co_yield",
    "concept",     "const",
    "const_cast",  "consteval",
    "constexpr",   "constinit",
    "continue",    "decltype",
    "default",     "defined",
    "delete",      "do",
    "double",      "dynamic_cast",
    "else",        "enum",
    "explicit",    "export",
    "extern",      "false",
    "final",       "float",
    "for",         "friend",
    "goto",        "if",
    "inline",      "int",
    "int16_t",     "int32_t",
    "int64_t",     "int8_t",
    "long",        "mutable",
    "namespace",   "new",
    "noexcept",    "not",
    "nullptr",     "offsetof",
    "operator",    "or",
    "override",    "private",
    "protected",   "public",
    "register",    "reinterpret_cast",
    "requires",    "return",
    "short",       "signed",
    "size_t",      "sizeof",
    "static",      "static_assert",
    "static_cast", "struct",
    "switch",      "template",
    "this",        "thread_local",
    "throw",       "true",
    "try",         "typedef",
    "typeid",      "typename",
    "uint16_t",    "uint32_t",
    "uint64_t",    "uint8_t",
    "union",       "unsigned",
    "using",       "virtual",
    "void",        "volatile",
    "while",
});
static_assert(std::is_sorted(kKeywords.begin(), kKeywords.end()));

}  // namespace

bool is_cpp_keyword(std::string_view word) {
  return std::binary_search(kKeywords.begin(), kKeywords.end(), word);
}

bool is_control_word(std::string_view word) {
  return word == "if" || word == "for" || word == "while" || word == "switch" || word == "catch";
}

bool comes_before_expression(std::string_view word) {
  constexpr std::array<std::string_view, 13> kWords = {
      "and", "case", "co_await", "co_return", "co_yield", "do",  "else",
      "not", "or",   "return",   "throw",     "delete",   "goto"};
  return std::find(kWords.begin(), kWords.end(), word) != kWords.end();
}

bool is_python_keyword(std::string_view word) {
  constexpr std::array<std::string_view, 35> kWords = {
      "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
      "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
      "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
      "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield"};
  return std::find(kWords.begin(), kWords.end(), word) != kWords.end();
}

}  // namespace crossdock::explore
