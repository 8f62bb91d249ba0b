// SPDX-License-Identifier: Apache-2.0
// One rank's part of a benchmark repetition.
#pragma once

#include "cli/bench/arena.h"
#include "cli/bench_options.h"
#include "crossdock/communicator.h"
#include "crossdock/status.h"

namespace crossdock::cli {

/// How much memory the ranks of this benchmark share, and where which times are in it.
[[nodiscard]] bench::ArenaShape arena_shape(const BenchOptions& options);

/// Collective: measures all contenders; the times are in the arena then, and as its note what the
/// library chose (mode, protocol, schedule, memory), as JSON.
Status run_bench_rank(const BenchOptions& options, Communicator& communicator,
                      const bench::Arena& arena);

}  // namespace crossdock::cli
