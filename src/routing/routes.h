// SPDX-License-Identifier: Apache-2.0
// The routes of one rank's tokens: what every function here starts from, and how often they occur.
// T tokens, K lanes per token, E experts, R ranks; [t, k] is element t * K + k.
// Thread rule: pure functions; spans belong to the caller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace crossdock::routing {

struct Routes {
  std::span<const std::int32_t> experts;  // [T, K]: global id, or -1: lane unused; normalised
  std::span<const std::int32_t> owners;   // [T, K]: rank of that expert, or -1
  int topk = 1;

  [[nodiscard]] std::size_t lane_count() const { return static_cast<std::size_t>(topk); }
  [[nodiscard]] std::size_t token_count() const { return owners.size() / lane_count(); }
  [[nodiscard]] std::span<const std::int32_t> owners_of(std::size_t token) const {
    return owners.subspan(token * lane_count(), lane_count());
  }
};

/// owners[i] = owner_of_expert[experts[i]], or -1 where the lane is unused. `owner_of_expert` is
/// from fill_owner_table().
void find_owners(std::span<const std::int32_t> experts,
                 std::span<const std::int32_t> owner_of_expert, std::span<std::int32_t> owners);

/// What a rank sends, overwritten. rows_per_expert[E]: routes to that expert. tokens_per_rank[R]:
/// tokens with at least one route there, each counted once however many of its lanes go there.
struct RouteCounts {
  std::span<std::uint32_t> rows_per_expert;
  std::span<std::uint32_t> tokens_per_rank;
};
void count_routes(const Routes& routes, const RouteCounts& counts);

/// The master lane of `lane`: the highest lane of its token that goes to the same rank. It fixes
/// where a plain row takes part in combine's sum. REQUIRES: the lane is used.
[[nodiscard]] constexpr std::size_t master_lane(std::span<const std::int32_t> owners_of_token,
                                                std::size_t lane) {
  std::size_t highest = owners_of_token.size() - 1;
  while (owners_of_token[highest] != owners_of_token[lane]) {
    --highest;
  }
  return highest;
}

/// False for unused lanes.
[[nodiscard]] constexpr bool is_master_lane(std::span<const std::int32_t> owners_of_token,
                                            std::size_t lane) {
  return owners_of_token[lane] >= 0 && master_lane(owners_of_token, lane) == lane;
}

}  // namespace crossdock::routing
