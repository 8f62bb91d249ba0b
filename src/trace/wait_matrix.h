// SPDX-License-Identifier: Apache-2.0
// Who waited for whom, over all ranks: row = the rank that waited, column = the rank it waited for.
// Sum and maximum are both kept: the sum finds a rank that is always late, the maximum one that was
// late once. Durations only, so ranks of different clock domains may be mixed.
// Thread rule: plain values and pure functions.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "crossdock/status.h"
#include "trace/recorder.h"

namespace crossdock::trace {

struct WaitMatrix {
  int rank_count = 0;
  std::vector<PeerWait> cells;   // [waiter * rank_count + waited_for]
  std::vector<bool> has_waiter;  // [waiter]: false when that rank's trace was not given

  [[nodiscard]] const PeerWait& at(int waiter, int waited_for) const {
    return cells[static_cast<std::size_t>(waiter) * static_cast<std::size_t>(rank_count) +
                 static_cast<std::size_t>(waited_for)];
  }
  /// Everybody's waits for one rank, and one rank's waits for everybody.
  [[nodiscard]] PeerWait waited_for(int rank) const;
  [[nodiscard]] PeerWait waits_of(int rank) const;
};

/// Traces in any order; ranks may be missing. kInvalidArgument when there is none, when rank counts
/// differ, or when a rank comes twice.
Result<WaitMatrix> make_wait_matrix(std::span<const RankTrace> traces);

/// For people: a table of sums and one of maxima up to 16 ranks, the 20 longest sums beyond; ends
/// with a newline. Ranks without a trace are named, not shown as zero.
[[nodiscard]] std::string render(const WaitMatrix& matrix);

}  // namespace crossdock::trace
