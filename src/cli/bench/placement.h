// SPDX-License-Identifier: Apache-2.0
// Where every route of a workload must end, worked out from all ranks' routes in one place: the
// oracle for received rows, and what the limits move and read.
// Expanded: rows by local expert, then source rank, then token. Plain: one row per token and rank,
// by source rank, then token.
// Thread rule: immutable after it was made.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cli/bench/workload.h"
#include "crossdock/types.h"

namespace crossdock::bench {

/// What a received row holds. `lane`: expanded: the route's; plain: the token's highest lane there.
struct RowOrigin {
  std::int32_t source = 0;
  std::int32_t token = 0;
  std::int32_t lane = 0;
};

/// One row that a token is sent to and that its sum reads.
struct RowTarget {
  std::int32_t rank = 0;
  std::int32_t lane = 0;
  std::int64_t row = 0;
};

class Placement {
 public:
  Placement(const Shape& shape, RowLayout layout);

  [[nodiscard]] const std::vector<std::int32_t>& routes(int rank) const {
    return routes_[at(rank)];
  }
  /// Rows of a token in ascending lane order: the order of the sum.
  [[nodiscard]] std::span<const RowTarget> targets(int rank, std::int64_t token) const;
  /// [N] of a rank.
  [[nodiscard]] const std::vector<RowOrigin>& origins(int rank) const { return origins_[at(rank)]; }
  [[nodiscard]] std::int64_t row_count_max() const;
  [[nodiscard]] std::int64_t row_count_total() const;

 private:
  [[nodiscard]] static std::size_t at(int rank) { return static_cast<std::size_t>(rank); }
  void place_expanded(const Shape& shape);
  void place_plain(const Shape& shape);

  std::vector<std::vector<std::int32_t>> routes_;        // [rank][T * K]
  std::vector<std::vector<RowTarget>> targets_;          // [rank]
  std::vector<std::vector<std::size_t>> targets_begin_;  // [rank][T + 1]
  std::vector<std::vector<RowOrigin>> origins_;          // [rank]
};

}  // namespace crossdock::bench
