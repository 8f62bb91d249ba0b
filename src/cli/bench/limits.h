// SPDX-License-Identifier: Apache-2.0
// The limits as contenders: the same rows between the same number of ranks' windows, without any of
// what makes it a dispatch or a combine.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "cli/bench/arena.h"
#include "cli/bench/contender.h"
#include "cli/bench/placement.h"
#include "cli/bench/workload.h"

namespace crossdock::bench {

/// What all contenders of one rank work on; outlives them.
struct Ground {
  const Shape& shape;
  const Placement& placement;
  const Arena& arena;
  int rank = 0;
};

/// Rows copied into the windows: memcpy and non-temporal, by token and by destination, and a plain
/// contiguous copy of as many bytes (STREAM's copy) in both ways.
[[nodiscard]] std::vector<std::unique_ptr<Contender>> make_copy_limits(const Ground& ground);

/// Rows read in place and summed, in several ways, and as many contiguous rows of the own window.
[[nodiscard]] std::vector<std::unique_ptr<Contender>> make_read_limits(const Ground& ground);

}  // namespace crossdock::bench
