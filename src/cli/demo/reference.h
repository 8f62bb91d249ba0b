// SPDX-License-Identifier: Apache-2.0
// What the layer must give, computed in one process with no call of the library: no ranks, no rows,
// no windows. It knows of the split of experts only where the plain layout sums per rank.
// Thread rule: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cli/demo/workload.h"
#include "crossdock/types.h"

namespace crossdock::demo {

/// The combined tokens of a rank in a round, [T, H]. Expanded: each expert's row is weighted and
/// rounded, then summed in lane order in fp32 and rounded once. Plain: the experts of one rank are
/// summed before the first rounding, ranks in the order of their highest lane.
[[nodiscard]] std::vector<std::byte> reference_tokens(Workload& workload, std::uint64_t round,
                                                      int rank, int rank_count, RowLayout layout);

/// The same split of experts as the library's: in order, the first E % R ranks own one more.
[[nodiscard]] int owner_of(int expert, int expert_count, int rank_count);

}  // namespace crossdock::demo
