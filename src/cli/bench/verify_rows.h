// SPDX-License-Identifier: Apache-2.0
// Bit-exact checks of what a round delivered, against rows made anew from their names.
// Thread rule: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cli/bench/contender.h"
#include "cli/bench/placement.h"
#include "cli/bench/workload.h"

namespace crossdock::bench {

/// What the rows that a sum reads hold.
enum class RowContent : std::uint8_t {
  kToken,         // the dispatched row itself
  kExpertOutput,  // a row of its own for each lane
};

/// Received rows of `rank`, [N, H].
[[nodiscard]] Verdict verify_received(const Shape& shape, const Placement& placement,
                                      std::uint64_t round, int rank, const std::byte* rows);

/// Expert outputs of `rank` as a round's combine reads them, [N, H].
void fill_outputs(const Shape& shape, const Placement& placement, std::uint64_t round, int rank,
                  std::byte* outputs);

/// Combined tokens of `rank`, [T, H], against the fp32 sum in lane order, rounded once.
[[nodiscard]] Verdict verify_combined(const Shape& shape, const Placement& placement,
                                      std::uint64_t round, int rank, RowContent content,
                                      const std::byte* tokens);

}  // namespace crossdock::bench
