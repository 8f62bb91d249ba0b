// SPDX-License-Identifier: Apache-2.0
// Which rank owns which expert. Experts are dealt out in order: rank 0 owns the first ones, and the
// first E % R ranks own one more than the others (E = 10, R = 4: 3, 3, 2, 2).
// Thread rule: plain values, pure functions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "base/check.h"
#include "crossdock/status.h"

namespace crossdock::routing {

/// The experts of one rank: first .. first + count - 1.
struct LocalExperts {
  std::int32_t first = 0;
  std::int32_t count = 0;

  /// expert - first, or -1 when the id is no expert of this rank. Any number is allowed: ids that a
  /// peer wrote need no check before.
  [[nodiscard]] constexpr std::int32_t local_id(std::int32_t expert) const {
    // Unsigned, so that -1 and everything else outside becomes large and nothing overflows.
    const auto local = static_cast<std::uint32_t>(expert) - static_cast<std::uint32_t>(first);
    return local < static_cast<std::uint32_t>(count) ? static_cast<std::int32_t>(local) : -1;
  }
};

class ExpertSplit {
 public:
  /// kInvalidArgument, with the allowed range, unless 1 <= rank_count <= expert_count.
  static Result<ExpertSplit> make(int expert_count, int rank_count);

  [[nodiscard]] int expert_count() const { return expert_count_; }
  [[nodiscard]] int rank_count() const { return rank_count_; }

  /// For rank 0 .. R; R gives E, so that first_expert(rank + 1) is the end of rank's experts.
  [[nodiscard]] int first_expert(int rank) const {
    CROSSDOCK_DCHECK(0 <= rank && rank <= rank_count_, "rank {} of {}", rank, rank_count_);
    return rank * small_count_ + std::min(rank, large_rank_count_);
  }
  [[nodiscard]] int count(int rank) const {
    CROSSDOCK_DCHECK(0 <= rank && rank < rank_count_, "rank {} of {}", rank, rank_count_);
    return small_count_ + (rank < large_rank_count_ ? 1 : 0);
  }
  /// The largest count of any rank.
  [[nodiscard]] int max_count() const { return count(0); }
  [[nodiscard]] LocalExperts local_experts(int rank) const {
    return {first_expert(rank), count(rank)};
  }

  /// O(1), with one division; loops over routes use fill_owner_table().
  [[nodiscard]] int owner(int expert) const {
    CROSSDOCK_DCHECK(0 <= expert && expert < expert_count_, "expert {} of {}", expert,
                     expert_count_);
    const int in_large_ranks = large_rank_count_ * (small_count_ + 1);
    return expert < in_large_ranks ? expert / (small_count_ + 1)
                                   : large_rank_count_ + (expert - in_large_ranks) / small_count_;
  }

 private:
  ExpertSplit(int expert_count, int rank_count)
      : expert_count_(expert_count),
        rank_count_(rank_count),
        small_count_(expert_count / rank_count),
        large_rank_count_(expert_count % rank_count) {}

  int expert_count_;
  int rank_count_;
  int small_count_;       // experts of the ranks without an extra one
  int large_rank_count_;  // ranks with an extra one
};

/// owner_of_expert[E]: [e] is the rank that owns expert e.
void fill_owner_table(const ExpertSplit& split, std::span<std::int32_t> owner_of_expert);

}  // namespace crossdock::routing
