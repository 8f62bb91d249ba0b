// SPDX-License-Identifier: Apache-2.0
#include "routing/routes.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/check.h"
#include "routing/first_lane.h"

namespace crossdock::routing {
namespace {

template <typename FirstLane>
void count(const Routes& routes, const RouteCounts& counts, FirstLane first_lane) {
  const std::size_t lane_count = routes.lane_count();
  for (std::size_t first = 0; first < routes.owners.size(); first += lane_count) {
    const auto owners = routes.owners.subspan(first, lane_count);
    first_lane.begin_token();
    for (std::size_t lane = 0; lane < lane_count; ++lane) {
      if (owners[lane] < 0) {
        continue;
      }
      ++counts.rows_per_expert[static_cast<std::size_t>(routes.experts[first + lane])];
      counts.tokens_per_rank[static_cast<std::size_t>(owners[lane])] +=
          first_lane.is_first(owners, lane) ? 1U : 0U;
    }
  }
}

}  // namespace

void find_owners(std::span<const std::int32_t> experts,
                 std::span<const std::int32_t> owner_of_expert, std::span<std::int32_t> owners) {
  CROSSDOCK_CHECK(experts.size() == owners.size(), "{} experts, room for {} owners", experts.size(),
                  owners.size());
  for (std::size_t route = 0; route < experts.size(); ++route) {
    const std::int32_t expert = experts[route];
    owners[route] = expert < 0 ? -1 : owner_of_expert[static_cast<std::size_t>(expert)];
  }
}

void count_routes(const Routes& routes, const RouteCounts& counts) {
  CROSSDOCK_CHECK(routes.experts.size() == routes.owners.size(), "{} experts, {} owners",
                  routes.experts.size(), routes.owners.size());
  std::fill(counts.rows_per_expert.begin(), counts.rows_per_expert.end(), 0U);
  std::fill(counts.tokens_per_rank.begin(), counts.tokens_per_rank.end(), 0U);
  if (counts.tokens_per_rank.size() <= internal::MaskOfRanks::kRanksMax) {
    count(routes, counts, internal::MaskOfRanks());
  } else {
    count(routes, counts, internal::LookBack());
  }
}

}  // namespace crossdock::routing
