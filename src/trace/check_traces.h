// SPDX-License-Identifier: Apache-2.0
// What every view over several ranks' traces asks of them. Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "crossdock/status.h"
#include "trace/recorder.h"

namespace crossdock::trace {

/// kInvalidArgument unless there is at least one trace, all have one rank count, and every rank is
/// in range and comes once.
Status check_traces(std::span<const RankTrace> traces);

/// kInvalidArgument, naming two ranks, unless all ticks come from one clock.
Status check_one_clock(std::span<const RankTrace> traces);

/// Sums of times that a peer may have sent; they stop at the largest number.
[[nodiscard]] constexpr std::int64_t saturating_add(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<std::int64_t>::max() : sum;
}

}  // namespace crossdock::trace
