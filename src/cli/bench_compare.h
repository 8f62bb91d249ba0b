// SPDX-License-Identifier: Apache-2.0
// `crossdock bench compare`: dispatch and combine in both layouts against the limit and every peer,
// then over sizes; a table and a report.
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/bench_options.h"
#include "crossdock/status.h"

namespace crossdock::cli {

struct CompareOptions {
  BenchOptions base;                       // its operation and layout are not used
  std::vector<std::int64_t> sweep_tokens;  // tokens per rank; empty: no sweep
  std::vector<std::int64_t> sweep_ranks;
  std::string report;   // path of the page
  std::string command;  // the line that makes it again
};

/// The exit code.
Result<int> run_compare(const CompareOptions& options);

}  // namespace crossdock::cli
