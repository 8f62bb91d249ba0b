// SPDX-License-Identifier: Apache-2.0
// Parameter lists and argument lists. Thread rule: pure functions.
#pragma once

#include <string>
#include <vector>

#include "explore/model.h"
#include "explore/source/lexer.h"

namespace crossdock::explore {

/// Token ranges [first, last) between the brackets at `open`, split at commas of that level.
/// Template arguments stay together.
struct TokenRange {
  std::size_t first = 0;
  std::size_t last = 0;
};
[[nodiscard]] std::vector<TokenRange> split_arguments(const Tokens& code, std::size_t open);

/// The tokens with the blanks that the source has between them, on one line.
[[nodiscard]] std::string joined(const Tokens& code, TokenRange range);

/// Of the parenthesis at token `open`.
[[nodiscard]] std::vector<Parameter> read_cpp_parameters(const Tokens& code, std::size_t open);
/// The same for Python, "self" and "cls" included.
[[nodiscard]] std::vector<Parameter> read_python_parameters(const Tokens& code, std::size_t open);

}  // namespace crossdock::explore
