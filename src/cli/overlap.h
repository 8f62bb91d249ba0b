// SPDX-License-Identifier: Apache-2.0
// Measures what an asynchronous dispatch hides: a compute loop alone, the dispatch alone, and both
// at once, in turn, on ranks that are threads of this process. Also what posting costs.
// Thread rule: measure_overlap() makes its own threads and joins them.
#pragma once

#include <cstdint>
#include <vector>

#include "cli/bench/workload.h"
#include "crossdock/status.h"
#include "crossdock/types.h"

namespace crossdock::cli {

struct OverlapOptions {
  bench::Shape shape;
  Way way = Way::kQueued;
  crossdock::Progress progress = crossdock::Progress::kThread;
  std::int64_t queue_depth = 0;  // 0: the setting's
  int iterations = 15;
};

/// Times run from the first rank's start to the last rank's end.
struct OverlapResult {
  std::vector<double> dispatch_us;  // [iteration]: posted and waited for, nothing beside it
  std::vector<double> compute_us;   // [iteration]: the loop alone
  std::vector<double> both_us;      // [iteration]
  // Processor time of rank 0's caller, [iteration]: robust where other work shares the cores.
  std::vector<double> compute_busy_us;
  std::vector<double> both_busy_us;
  double requests_per_dispatch = 0;  // of rank 0; zeros with the direct way
  double doorbells_per_request = 0;
  double stalls_per_dispatch = 0;
  double submit_ns = 0;  // median of one put of a row: the post and its share of a doorbell
  std::uint64_t rows_checked = 0;
  std::uint64_t rows_wrong = 0;

  /// Both, over the larger of the two alone.
  [[nodiscard]] double ratio() const;
};

Result<OverlapResult> measure_overlap(const OverlapOptions& options);

}  // namespace crossdock::cli
