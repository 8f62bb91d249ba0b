// SPDX-License-Identifier: Apache-2.0
// Where execution starts, what it reaches, and how it gets to the kernels. Thread rule: one thread.
#pragma once

#include <string>
#include <vector>

#include "crossdock/status.h"
#include "explore/graph/symbols.h"
#include "explore/model.h"

namespace crossdock::explore {

/// Fills roots: those that `declared` names (by name, qualified name or id), or guesses with their
/// reasons. kInvalidArgument when a declared one is not in the project.
Status find_roots(Project& project, const std::vector<std::string>& declared);

/// Fills reach and roots of all functions.
void find_reach(Project& project);

/// Fills paths.
void find_paths(Project& project);

/// Edges by their `from`, in order.
[[nodiscard]] std::vector<std::vector<int>> edges_out(const Project& project);
[[nodiscard]] std::vector<std::vector<int>> edges_in(const Project& project);

/// Whether `edge` says that one function may run the other.
[[nodiscard]] inline bool is_control(const Edge& edge) {
  return edge.kind == EdgeKind::kControl && !edge.is_wrong;
}

}  // namespace crossdock::explore
