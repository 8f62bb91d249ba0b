// SPDX-License-Identifier: Apache-2.0
// Runs contenders in turns, round after round, and writes when each rank began and ended into the
// arena. A round's time is the first rank's start to the last rank's end; the largest of the ranks'
// own durations would flatter whoever makes ranks wait for a core.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/clock.h"
#include "cli/bench/arena.h"
#include "cli/bench/contender.h"
#include "crossdock/status.h"

namespace crossdock::bench {

struct RoundCounts {
  int warmup = 3;
  int timed = 20;
};

/// Collective over the arena's ranks. Every round is isolated: all ranks meet before it and after
/// it, outside its time. Warm-up rounds are verified and not recorded. Contender c starts its
/// rounds at offset c, so that none always follows the same other one.
Status run_rounds(const Arena& arena, int rank,
                  std::span<const std::unique_ptr<Contender>> contenders, RoundCounts counts,
                  Duration timeout);

/// Of one contender, in microseconds, [timed round].
[[nodiscard]] std::vector<double> round_times_us(const Arena& arena, int contender);

}  // namespace crossdock::bench
