// SPDX-License-Identifier: Apache-2.0
// Time per stage and plane, bytes per stage and peer, and the time of a round.
// Vocabulary: see docs/timing.md. `compute` is the caller's time, so no plane contains it.
// Thread rule: plain values and pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/clock.h"
#include "crossdock/status.h"
#include "trace/recorder.h"
#include "trace/stages.h"

namespace crossdock::trace {

/// Which spans count; everything by default.
struct SpanFilter {
  std::optional<Operation> operation;
  std::optional<std::uint64_t> round;

  [[nodiscard]] bool matches(const SpanRecord& span) const {
    return (!operation || *operation == span.operation) && (!round || *round == span.round);
  }
};

struct StageTime {
  std::int64_t sum_ns = 0;
  std::int64_t max_ns = 0;
  std::uint64_t count = 0;
};

struct StageMoved {
  std::uint16_t stage = 0;
  int peer = 0;
  PeerCounter counter;
};

struct RankSummary {
  int rank = 0;
  std::array<StageTime, kStageIdEnd> stages{};  // [stage id]
  std::array<StageTime, kPlaneCount> planes{};  // [plane], without compute
  std::uint64_t unknown_span_count = 0;         // stage ids of another version; in no sum
  std::uint64_t dropped_span_count = 0;         // of the whole trace: the sums lack them
  std::vector<StageMoved> moved;                // of the whole trace; by stage, then peer; no zeros

  [[nodiscard]] const StageTime& stage(const Stage& which) const { return stages[which.id]; }
  [[nodiscard]] const StageTime& plane(Plane which) const {
    return planes[static_cast<std::size_t>(which)];
  }
};

[[nodiscard]] RankSummary summarise(const RankTrace& trace, const SpanFilter& filter = {});

/// One operation of one round over all given ranks: from the first rank's start to the last rank's
/// end. compute does not count.
struct RoundTime {
  Instant begin{};
  Instant end{};
  int first_rank = 0;      // whose start it is
  int last_rank = 0;       // whose end it is
  Duration longest_own{};  // the longest of the ranks' own durations; flatters, for comparison only

  [[nodiscard]] Duration duration() const { return end - begin; }
};

/// kInvalidArgument when the ranks' clocks differ or a given rank has no span of that round.
Result<RoundTime> measure_round(std::span<const RankTrace> traces, Operation operation,
                                std::uint64_t round);

/// The rounds of an operation that every given rank has spans of, ascending.
[[nodiscard]] std::vector<std::uint64_t> complete_rounds(std::span<const RankTrace> traces,
                                                         Operation operation);

}  // namespace crossdock::trace
