// SPDX-License-Identifier: Apache-2.0
// Sender: which row of its destination every route goes to, given where this rank's rows begin
// there. Rows of one source keep token order, and lane order inside a token.
// Thread rule: pure functions; spans belong to the caller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "routing/routes.h"

namespace crossdock::routing {

/// Expanded: one row per route. next_row[E]: [e] is the first row for this rank's routes to expert
/// e, at e's owner; on return one past the last. row_of_route[T, K]: row at the owner, or -1 where
/// the lane is unused. `experts` is [T, K], normalised.
void place_expanded(std::span<const std::int32_t> experts, std::span<std::int64_t> next_row,
                    std::span<std::int64_t> row_of_route);

/// Plain: one row per (token, rank); all lanes of a token to the same rank have the same row.
/// next_row[R]: [r] is the first row for this rank's tokens at rank r; on return one past the last.
void place_plain(const Routes& routes, std::span<std::int64_t> next_row,
                 std::span<std::int64_t> row_of_route);

/// One row of the plain layout, as its sender sees it.
struct PlainRow {
  std::size_t token = 0;
  std::int32_t rank = 0;
  std::int64_t row = 0;
  std::size_t master_lane = 0;
};

/// Calls visit(const PlainRow&) once for every (token, destination rank), in token order, inside a
/// token by ascending master lane.
template <typename Visitor>
void for_each_plain_row(const Routes& routes, std::span<const std::int64_t> row_of_route,
                        Visitor&& visit) {
  const std::size_t lane_count = routes.lane_count();
  const std::size_t token_count = routes.token_count();
  for (std::size_t token = 0; token < token_count; ++token) {
    const auto owners = routes.owners_of(token);
    for (std::size_t lane = 0; lane < lane_count; ++lane) {
      if (is_master_lane(owners, lane)) {
        visit(PlainRow{token, owners[lane], row_of_route[token * lane_count + lane], lane});
      }
    }
  }
}

}  // namespace crossdock::routing
