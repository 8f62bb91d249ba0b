// SPDX-License-Identifier: Apache-2.0
// Receiver of the latency mode: tokens arrive once per source and destination, in slots with all K
// expert ids of the token, and are put into their rows here. Call count_landed() for every source,
// align_groups() once, then place_landed_*() source by source in rank order: the rows are then
// those of the throughput mode.
// Vocabulary: a landed slot is one token of one source; a lane is *here* when its expert is local.
// Thread rule: pure functions; spans belong to the caller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "routing/split.h"

namespace crossdock::routing {

/// Values that lie at a fixed distance: packed arrays as well as fields of a slot.
template <typename T>
struct Strided {
  const T* first = nullptr;
  std::size_t stride_bytes = 0;

  [[nodiscard]] const T* at(std::size_t index) const {
    return reinterpret_cast<const T*>(reinterpret_cast<const char*>(first) + index * stride_bytes);
  }
};

/// The slots of one source, in arrival order (token order at the source).
struct LandedSource {
  std::int32_t rank = 0;
  std::size_t slot_count = 0;
  Strided<std::int32_t> token;    // [n]: index at the source
  Strided<std::int32_t> experts;  // [n][K]: global ids; -1 and foreign ids are not here
  Strided<float> weights;         // [n][K]; first == null: none were sent
};

/// This rank's experts and how many lanes a slot has.
struct LandedShape {
  LocalExperts local;
  int topk = 1;
};

/// Adds the source's routes to rows_per_expert[L] and returns how many they are.
std::int64_t count_landed(const LandedSource& source, const LandedShape& shape,
                          std::span<std::int64_t> rows_per_expert);

/// Written for the rows that are placed; the others are left alone. N = rows of this rank.
struct ExpandedRows {
  std::span<std::int64_t> next_row;      // [L]: next free row of the group; advanced
  std::span<std::int32_t> source_rank;   // [N]
  std::span<std::int32_t> source_token;  // [N]
  std::span<float> weight;               // [N]: of the route; or empty
  std::span<std::int64_t> row_of_lane;   // [n, K] of this source: row, or -1: not here
};
void place_landed_expanded(const LandedSource& source, const LandedShape& shape,
                           const ExpandedRows& rows);

struct PlainRows {
  std::span<std::int32_t> source_rank;   // [N]
  std::span<std::int32_t> source_token;  // [N]
  std::span<std::int32_t> local_expert;  // [N, K]: local id, or -1: not here
  std::span<float> weight;               // [N, K]: the sender's whole row, not masked; or empty
  std::span<std::int64_t> row_of_lane;   // [n, K] of this source: row, or -1: not here
};
/// Every slot is one row: first_row, first_row + 1, ... Returns one past the last.
std::int64_t place_landed_plain(const LandedSource& source, const LandedShape& shape,
                                std::int64_t first_row, const PlainRows& rows);

}  // namespace crossdock::routing
