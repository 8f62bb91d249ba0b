// SPDX-License-Identifier: Apache-2.0
// Runs a benchmark: ranks, limits and peers in turns, repetition after repetition.
// Thread rule: one thread.
#pragma once

#include <string>

#include "cli/bench/arena.h"
#include "cli/bench_options.h"
#include "cli/bench_result.h"
#include "cli/console.h"
#include "crossdock/status.h"

namespace crossdock::cli {

/// What is known before anything ran.
[[nodiscard]] BenchResult empty_result(const BenchOptions& options);

/// Adds what the arena of a finished repetition holds.
void add_repetition(const bench::Arena& arena, BenchResult& result);

/// Starts the ranks itself. 0, or the exit code of the ranks when they failed. `what` begins the
/// lines of progress.
Result<int> measure_all(BenchResult& result, Progress& progress, const std::string& what);

}  // namespace crossdock::cli
