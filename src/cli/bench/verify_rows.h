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

/// How combined tokens are compared.
enum class Sums : std::uint8_t {
  kExact,     // bit by bit: fp32 in lane order, rounded once
  kAnyOrder,  // within what another order of the additions can change
};

/// One rank's part of a round.
struct RankRound {
  const Shape& shape;
  const Placement& placement;
  std::uint64_t round = 0;
  int rank = 0;
};

/// Received rows, [N, H].
[[nodiscard]] Verdict verify_received(const RankRound& part, const std::byte* rows);

/// Expert outputs as the round's combine reads them, [N, H].
void fill_outputs(const RankRound& part, std::byte* outputs);

/// Combined tokens, [T, H].
[[nodiscard]] Verdict verify_combined(const RankRound& part, RowContent content,
                                      const std::byte* tokens, Sums sums = Sums::kExact);

}  // namespace crossdock::bench
