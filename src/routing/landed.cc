// SPDX-License-Identifier: Apache-2.0
#include "routing/landed.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/check.h"

namespace crossdock::routing {
namespace {

void check_lanes(const LandedSource& source, const LandedShape& shape,
                 std::span<const std::int64_t> row_of_lane) {
  CROSSDOCK_CHECK(row_of_lane.size() == source.slot_count * static_cast<std::size_t>(shape.topk),
                  "room for {} lanes, {} slots x {} lanes landed", row_of_lane.size(),
                  source.slot_count, shape.topk);
}

}  // namespace

std::int64_t count_landed(const LandedSource& source, const LandedShape& shape,
                          std::span<std::int64_t> rows_per_expert) {
  std::int64_t route_count = 0;
  for (std::size_t slot = 0; slot < source.slot_count; ++slot) {
    const std::int32_t* experts = source.experts.at(slot);
    for (int lane = 0; lane < shape.topk; ++lane) {
      const std::int32_t local = shape.local.local_id(experts[lane]);
      if (local >= 0) {
        ++rows_per_expert[static_cast<std::size_t>(local)];
        ++route_count;
      }
    }
  }
  return route_count;
}

void place_landed_expanded(const LandedSource& source, const LandedShape& shape,
                           const ExpandedRows& rows) {
  check_lanes(source, shape, rows.row_of_lane);
  const auto lane_count = static_cast<std::size_t>(shape.topk);
  const bool has_weights = source.weights.first != nullptr && !rows.weight.empty();
  auto row_of_lane = rows.row_of_lane.begin();
  for (std::size_t slot = 0; slot < source.slot_count; ++slot) {
    const std::int32_t token = *source.token.at(slot);
    const std::int32_t* experts = source.experts.at(slot);
    for (std::size_t lane = 0; lane < lane_count; ++lane) {
      const std::int32_t local = shape.local.local_id(experts[lane]);
      if (local < 0) {
        *row_of_lane++ = -1;
        continue;
      }
      const std::int64_t row = rows.next_row[static_cast<std::size_t>(local)]++;
      const auto place = static_cast<std::size_t>(row);
      CROSSDOCK_DCHECK(place < rows.source_rank.size(), "row {} of {}", row,
                       rows.source_rank.size());
      *row_of_lane++ = row;
      rows.source_rank[place] = source.rank;
      rows.source_token[place] = token;
      if (has_weights) {
        rows.weight[place] = source.weights.at(slot)[lane];
      }
    }
  }
}

std::int64_t place_landed_plain(const LandedSource& source, const LandedShape& shape,
                                std::int64_t first_row, const PlainRows& rows) {
  check_lanes(source, shape, rows.row_of_lane);
  const auto lane_count = static_cast<std::size_t>(shape.topk);
  const bool has_weights = source.weights.first != nullptr && !rows.weight.empty();
  auto place = static_cast<std::size_t>(first_row);
  auto row_of_lane = rows.row_of_lane.begin();
  CROSSDOCK_CHECK(place + source.slot_count <= rows.source_rank.size(),
                  "{} slots from row {}, room for {} rows", source.slot_count, first_row,
                  rows.source_rank.size());
  for (std::size_t slot = 0; slot < source.slot_count; ++slot, ++place) {
    const std::int32_t* experts = source.experts.at(slot);
    const auto local_expert = rows.local_expert.subspan(place * lane_count, lane_count);
    for (std::size_t lane = 0; lane < lane_count; ++lane) {
      local_expert[lane] = shape.local.local_id(experts[lane]);
      *row_of_lane++ = local_expert[lane] < 0 ? -1 : static_cast<std::int64_t>(place);
    }
    rows.source_rank[place] = source.rank;
    rows.source_token[place] = *source.token.at(slot);
    if (has_weights) {
      std::copy_n(source.weights.at(slot), lane_count, &rows.weight[place * lane_count]);
    }
  }
  return static_cast<std::int64_t>(place);
}

}  // namespace crossdock::routing
