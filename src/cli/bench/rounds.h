// SPDX-License-Identifier: Apache-2.0
// Runs contenders in turns, round after round, and writes when each rank began and ended into the
// arena. A round's time is the first rank's start to the last rank's end; the largest of the ranks'
// own durations would flatter whoever makes ranks wait for a core.
#pragma once

#include <cstdint>
#include <functional>
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

/// Told before each round, counted from 0, warm-up included. May be empty.
using OnRound = std::function<void(int round)>;

/// Contenders that need not run on: of those with the same mark, who was slower than kGiveUp times
/// the fastest in the last warm-up rounds. kKept is never given up.
inline constexpr int kKept = -1;
inline constexpr double kGiveUp = 1.3;

struct RoundPlan {
  RoundCounts counts;
  std::vector<int> marks;  // [contender]; empty: all run to the end
  Duration timeout{};      // of every barrier
  OnRound on_round;
};

/// Collective over the arena's ranks. Every round is isolated: all ranks meet before it and after
/// it, outside its time. All rounds are verified and recorded, warm-up first. Contenders take turns
/// in an order that moves on, so that none always follows the same other one.
Status run_rounds(const Arena& arena, int rank,
                  std::span<const std::unique_ptr<Contender>> contenders, const RoundPlan& plan);

/// Collective: as many rounds of the first contender as are timed, back to back, with one input;
/// only the ranks' own operations hold them together. The last round is verified.
Status run_train(const Arena& arena, int rank, Contender& contender, const RoundPlan& plan);

/// Rounds that an arena must have room for: warm-up, timed ones, and the train.
[[nodiscard]] inline int arena_rounds(const RoundCounts& counts) {
  return counts.warmup + 2 * counts.timed;
}

/// Of one contender, in microseconds: its rounds after the warm-up, or, when it was given up, those
/// of the warm-up.
[[nodiscard]] std::vector<double> round_times_us(const Arena& arena, int contender,
                                                 const RoundCounts& counts);
/// Of the train, in microseconds: from the last rank's end of a round to that of the next one.
[[nodiscard]] std::vector<double> train_times_us(const Arena& arena, const RoundCounts& counts);

}  // namespace crossdock::bench
