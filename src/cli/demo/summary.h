// SPDX-License-Identifier: Apache-2.0
// What a demonstration says: the table, the journey of one token, the JSON. All from the facts
// alone. Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/console.h"
#include "cli/demo/facts.h"
#include "cli/demo/options.h"

namespace crossdock::demo {

/// Rows received by the ranks in the first round.
struct RowSpread {
  std::int64_t min = 0;
  double mean = 0;
  std::int64_t max = 0;

  /// 1: every rank has as much work.
  [[nodiscard]] double skew() const { return mean > 0 ? static_cast<double>(max) / mean : 1; }
};
[[nodiscard]] RowSpread row_spread(const DemoFacts& facts);

/// Of each round, from the first rank's begin to the last rank's end, in microseconds.
[[nodiscard]] std::vector<double> round_times_us(const DemoFacts& facts,
                                                 CallTime RoundFacts::* call);

/// Ends with a newline.
[[nodiscard]] std::string demo_table(const DemoOptions& options, const DemoFacts& facts);
[[nodiscard]] cli::Json demo_json(const DemoOptions& options, const DemoFacts& facts);

}  // namespace crossdock::demo
