// SPDX-License-Identifier: Apache-2.0
// The room's functions against the slow reference, over random shapes. A failing case prints the
// line that repeats it (RC_PARAMS="reproduce=...").
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "crossdock/types.h"
#include "routing/layout.h"
#include "routing/normalise.h"
#include "routing/placement.h"
#include "routing/reference.h"
#include "routing/routes.h"
#include "routing/split.h"
#include "routing/testing/fast_exchange.h"
#include "routing/testing/random_exchange.h"

namespace crossdock::routing::testing {
namespace {

// What the sweep has met; a property that never met its hard cases proves nothing.
struct Reached {
  std::array<int, kSkewCount> skews{};
  int uneven_splits = 0;
  int empty_ranks = 0;
  int alignment_gaps = 0;
  int shared_plain_rows = 0;
  int many_ranks = 0;  // beyond the mask of ranks
  int widest_topk = 0;
};

ExchangeShape any_shape() {
  ExchangeShape shape;
  // element() is uniform; inRange() begins small and grows with the number of the case.
  const bool has_many_ranks = *rc::gen::element(0, 1, 2, 3, 4, 5, 6, 7) == 0;
  shape.rank_count = has_many_ranks ? *rc::gen::inRange(65, 80) : *rc::gen::inRange(1, 13);
  shape.expert_count = shape.rank_count + *rc::gen::inRange(0, 3 * shape.rank_count + 1);
  shape.topk = *rc::gen::oneOf(rc::gen::element(1, 2, 8, 128), rc::gen::inRange(1, 129));
  shape.token_count_max = has_many_ranks ? 2 : *rc::gen::inRange(0, 13);
  shape.alignment = *rc::gen::element<std::int64_t>(1, 1, 2, 3, 8, 100, 128);
  shape.skew = *rc::gen::element(Skew::kUniform, Skew::kSparse, Skew::kOneRank, Skew::kOneExpert,
                                 Skew::kNone);
  shape.seed = *rc::gen::arbitrary<std::uint64_t>();
  return shape;
}

void note(const ExchangeShape& shape, const std::vector<RankRoutes>& ranks, Reached& reached) {
  ++reached.skews[static_cast<std::size_t>(shape.skew)];
  reached.uneven_splits += shape.expert_count % shape.rank_count != 0 ? 1 : 0;
  reached.many_ranks += shape.rank_count > 64 ? 1 : 0;
  reached.widest_topk += shape.topk == kLanesMax ? 1 : 0;
  for (const RankRoutes& rank : ranks) {
    reached.empty_ranks += rank.experts.empty() ? 1 : 0;
  }
}

void note(const Exchange& exchange, Reached& reached) {
  for (const ReceivedRank& rank : exchange.ranks) {
    for (const ReceivedRow& row : rank.rows) {
      reached.alignment_gaps += row.is_gap() ? 1 : 0;
      reached.shared_plain_rows += row.lanes.size() > 1 ? 1 : 0;
    }
  }
}

void expect_all_reached(const Reached& reached) {
  for (std::size_t skew = 0; skew < reached.skews.size(); ++skew) {
    EXPECT_GT(reached.skews[skew], 0) << "skew " << skew;
  }
  EXPECT_GT(reached.uneven_splits, 0);
  EXPECT_GT(reached.empty_ranks, 0);
  EXPECT_GT(reached.many_ranks, 0);
  EXPECT_GT(reached.widest_topk, 0);
}

void check_senders(const Senders& senders, const Exchange& exchange) {
  const std::size_t rank_count = exchange.ranks.size();
  RC_ASSERT(senders.owners == exchange.owner_of_route);
  RC_ASSERT(senders.row_of_route == exchange.row_of_route);
  for (std::size_t rank = 0; rank < rank_count; ++rank) {
    const ReceivedRank& received = exchange.ranks[rank];
    for (std::size_t source = 0; source < rank_count; ++source) {
      RC_ASSERT(std::int64_t{senders.tokens[source * rank_count + rank]} ==
                received.tokens_per_source[source]);
      // Every rank finds the same need.
      RC_ASSERT(senders.needed[source][rank] == static_cast<std::int64_t>(received.rows.size()));
    }
  }
}

void check_receiver(Receiver& receiver, const Exchange& exchange, std::size_t rank) {
  const ReceivedRank& received = exchange.ranks[rank];
  RC_ASSERT(receiver.row_count == received.rows_per_expert);
  RC_ASSERT(receiver.aligned_row_count == received.aligned_rows_per_expert);
  RC_ASSERT(receiver.plain_prefix == received.source_prefix);
  std::vector<std::int64_t> prefix(receiver.begin.size());
  if (exchange.layout == RowLayout::kPlain) {
    inclusive_prefix(receiver.aligned_row_count, prefix);
    RC_ASSERT(receiver.plain_total == static_cast<std::int64_t>(received.rows.size()));
  } else {
    expanded_prefix(receiver.expanded(), prefix);
    RC_ASSERT(receiver.expanded_total == static_cast<std::int64_t>(received.rows.size()));
    RC_ASSERT(receiver.begin == received.expert_begin);
  }
  RC_ASSERT(prefix == received.expert_prefix);
}

// Senders and receivers see the same starts.
void check_starts(const Senders& senders, const Receiver& receiver, const Exchange& exchange,
                  std::size_t rank) {
  const std::size_t local_count = receiver.begin.size();
  const auto first = static_cast<std::size_t>(exchange.ranks[rank].first_expert);
  for (std::size_t source = 0; source < exchange.ranks.size(); ++source) {
    if (exchange.layout == RowLayout::kPlain) {
      RC_ASSERT(senders.start[source][rank] == receiver.plain_begin[source]);
      continue;
    }
    for (std::size_t local = 0; local < local_count; ++local) {
      RC_ASSERT(senders.start[source][first + local] ==
                receiver.source_begin[source * local_count + local]);
    }
  }
}

void check_landing(const Unpacked& unpacked, const Exchange& exchange, std::size_t rank) {
  const ReceivedRank& received = exchange.ranks[rank];
  RC_ASSERT(unpacked.rows_per_expert == received.rows_per_expert);
  RC_ASSERT(unpacked.routes_per_source == received.routes_per_source);
  RC_ASSERT(unpacked.source_rank.size() == received.rows.size());
  const auto lanes = static_cast<std::size_t>(exchange.topk);
  for (std::size_t row = 0; row < received.rows.size(); ++row) {
    const ReceivedRow& expected = received.rows[row];
    RC_ASSERT(unpacked.source_rank[row] == expected.source_rank);
    RC_ASSERT(unpacked.source_token[row] == expected.source_token);
    if (exchange.layout == RowLayout::kExpanded) {
      RC_ASSERT(unpacked.weight[row] == (expected.is_gap() ? 0.0F : expected.weights[0]));
      continue;
    }
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      RC_ASSERT(unpacked.local_expert[row * lanes + lane] == expected.local_experts[lane]);
      RC_ASSERT(unpacked.weight[row * lanes + lane] == expected.lane_weights[lane]);
    }
  }
  for (std::size_t source = 0; source < exchange.ranks.size(); ++source) {
    for (std::size_t route = 0; route < exchange.row_of_route[source].size(); ++route) {
      const bool is_here = exchange.owner_of_route[source][route] == static_cast<int>(rank);
      RC_ASSERT(unpacked.row_of_route[source][route] ==
                (is_here ? exchange.row_of_route[source][route] : -1));
    }
  }
}

void check_layout(RowLayout layout, Reached& reached) {
  const ExchangeShape shape = any_shape();
  RC_LOG() << shape << std::endl;
  const auto ranks = make_routes(shape);
  const auto split = ExpertSplit::make(shape.expert_count, shape.rank_count).value();
  const Exchange exchange = reference_exchange(ranks, split, layout, shape.alignment);
  note(shape, ranks, reached);
  note(exchange, reached);
  const Senders senders = run_senders(ranks, split, layout, shape.alignment);
  check_senders(senders, exchange);
  for (int rank = 0; rank < shape.rank_count; ++rank) {
    const auto index = static_cast<std::size_t>(rank);
    Receiver receiver = run_receiver(senders, split, rank, shape.alignment);
    check_receiver(receiver, exchange, index);
    check_starts(senders, receiver, exchange, index);
    check_landing(run_landing(ranks, split, rank, layout, shape.alignment), exchange, index);
  }
}

TEST(RoutingProperty, ExpandedPlacesAgreeWithTheReference) {
  Reached reached;
  EXPECT_TRUE(rc::check([&] { check_layout(RowLayout::kExpanded, reached); }));
  expect_all_reached(reached);
  EXPECT_GT(reached.alignment_gaps, 0);
}

TEST(RoutingProperty, PlainPlacesAgreeWithTheReference) {
  Reached reached;
  EXPECT_TRUE(rc::check([&] { check_layout(RowLayout::kPlain, reached); }));
  expect_all_reached(reached);
  EXPECT_GT(reached.shared_plain_rows, 0);
}

TEST(RoutingProperty, EveryPlainRowIsVisitedOnceAtItsHighestLane) {
  EXPECT_TRUE(rc::check([] {
    const auto ranks = make_routes(any_shape());
    const int expert_count = 4 * static_cast<int>(ranks.size());
    const auto split = ExpertSplit::make(expert_count, static_cast<int>(ranks.size())).value();
    const Exchange exchange = reference_exchange(ranks, split, RowLayout::kPlain, 1);
    const Senders senders = run_senders(ranks, split, RowLayout::kPlain, 1);
    for (std::size_t source = 0; source < ranks.size(); ++source) {
      std::set<std::pair<std::int32_t, std::int64_t>> visited;
      std::pair<std::size_t, std::size_t> last{0, 0};
      const Routes routes = routes_of(ranks[source], senders.owners[source]);
      for_each_plain_row(routes, senders.row_of_route[source], [&](const PlainRow& plain) {
        RC_ASSERT(visited.emplace(plain.rank, plain.row).second);
        RC_ASSERT(visited.size() == 1 || std::pair(plain.token, plain.master_lane) > last);
        last = {plain.token, plain.master_lane};
        const ReceivedRow& row = exchange.ranks[static_cast<std::size_t>(plain.rank)]
                                     .rows[static_cast<std::size_t>(plain.row)];
        RC_ASSERT(row.source_rank == static_cast<int>(source));
        RC_ASSERT(row.source_token == static_cast<int>(plain.token));
        RC_ASSERT(row.lanes.back() == static_cast<int>(plain.master_lane));
      });
      std::int64_t row_count = 0;
      for (const ReceivedRank& received : exchange.ranks) {
        row_count += received.tokens_per_source[source];
      }
      RC_ASSERT(static_cast<std::int64_t>(visited.size()) == row_count);
    }
  }));
}

TEST(RoutingProperty, NormalisedIdsAreTheGivenOnesUnlessOneIsBad) {
  int range_refusals = 0;
  int repetition_refusals = 0;
  EXPECT_TRUE(rc::check([&] {
    const int topk = *rc::gen::inRange(1, 129);
    const int expert_count = *rc::gen::element(2, 64, 128, 1024, 1025, 5000);
    const auto token_count = *rc::gen::inRange<std::int64_t>(0, 6);
    const int spoil = *rc::gen::element(0, 1, 2);
    std::vector<std::int64_t> ids;
    for (std::int64_t token = 0; token < token_count; ++token) {
      for (int lane = 0; lane < topk; ++lane) {
        const int expert = static_cast<int>(token) + lane * 31;  // 31 is odd: no id twice below
        ids.push_back(expert < expert_count ? expert : -1);
      }
    }
    const auto route_count = static_cast<int>(ids.size());
    if (spoil == 1 && route_count > 0) {
      ids[static_cast<std::size_t>(*rc::gen::inRange(0, route_count))] =
          *rc::gen::element<std::int64_t>(-2, expert_count, INT64_MIN, INT64_MAX, 1LL << 32);
    }
    if (spoil == 2 && topk > 1 && route_count > 0 && ids[0] >= 0) {
      ids[static_cast<std::size_t>(*rc::gen::inRange(1, topk))] = ids[0];
    }
    bool is_bad = false;
    for (std::size_t route = 0; route < ids.size(); ++route) {
      const std::size_t first = route - route % static_cast<std::size_t>(topk);
      is_bad = is_bad || ids[route] < -1 || ids[route] >= expert_count;
      for (std::size_t earlier = first; earlier < route; ++earlier) {
        is_bad = is_bad || (ids[route] >= 0 && ids[earlier] == ids[route]);
      }
    }
    std::vector<std::int32_t> out(ids.size(), -7);
    const Status status = normalise_topk(ids, token_count, topk, expert_count, out);
    RC_ASSERT(status.ok() == !is_bad);
    range_refusals += is_bad && spoil == 1 ? 1 : 0;
    repetition_refusals += is_bad && spoil == 2 ? 1 : 0;
    for (std::size_t route = 0; route < ids.size(); ++route) {
      RC_ASSERT(std::int64_t{out[route]} == (is_bad ? -7 : ids[route]));
    }
  }));
  EXPECT_GT(range_refusals, 0);
  EXPECT_GT(repetition_refusals, 0);
}

TEST(RoutingProperty, SplitIsContiguousCompleteAndAtMostOneApart) {
  EXPECT_TRUE(rc::check([] {
    const int rank_count = *rc::gen::inRange(1, 300);
    const int expert_count = rank_count + *rc::gen::inRange(0, 1000);
    const auto split = ExpertSplit::make(expert_count, rank_count).value();
    std::vector<std::int32_t> owner_of_expert(static_cast<std::size_t>(expert_count));
    fill_owner_table(split, owner_of_expert);
    int expert = 0;
    for (int rank = 0; rank < rank_count; ++rank) {
      RC_ASSERT(split.first_expert(rank) == expert);
      RC_ASSERT(split.max_count() - split.count(rank) == 0 ||
                split.max_count() - split.count(rank) == 1);
      RC_ASSERT(split.count(rank) <= split.count(rank == 0 ? 0 : rank - 1));
      for (int local = 0; local < split.count(rank); ++local, ++expert) {
        RC_ASSERT(split.owner(expert) == rank);
        RC_ASSERT(owner_of_expert[static_cast<std::size_t>(expert)] == rank);
        RC_ASSERT(split.local_experts(rank).local_id(expert) == local);
      }
    }
    RC_ASSERT(expert == expert_count);
    RC_ASSERT(split.first_expert(rank_count) == expert_count);
  }));
}

}  // namespace
}  // namespace crossdock::routing::testing
