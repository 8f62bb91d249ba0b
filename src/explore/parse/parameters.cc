// SPDX-License-Identifier: Apache-2.0
#include "explore/parse/parameters.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "explore/parse/cpp_words.h"

namespace crossdock::explore {
namespace {

bool qualifies_only(std::string_view word) {
  constexpr std::array<std::string_view, 8> kWords = {"const",  "volatile", "struct",   "class",
                                                      "static", "typename", "register", "enum"};
  return std::find(kWords.begin(), kWords.end(), word) != kWords.end();
}

/// The token that names the parameter, or range.last when it has no name.
std::size_t name_in(const Tokens& code, TokenRange range) {
  std::size_t name = range.last;
  int type_words = 0;
  for (std::size_t index = range.first; index < range.last; ++index) {
    const std::string_view word = code.text(index);
    if (word == "<") {
      index = std::min(code.match_angle(index), range.last);
    } else if (word == "[") {
      break;
    } else if (word == "(") {
      if (code.text(index + 1) == "*" || code.text(index + 1) == "&") {
        return code.is_name(index + 2) ? index + 2 : range.last;  // void (*f)(int)
      }
      index = std::min(code.match(index), range.last);
    } else if (code.is_name(index) && !qualifies_only(word)) {
      ++type_words;
      const bool can_name =
          !is_cpp_keyword(word) && code.text(index + 1) != "::" && code.text(index - 1) != "::";
      name = can_name ? index : range.last;
    }
  }
  return type_words >= 2 ? name : range.last;
}

}  // namespace

std::vector<TokenRange> split_arguments(const Tokens& code, std::size_t open) {
  std::vector<TokenRange> parts;
  const std::size_t close = code.match(open);
  if (close >= code.size() || close == open + 1) {
    return parts;
  }
  std::size_t first = open + 1;
  for (std::size_t index = open + 1; index < close; ++index) {
    const std::string_view word = code.text(index);
    if (word == "(" || word == "[" || word == "{") {
      index = std::min(code.match(index), close);
    } else if (word == "<" && code.is_name(index - 1)) {
      const std::size_t angle = code.match_angle(index);
      index = angle < close ? angle : index;
    } else if (word == ",") {
      parts.push_back({first, index});
      first = index + 1;
    }
  }
  if (first < close) {
    parts.push_back({first, close});
  }
  return parts;
}

std::string joined(const Tokens& code, TokenRange range) {
  std::string out;
  for (std::size_t index = range.first; index < range.last && index < code.size(); ++index) {
    if (index > range.first && code[index].begin > code[index - 1].end) {
      out += ' ';
    }
    out += code.text(index);
  }
  return out;
}

std::vector<Parameter> read_cpp_parameters(const Tokens& code, std::size_t open) {
  std::vector<Parameter> parameters;
  for (TokenRange part : split_arguments(code, open)) {
    Parameter parameter;
    for (std::size_t index = part.first; index < part.last; ++index) {
      const std::string_view word = code.text(index);
      if (word == "(" || word == "{") {
        index = std::min(code.match(index), part.last);
      } else if (word == "=") {
        parameter.has_default = true;
        part.last = index;
      } else if (word == "...") {
        parameter.is_pack = true;
      }
    }
    const std::size_t name = name_in(code, part);
    if (part.last == part.first + 1 && code.text(part.first) == "void") {
      continue;
    }
    if (name < part.last) {
      parameter.name = code.text(name);
    }
    const std::string before = joined(code, {part.first, std::min(name, part.last)});
    const std::string after = name < part.last ? joined(code, {name + 1, part.last}) : "";
    parameter.type = one_line(before + after);
    parameters.push_back(std::move(parameter));
  }
  return parameters;
}

std::vector<Parameter> read_python_parameters(const Tokens& code, std::size_t open) {
  std::vector<Parameter> parameters;
  for (const TokenRange part : split_arguments(code, open)) {
    Parameter parameter;
    std::size_t index = part.first;
    parameter.is_pack = code.text(index) == "*" || code.text(index) == "**";
    index += parameter.is_pack ? 1 : 0;
    if (!code.is_name(index) || index >= part.last) {
      continue;  // A bare "*" or "/".
    }
    parameter.name = code.text(index++);
    std::size_t type_first = index;
    for (; index < part.last; ++index) {
      if (code.text(index) == "(" || code.text(index) == "[" || code.text(index) == "{") {
        index = std::min(code.match(index), part.last);
      } else if (code.text(index) == "=") {
        parameter.has_default = true;
        break;
      }
    }
    type_first += code.text(type_first) == ":" ? 1 : 0;
    parameter.type = joined(code, {type_first, index});
    parameters.push_back(std::move(parameter));
  }
  return parameters;
}

}  // namespace crossdock::explore
