// SPDX-License-Identifier: Apache-2.0
#include "routing/reference.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "base/check.h"
#include "crossdock/types.h"
#include "routing/split.h"

namespace crossdock::routing {
namespace {

// Experts dealt out by hand: [rank] lists its experts.
std::vector<std::vector<int>> deal_experts(int expert_count, int rank_count) {
  std::vector<std::vector<int>> experts_of(static_cast<std::size_t>(rank_count));
  int expert = 0;
  for (int rank = 0; rank < rank_count; ++rank) {
    const int share = expert_count / rank_count + (rank < expert_count % rank_count ? 1 : 0);
    for (int index = 0; index < share; ++index) {
      experts_of[static_cast<std::size_t>(rank)].push_back(expert++);
    }
  }
  return experts_of;
}

std::int64_t round_up(std::int64_t count, std::int64_t alignment) {
  while (count % alignment != 0) {
    ++count;
  }
  return count;
}

std::vector<std::int64_t> running_sum(const std::vector<std::int64_t>& counts) {
  std::vector<std::int64_t> sums;
  std::int64_t sum = 0;
  for (const std::int64_t count : counts) {
    sum += count;
    sums.push_back(sum);
  }
  return sums;
}

// Everything about one destination that does not depend on the layout's order of rows.
struct Arrival {
  int source = 0;
  int token = 0;
  int lane = 0;
  int expert = 0;
};

struct Destination {
  std::vector<int> experts;
  std::vector<Arrival> arrivals;  // by source, token, lane
};

std::vector<Arrival> find_arrivals(const std::vector<RankRoutes>& ranks,
                                   const std::vector<int>& experts) {
  std::vector<Arrival> arrivals;
  for (std::size_t source = 0; source < ranks.size(); ++source) {
    const auto lanes = static_cast<std::size_t>(ranks[source].topk);
    for (std::size_t index = 0; index < ranks[source].experts.size(); ++index) {
      const int expert = ranks[source].experts[index];
      if (std::find(experts.begin(), experts.end(), expert) != experts.end()) {
        arrivals.push_back({static_cast<int>(source), static_cast<int>(index / lanes),
                            static_cast<int>(index % lanes), expert});
      }
    }
  }
  return arrivals;
}

void add_lane(const RankRoutes& from, const Arrival& arrival, ReceivedRow& row) {
  row.source_rank = arrival.source;
  row.source_token = arrival.token;
  row.lanes.push_back(arrival.lane);
  row.experts.push_back(arrival.expert);
  if (!from.weights.empty()) {
    row.weights.push_back(
        from.weights[static_cast<std::size_t>(arrival.token) * static_cast<std::size_t>(from.topk) +
                     static_cast<std::size_t>(arrival.lane)]);
  }
}

std::vector<ReceivedRow> plain_rows(const std::vector<RankRoutes>& ranks,
                                    const Destination& destination) {
  std::map<std::pair<int, int>, ReceivedRow> by_token;  // (source, token), in their order
  for (const Arrival& arrival : destination.arrivals) {
    add_lane(ranks[static_cast<std::size_t>(arrival.source)], arrival,
             by_token[{arrival.source, arrival.token}]);
  }
  std::vector<ReceivedRow> rows;
  for (auto& [origin, row] : by_token) {
    const RankRoutes& from = ranks[static_cast<std::size_t>(origin.first)];
    row.local_experts.assign(static_cast<std::size_t>(from.topk), -1);
    for (std::size_t index = 0; index < row.lanes.size(); ++index) {
      row.local_experts[static_cast<std::size_t>(row.lanes[index])] =
          row.experts[index] - destination.experts.front();
    }
    if (!from.weights.empty()) {
      const auto begin = from.weights.begin() + std::ptrdiff_t{origin.second} * from.topk;
      row.lane_weights.assign(begin, begin + from.topk);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<ReceivedRow> expanded_rows(const std::vector<RankRoutes>& ranks,
                                       const Destination& destination, std::int64_t alignment) {
  std::vector<ReceivedRow> rows;
  for (const int expert : destination.experts) {
    for (const Arrival& arrival : destination.arrivals) {
      if (arrival.expert == expert) {
        add_lane(ranks[static_cast<std::size_t>(arrival.source)], arrival, rows.emplace_back());
      }
    }
    while (static_cast<std::int64_t>(rows.size()) % alignment != 0) {
      rows.emplace_back();
    }
  }
  return rows;
}

void count_experts(const Destination& destination, RowLayout layout, std::int64_t alignment,
                   ReceivedRank& received) {
  std::int64_t begin = 0;
  for (const int expert : destination.experts) {
    const auto rows = static_cast<std::int64_t>(
        std::count_if(destination.arrivals.begin(), destination.arrivals.end(),
                      [=](const Arrival& arrival) { return arrival.expert == expert; }));
    const std::int64_t aligned = round_up(rows, alignment);
    received.rows_per_expert.push_back(rows);
    received.aligned_rows_per_expert.push_back(aligned);
    if (layout == RowLayout::kExpanded) {
      received.expert_begin.push_back(begin);
    }
    received.expert_prefix.push_back(layout == RowLayout::kExpanded ? begin + rows
                                                                    : begin + aligned);
    begin += aligned;
  }
}

void count_sources(const Destination& destination, std::size_t rank_count, ReceivedRank& received) {
  std::map<int, std::map<int, int>> lanes_of;  // source -> token -> lanes
  for (const Arrival& arrival : destination.arrivals) {
    ++lanes_of[arrival.source][arrival.token];
  }
  for (std::size_t source = 0; source < rank_count; ++source) {
    std::int64_t route_count = 0;
    for (const auto& [token, lane_count] : lanes_of[static_cast<int>(source)]) {
      route_count += lane_count;
    }
    received.tokens_per_source.push_back(
        static_cast<std::int64_t>(lanes_of[static_cast<int>(source)].size()));
    received.routes_per_source.push_back(route_count);
  }
  received.source_prefix = running_sum(received.tokens_per_source);
}

void note_routes(int rank, const ReceivedRank& received, Exchange& exchange) {
  for (std::size_t index = 0; index < received.rows.size(); ++index) {
    const ReceivedRow& row = received.rows[index];
    for (const int lane : row.lanes) {
      const auto source = static_cast<std::size_t>(row.source_rank);
      const std::size_t route =
          static_cast<std::size_t>(row.source_token) * static_cast<std::size_t>(exchange.topk) +
          static_cast<std::size_t>(lane);
      exchange.row_of_route[source][route] = static_cast<std::int64_t>(index);
      exchange.owner_of_route[source][route] = rank;
    }
  }
}

// The rows that a token's sum takes, in order, as (rank, row).
std::vector<std::pair<std::size_t, std::size_t>> contributors(const Exchange& exchange,
                                                              std::size_t source,
                                                              std::size_t token) {
  const auto lanes = static_cast<std::size_t>(exchange.topk);
  std::vector<std::pair<std::size_t, std::size_t>> rows;
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    const std::int32_t owner = exchange.owner_of_route[source][token * lanes + lane];
    if (owner < 0) {
      continue;
    }
    const std::pair row(
        static_cast<std::size_t>(owner),
        static_cast<std::size_t>(exchange.row_of_route[source][token * lanes + lane]));
    // A plain row met again moves back: its last lane counts. Expanded rows are met once.
    rows.erase(std::remove(rows.begin(), rows.end(), row), rows.end());
    rows.push_back(row);
  }
  return rows;
}

float widen(float value) { return value; }
float widen(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

void narrow(float sum, float& out) { out = sum; }
// To the nearer of the two bf16 values around the sum; at equal distance to the even one.
void narrow(float sum, std::uint16_t& out) {
  const auto bits = std::bit_cast<std::uint32_t>(sum);
  const auto toward_zero = static_cast<std::uint16_t>(bits >> 16);
  if (std::isnan(sum)) {
    out = static_cast<std::uint16_t>(toward_zero | 0x40U);
    return;
  }
  const std::uint32_t rest = bits & 0xffffU;
  const bool is_up = rest > 0x8000U || (rest == 0x8000U && toward_zero % 2 == 1);
  out = static_cast<std::uint16_t>(toward_zero + (is_up ? 1 : 0));
}

template <typename Element>
RowsOfRanks<Element> combine(const Exchange& exchange, const RowsOfRanks<Element>& outputs,
                             std::size_t hidden) {
  RowsOfRanks<Element> tokens;
  for (std::size_t source = 0; source < exchange.ranks.size(); ++source) {
    auto& of_source = tokens.emplace_back();
    const std::size_t token_count =
        exchange.row_of_route[source].size() / static_cast<std::size_t>(exchange.topk);
    for (std::size_t token = 0; token < token_count; ++token) {
      auto& combined = of_source.emplace_back(hidden, Element{});
      const auto rows = contributors(exchange, source, token);
      if (rows.size() == 1) {
        combined = outputs[rows[0].first][rows[0].second];
        continue;
      }
      for (std::size_t element = 0; element < hidden && !rows.empty(); ++element) {
        float sum = widen(outputs[rows[0].first][rows[0].second][element]);
        for (std::size_t index = 1; index < rows.size(); ++index) {
          sum += widen(outputs[rows[index].first][rows[index].second][element]);
        }
        narrow(sum, combined[element]);
      }
    }
  }
  return tokens;
}

}  // namespace

Exchange reference_exchange(const std::vector<RankRoutes>& ranks, const ExpertSplit& split,
                            RowLayout layout, std::int64_t alignment) {
  CROSSDOCK_CHECK(ranks.size() == static_cast<std::size_t>(split.rank_count()),
                  "routes of {} ranks, split of {}", ranks.size(), split.rank_count());
  Exchange exchange{layout, ranks.front().topk, {}, {}, {}};
  for (const RankRoutes& rank : ranks) {
    exchange.row_of_route.emplace_back(rank.experts.size(), -1);
    exchange.owner_of_route.emplace_back(rank.experts.size(), -1);
  }
  const auto experts_of = deal_experts(split.expert_count(), split.rank_count());
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const Destination destination{experts_of[rank], find_arrivals(ranks, experts_of[rank])};
    ReceivedRank received;
    received.first_expert = destination.experts.front();
    received.rows = layout == RowLayout::kPlain ? plain_rows(ranks, destination)
                                                : expanded_rows(ranks, destination, alignment);
    count_experts(destination, layout, alignment, received);
    count_sources(destination, ranks.size(), received);
    note_routes(static_cast<int>(rank), received, exchange);
    exchange.ranks.push_back(std::move(received));
  }
  return exchange;
}

RowsOfRanks<float> reference_combine_fp32(const Exchange& exchange,
                                          const RowsOfRanks<float>& outputs, std::size_t hidden) {
  return combine(exchange, outputs, hidden);
}

RowsOfRanks<std::uint16_t> reference_combine_bf16(const Exchange& exchange,
                                                  const RowsOfRanks<std::uint16_t>& outputs,
                                                  std::size_t hidden) {
  return combine(exchange, outputs, hidden);
}

}  // namespace crossdock::routing
