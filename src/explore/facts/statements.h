// SPDX-License-Identifier: Apache-2.0
// A function's body as nested statements, read from its tokens. Thread rule: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "explore/model.h"

namespace crossdock::explore {

enum class StatementKind : std::uint8_t { kSimple, kLoop, kGuard, kExit, kBlock };

struct Statement {
  StatementKind kind = StatementKind::kSimple;
  bool is_else = false;   // goes on with the guard before it
  std::size_t first = 0;  // tokens of the whole, [first, last)
  std::size_t last = 0;
  std::size_t head_last = 0;  // end of "for (...)", "if (...)"; equal to last for simple ones
  std::vector<Statement> children;
};

/// Of the body of `function`. Deeper than 64 levels one statement is one.
[[nodiscard]] std::vector<Statement> read_statements(const SourceFile& file,
                                                     const Function& function);

}  // namespace crossdock::explore
