// SPDX-License-Identifier: Apache-2.0
// The limits as contenders: the same rows between the same number of ranks' windows, without any of
// what makes it a dispatch or a combine.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cli/bench/arena.h"
#include "cli/bench/contender.h"
#include "cli/bench/limit_kernels.h"
#include "cli/bench/placement.h"
#include "cli/bench/verify_rows.h"
#include "cli/bench/workload.h"
#include "cli/page_buffer.h"

namespace crossdock::bench {

/// What all contenders of one rank work on; outlives them. They share the memory, so that none has
/// colder pages than another.
struct Ground {
  const Shape& shape;
  const Placement& placement;
  const Arena& arena;
  int rank = 0;
  PageBuffer& tokens;   // [T, H]: what is sent, or what was combined
  PageBuffer& scratch;  // as many rows as this rank receives
};

[[nodiscard]] inline RankRound view_of(const Ground& ground, std::uint64_t round) {
  return {
      .shape = ground.shape, .placement = ground.placement, .round = round, .rank = ground.rank};
}

enum class LimitOrder : std::uint8_t {
  kByToken,        // a token's rows together: its row stays in the cache
  kByDestination,  // the next rank's rows first, ascending: the targets are contiguous
  kContiguous,     // as many bytes as this rank receives, in one piece: what STREAM measures
};

/// Rows copied into windows.
struct CopyLimit {
  CopyKernel kernel;
  LimitOrder order;
};
[[nodiscard]] std::vector<CopyLimit> copy_limits();
[[nodiscard]] std::string to_string(const CopyLimit& limit);
[[nodiscard]] std::unique_ptr<Contender> make_contender(const CopyLimit& limit,
                                                        const Ground& ground);

/// Rows read in place and summed; kContiguous reads rows of the own window.
struct ReadLimit {
  SumKernel kernel;
  LimitOrder order;
};
[[nodiscard]] std::vector<ReadLimit> read_limits();
[[nodiscard]] std::string to_string(const ReadLimit& limit);
[[nodiscard]] std::unique_ptr<Contender> make_contender(const ReadLimit& limit,
                                                        const Ground& ground);

}  // namespace crossdock::bench
