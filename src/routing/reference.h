// SPDX-License-Identifier: Apache-2.0
// The whole exchange of all ranks, slow and obvious: the oracle of tests and of `--verify`. It
// shares no code with the rest of the room, so that a mistake there cannot hide here.
// Thread rule: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "crossdock/types.h"
#include "routing/split.h"

namespace crossdock::routing {

/// What one rank brings.
struct RankRoutes {
  int topk = 1;                       // K, equal on all ranks
  std::vector<std::int32_t> experts;  // [T, K]: global id or -1
  std::vector<float> weights;         // [T, K] or empty

  [[nodiscard]] std::size_t token_count() const {
    return experts.size() / static_cast<std::size_t>(topk);
  }
};

/// One row at its destination. An alignment gap has source_rank -1 and no lanes.
struct ReceivedRow {
  int source_rank = -1;
  int source_token = -1;
  std::vector<int> lanes;           // plain: all lanes to this rank, ascending; expanded: one
  std::vector<int> experts;         // of those lanes, global ids
  std::vector<float> weights;       // of those lanes; empty when the source brought none
  std::vector<int> local_experts;   // plain: [K], local id of each lane or -1
  std::vector<float> lane_weights;  // plain: [K], the source's whole row, not masked

  [[nodiscard]] bool is_gap() const { return source_rank < 0; }
};

struct ReceivedRank {
  int first_expert = 0;
  std::vector<ReceivedRow> rows;                      // [N], gaps included
  std::vector<std::int64_t> rows_per_expert;          // [L]: routes
  std::vector<std::int64_t> aligned_rows_per_expert;  // [L]
  std::vector<std::int64_t> expert_begin;             // [L]; plain: empty
  /// [L]. Plain: inclusive prefix of the aligned counts. Expanded: expert_begin + rows_per_expert.
  std::vector<std::int64_t> expert_prefix;
  std::vector<std::int64_t> tokens_per_source;  // [R]: each token once
  std::vector<std::int64_t> routes_per_source;  // [R]
  std::vector<std::int64_t> source_prefix;      // [R]: inclusive prefix of tokens_per_source
};

struct Exchange {
  RowLayout layout = RowLayout::kPlain;
  int topk = 1;
  std::vector<ReceivedRank> ranks;                        // [R]
  std::vector<std::vector<std::int64_t>> row_of_route;    // [source][t * K + k]: row or -1
  std::vector<std::vector<std::int32_t>> owner_of_route;  // [source][t * K + k]: rank or -1
};

/// REQUIRES: one entry per rank of the split, normalised ids, alignment >= 1. The split is read for
/// its two numbers only.
Exchange reference_exchange(const std::vector<RankRoutes>& ranks, const ExpertSplit& split,
                            RowLayout layout, std::int64_t alignment);

/// Rows of all ranks: [rank][row][element]; of tokens: [rank][token][element].
template <typename Element>
using RowsOfRanks = std::vector<std::vector<std::vector<Element>>>;

/// Combine with plan `single`: outputs[d][row] is what the experts of rank d made of that row (gaps
/// are not read). fp32 sum over the token's rows in ascending lane order, a plain row at its
/// highest lane, starting from the first one; no rows give zeros, one row is copied bit by bit.
RowsOfRanks<float> reference_combine_fp32(const Exchange& exchange,
                                          const RowsOfRanks<float>& outputs, std::size_t hidden);
/// The same for bf16 bits: one rounding at the end, to nearest, ties to even. NaN comes out quiet.
RowsOfRanks<std::uint16_t> reference_combine_bf16(const Exchange& exchange,
                                                  const RowsOfRanks<std::uint16_t>& outputs,
                                                  std::size_t hidden);

}  // namespace crossdock::routing
