// SPDX-License-Identifier: Apache-2.0
// Words of C++ that look like calls or names and are none. Thread rule: pure functions.
#pragma once

#include <string_view>

namespace crossdock::explore {

/// Keywords and the names of built-in types.
[[nodiscard]] bool is_cpp_keyword(std::string_view word);

/// "if", "for", "while", "switch", "catch": what takes parentheses and a statement.
[[nodiscard]] bool is_control_word(std::string_view word);

/// Keywords after which a name with '(' is a call, not a declared variable: "return f(x)".
[[nodiscard]] bool comes_before_expression(std::string_view word);

[[nodiscard]] bool is_python_keyword(std::string_view word);

}  // namespace crossdock::explore
