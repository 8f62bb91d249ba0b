// SPDX-License-Identifier: Apache-2.0
// What the calls of a file do, by name and by their arguments. Thread rule: pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "explore/graph/symbols.h"
#include "explore/model.h"

namespace crossdock::explore {

struct MechanismAt {
  std::size_t token = 0;  // of the callee's name
  Mechanism mechanism = Mechanism::kCall;
};

/// Every call in functions of the file that has one, by token; calls of functions of the tree that
/// have no other are kCall. The body of a function is asked, not its name, when both are known.
[[nodiscard]] std::vector<MechanismAt> find_mechanisms(const Project& project,
                                                       const SourceFile& file, const Rules& rules,
                                                       const Symbols& symbols);

}  // namespace crossdock::explore
