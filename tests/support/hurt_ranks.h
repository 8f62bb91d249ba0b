// SPDX-License-Identifier: Apache-2.0
// Rank processes that loop rounds until something ends them, and what they report of that end.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "tests/support/rank_runner.h"

namespace crossdock::testing {

struct LoopShape {
  int rank_count = 4;
  std::int64_t tokens = 16;
  std::int64_t hidden = 64;
  std::chrono::nanoseconds timeout = std::chrono::seconds(60);
};

/// Every rank opens buffers and runs rounds for ever; on the first error it leaves the report
/// "at_ns T culprit R kind K: MESSAGE" and ends with 0.
std::unique_ptr<RankProcesses> start_loop(const LoopShape& shape);

struct EndReport {
  bool is_there = false;
  std::int64_t at_ns = 0;
  std::int64_t culprit = -1;
  std::string text;
};
EndReport end_report(const std::string& said);

/// The report of a status, as start_loop's ranks leave it.
std::string describe_end(const Status& status);

/// Until every rank has run a few rounds.
bool wait_running(const RankProcesses& ranks, int rank_count);

}  // namespace crossdock::testing
