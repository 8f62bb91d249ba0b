// SPDX-License-Identifier: Apache-2.0
// Runs the room's functions for all ranks, as an engine would, and keeps what they say.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "routing/landed.h"
#include "routing/layout.h"
#include "routing/reference.h"
#include "routing/routes.h"
#include "routing/split.h"

namespace crossdock::routing::testing {

/// Counts, owners and places of all ranks' routes.
struct Senders {
  std::vector<std::vector<std::int32_t>> owners;        // [source][T * K]
  std::vector<std::uint32_t> rows;                      // [R, E]
  std::vector<std::uint32_t> tokens;                    // [R, R]
  std::vector<std::vector<std::int64_t>> start;         // [source][E or R]
  std::vector<std::vector<std::int64_t>> needed;        // [source][R]
  std::vector<std::vector<std::int64_t>> row_of_route;  // [source][T * K]
};
Senders run_senders(const std::vector<RankRoutes>& ranks, const ExpertSplit& split,
                    RowLayout layout, std::int64_t alignment);

[[nodiscard]] CountMatrix row_matrix(const Senders& senders, const ExpertSplit& split);
[[nodiscard]] CountMatrix token_matrix(const Senders& senders, const ExpertSplit& split);
[[nodiscard]] Routes routes_of(const RankRoutes& rank, const std::vector<std::int32_t>& owners);

/// One rank's layout from the counts of all.
struct Receiver {
  std::vector<std::int64_t> begin;              // [L]
  std::vector<std::int64_t> row_count;          // [L]
  std::vector<std::int64_t> aligned_row_count;  // [L]
  std::vector<std::int64_t> source_begin;       // [R, L]
  std::vector<std::int64_t> plain_begin;        // [R]
  std::vector<std::int64_t> plain_prefix;       // [R]
  std::int64_t expanded_total = 0;
  std::int64_t plain_total = 0;

  [[nodiscard]] ExpandedLayout expanded() { return {begin, row_count, aligned_row_count, {}}; }
};
Receiver run_receiver(const Senders& senders, const ExpertSplit& split, int rank,
                      std::int64_t alignment);

/// One rank in latency mode: tokens landed in slots, then placed.
struct Unpacked {
  std::vector<std::int64_t> rows_per_expert;            // [L]
  std::vector<std::int64_t> routes_per_source;          // [R]
  std::vector<std::int32_t> source_rank;                // [N], -1 in gaps
  std::vector<std::int32_t> source_token;               // [N]
  std::vector<std::int32_t> local_expert;               // plain: [N, K]
  std::vector<float> weight;                            // [N] or [N, K]
  std::vector<std::vector<std::int64_t>> row_of_route;  // [source][T * K], of this rank's lanes
};
Unpacked run_landing(const std::vector<RankRoutes>& ranks, const ExpertSplit& split, int rank,
                     RowLayout layout, std::int64_t alignment);

}  // namespace crossdock::routing::testing
