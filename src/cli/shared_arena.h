// SPDX-License-Identifier: Apache-2.0
// An arena for the ranks of a communicator, made by rank 0.
#pragma once

#include "cli/bench/arena.h"
#include "crossdock/communicator.h"
#include "crossdock/status.h"

namespace crossdock::cli {

/// bench::Arena::make, but kNoMemory when the host cannot have it; nothing was touched then.
Result<bench::Arena> make_checked_arena(const bench::ArenaShape& shape);

/// Collective. The ranks are on one host and may read each other's /proc entries (same user).
Result<bench::Arena> open_shared_arena(Communicator& communicator, const bench::ArenaShape& shape);

}  // namespace crossdock::cli
