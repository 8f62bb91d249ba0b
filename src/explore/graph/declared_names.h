// SPDX-License-Identifier: Apache-2.0
// Names that a run of tokens declares, found by the shape of declarations. Thread rule: pure
// functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "explore/source/lexer.h"

namespace crossdock::explore {

struct DeclaredName {
  bool is_declared = false;
  std::string type;  // last name of the type; for "auto" of the initialiser's callee; or empty
};

/// Whether the name at `index` is being declared there: "T x;", "T<int>* x = ...", "auto& x : y".
[[nodiscard]] DeclaredName cpp_declaration_at(const Tokens& code, std::size_t index);

/// "x = m.T(...)" and "self.x = m.T(...)"; the type is "m.T".
[[nodiscard]] DeclaredName python_assignment_at(const Tokens& code, std::size_t index);

/// The last name of the chain that starts at `index` ("a::b<c>::d(" gives d), or "".
[[nodiscard]] std::string_view chain_end(const Tokens& code, std::size_t index);

}  // namespace crossdock::explore
