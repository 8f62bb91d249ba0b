// SPDX-License-Identifier: Apache-2.0
// Which rounds of a trace the page draws. Thread rule: pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trace/recorder.h"

namespace crossdock::report {

/// First start to last end of one operation of one round; see docs/timing.md.
struct OperationTime {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  int first_rank = 0;
  int last_rank = 0;
};

struct RoundTimes {
  std::uint64_t round = 0;
  std::array<std::optional<OperationTime>, trace::kOperationCount> operations{};  // [operation]
  std::int64_t begin_ns = 0;  // of all spans of the round, compute included
  std::int64_t end_ns = 0;
  std::string label;  // "slowest", "median", "fastest" or empty

  /// Of its operations; the caller's time between them does not count.
  [[nodiscard]] std::int64_t operations_ns() const;
};

/// Every round in which each trace has a span, ascending, the three special ones labelled when
/// there are at least three. The traces' clocks must agree.
[[nodiscard]] std::vector<RoundTimes> measure_rounds(std::span<const trace::RankTrace> traces);

/// At most `count_max` of them, ascending: the labelled ones first, then from the last backwards.
[[nodiscard]] std::vector<RoundTimes> choose_rounds(std::vector<RoundTimes> rounds,
                                                    std::size_t count_max);

}  // namespace crossdock::report
