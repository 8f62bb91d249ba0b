// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/placement.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cli/bench/workload.h"
#include "crossdock/types.h"

namespace crossdock::bench {

Placement::Placement(const Shape& shape, RowLayout layout)
    : targets_(at(shape.ranks)), targets_begin_(at(shape.ranks)), origins_(at(shape.ranks)) {
  for (int rank = 0; rank < shape.ranks; ++rank) {
    routes_.push_back(make_routes(shape, rank));
    targets_begin_[at(rank)].push_back(0);
  }
  if (layout == RowLayout::kExpanded) {
    place_expanded(shape);
  } else {
    place_plain(shape);
  }
}

void Placement::place_expanded(const Shape& shape) {
  // counts[source][expert], turned into the row of that pair's next token.
  std::vector<std::vector<std::int64_t>> next_row(at(shape.ranks),
                                                  std::vector<std::int64_t>(at(shape.experts), 0));
  for (int source = 0; source < shape.ranks; ++source) {
    for (const std::int32_t expert : routes(source)) {
      if (expert >= 0) {
        ++next_row[at(source)][at(expert)];
      }
    }
  }
  for (int rank = 0; rank < shape.ranks; ++rank) {
    std::int64_t row = 0;
    for (int expert = shape.first_expert(rank);
         expert < shape.first_expert(rank) + shape.local_experts(rank); ++expert) {
      for (int source = 0; source < shape.ranks; ++source) {
        const std::int64_t row_count = next_row[at(source)][at(expert)];
        next_row[at(source)][at(expert)] = row;
        row += row_count;
      }
    }
    origins_[at(rank)].resize(static_cast<std::size_t>(row));
  }
  for (int source = 0; source < shape.ranks; ++source) {
    for (std::size_t route = 0; route < routes(source).size(); ++route) {
      const int expert = routes(source)[route];
      const auto lane = static_cast<std::int32_t>(route % at(shape.topk));
      if (expert >= 0) {
        const int rank = shape.owner(expert);
        const std::int64_t row = next_row[at(source)][at(expert)]++;
        targets_[at(source)].push_back({.rank = rank, .lane = lane, .row = row});
        origins_[at(rank)][static_cast<std::size_t>(row)] = {
            .source = source,
            .token = static_cast<std::int32_t>(route / at(shape.topk)),
            .lane = lane};
      }
      if (lane + 1 == shape.topk) {
        targets_begin_[at(source)].push_back(targets_[at(source)].size());
      }
    }
  }
}

void Placement::place_plain(const Shape& shape) {
  for (int source = 0; source < shape.ranks; ++source) {
    for (std::int32_t token = 0; token < shape.tokens; ++token) {
      std::vector<int> last_lane(at(shape.ranks), -1);
      for (int lane = 0; lane < shape.topk; ++lane) {
        const std::size_t route = at(token) * at(shape.topk) + at(lane);
        if (routes(source)[route] >= 0) {
          last_lane[at(shape.owner(routes(source)[route]))] = lane;
        }
      }
      for (int rank = 0; rank < shape.ranks; ++rank) {
        const int lane = last_lane[at(rank)];
        if (lane >= 0) {
          targets_[at(source)].push_back(
              {.rank = rank,
               .lane = lane,
               .row = static_cast<std::int64_t>(origins_[at(rank)].size())});
          origins_[at(rank)].push_back({.source = source, .token = token, .lane = lane});
        }
      }
      const auto begin = static_cast<std::ptrdiff_t>(targets_begin_[at(source)].back());
      std::sort(targets_[at(source)].begin() + begin, targets_[at(source)].end(),
                [](const RowTarget& a, const RowTarget& b) { return a.lane < b.lane; });
      targets_begin_[at(source)].push_back(targets_[at(source)].size());
    }
  }
}

std::span<const RowTarget> Placement::targets(int rank, std::int64_t token) const {
  const auto& begin = targets_begin_[at(rank)];
  const auto index = static_cast<std::size_t>(token);
  return std::span(targets_[at(rank)]).subspan(begin[index], begin[index + 1] - begin[index]);
}

std::int64_t Placement::row_count_max() const {
  std::size_t most = 0;
  for (const auto& origins : origins_) {
    most = std::max(most, origins.size());
  }
  return static_cast<std::int64_t>(most);
}

std::int64_t Placement::row_count_total() const {
  std::size_t total = 0;
  for (const auto& origins : origins_) {
    total += origins.size();
  }
  return static_cast<std::int64_t>(total);
}

}  // namespace crossdock::bench
