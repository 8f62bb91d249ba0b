// SPDX-License-Identifier: Apache-2.0
#include "routing/placement.h"

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/check.h"
#include "routing/first_lane.h"
#include "routing/routes.h"

namespace crossdock::routing {
namespace {

template <typename FirstLane>
void place(const Routes& routes, std::span<std::int64_t> next_row,
           std::span<std::int64_t> row_of_route, FirstLane first_lane) {
  const std::size_t lane_count = routes.lane_count();
  for (std::size_t first = 0; first < routes.owners.size(); first += lane_count) {
    const auto owners = routes.owners.subspan(first, lane_count);
    first_lane.begin_token();
    for (std::size_t lane = 0; lane < lane_count; ++lane) {
      if (owners[lane] < 0) {
        row_of_route[first + lane] = -1;
        continue;
      }
      std::int64_t& next = next_row[static_cast<std::size_t>(owners[lane])];
      next += first_lane.is_first(owners, lane) ? 1 : 0;
      // The rank's last row is this token's: its first lane there has just taken it.
      row_of_route[first + lane] = next - 1;
    }
  }
}

}  // namespace

void place_expanded(std::span<const std::int32_t> experts, std::span<std::int64_t> next_row,
                    std::span<std::int64_t> row_of_route) {
  CROSSDOCK_CHECK(experts.size() == row_of_route.size(), "{} routes, room for {} rows",
                  experts.size(), row_of_route.size());
  for (std::size_t route = 0; route < experts.size(); ++route) {
    const std::int32_t expert = experts[route];
    row_of_route[route] = expert < 0 ? -1 : next_row[static_cast<std::size_t>(expert)]++;
  }
}

void place_plain(const Routes& routes, std::span<std::int64_t> next_row,
                 std::span<std::int64_t> row_of_route) {
  CROSSDOCK_CHECK(routes.owners.size() == row_of_route.size(), "{} routes, room for {} rows",
                  routes.owners.size(), row_of_route.size());
  if (next_row.size() <= internal::MaskOfRanks::kRanksMax) {
    place(routes, next_row, row_of_route, internal::MaskOfRanks());
  } else {
    place(routes, next_row, row_of_route, internal::LookBack());
  }
}

}  // namespace crossdock::routing
