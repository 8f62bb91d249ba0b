// SPDX-License-Identifier: Apache-2.0
// Immediate dominators of a graph (Cooper, Harvey and Kennedy, "A Simple, Fast Dominance
// Algorithm", 2001). Thread rule: pure function.
#pragma once

#include <vector>

namespace crossdock::explore {

/// `out[n]` are the successors of node n; node 0 is the entry. The result has the node through
/// which every way from the entry to n passes last; -1 for the entry and for nodes that it does not
/// reach.
[[nodiscard]] std::vector<int> immediate_dominators(const std::vector<std::vector<int>>& out);

}  // namespace crossdock::explore
