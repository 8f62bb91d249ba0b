// SPDX-License-Identifier: Apache-2.0
// A report as a run on a small oversubscribed host could make it: 8 ranks, 64 experts, 6 rounds;
// rank 5 is always late, rank 2 once. For tests of the page, with a fixed seed.
#pragma once

#include <vector>

#include "report/report.h"
#include "trace/recorder.h"

namespace crossdock::report::testing {

[[nodiscard]] std::vector<trace::RankTrace> sample_traces(int rank_count, int round_count);
[[nodiscard]] Report sample_report();

}  // namespace crossdock::report::testing
