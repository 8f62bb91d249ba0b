// SPDX-License-Identifier: Apache-2.0
#include "routing/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <set>
#include <tuple>
#include <vector>

#include "crossdock/types.h"
#include "routing/layout.h"
#include "routing/normalise.h"
#include "routing/reference.h"
#include "routing/routes.h"
#include "routing/split.h"
#include "routing/testing/fast_exchange.h"

namespace crossdock::routing {
namespace {

using ::testing::ElementsAre;

TEST(PlaceExpanded, RoutesTakeTheNextRowOfTheirExpert) {
  const std::vector<std::int32_t> experts{1, 0, -1, 1};
  std::vector<std::int64_t> next{10, 20};
  std::vector<std::int64_t> rows(4);
  place_expanded(experts, next, rows);
  EXPECT_THAT(rows, ElementsAre(20, 10, -1, 21));
  EXPECT_THAT(next, ElementsAre(11, 22));
}

TEST(PlacePlain, LanesOfATokenToOneRankShareARow) {
  const std::vector<std::int32_t> owners{1, 0, 1,  -1,  //
                                         1, 1, -1, 0};
  std::vector<std::int64_t> next{5, 7};
  std::vector<std::int64_t> rows(8);
  place_plain({owners, owners, 4}, next, rows);
  EXPECT_THAT(rows, ElementsAre(7, 5, 7, -1, 8, 8, -1, 6));
  EXPECT_THAT(next, ElementsAre(7, 9));

  std::vector<std::tuple<std::size_t, int, std::int64_t, std::size_t>> visited;
  for_each_plain_row({owners, owners, 4}, rows, [&](const PlainRow& row) {
    visited.emplace_back(row.token, row.rank, row.row, row.master_lane);
  });
  EXPECT_THAT(visited, ElementsAre(std::tuple(0, 0, 5, 1), std::tuple(0, 1, 7, 2),
                                   std::tuple(1, 1, 8, 1), std::tuple(1, 0, 6, 3)));
}

// All rows of all sources at all ranks: none twice, none beyond what was announced.
void expect_places_are_distinct(const std::vector<RankRoutes>& ranks, const ExpertSplit& split,
                                RowLayout layout, std::int64_t alignment) {
  const auto senders = testing::run_senders(ranks, split, layout, alignment);
  std::set<std::tuple<std::int32_t, std::int64_t, std::size_t, std::size_t>> places;
  std::set<std::tuple<std::int32_t, std::int64_t>> rows;
  const auto topk = static_cast<std::size_t>(ranks.front().topk);
  for (std::size_t source = 0; source < ranks.size(); ++source) {
    for (std::size_t route = 0; route < senders.owners[source].size(); ++route) {
      const std::int32_t owner = senders.owners[source][route];
      const std::int64_t row = senders.row_of_route[source][route];
      ASSERT_EQ(owner < 0, row < 0);
      if (owner < 0) {
        continue;
      }
      ASSERT_LT(row, senders.needed[source][static_cast<std::size_t>(owner)]);
      rows.emplace(owner, row);
      places.emplace(owner, row, source, layout == RowLayout::kPlain ? route / topk : route);
    }
  }
  EXPECT_EQ(places.size(), rows.size());
}

RankRoutes spread_routes(int token_count, int topk, int expert_count, int shift) {
  RankRoutes rank{topk, {}, {}};
  for (int token = 0; token < token_count; ++token) {
    for (int lane = 0; lane < topk; ++lane) {
      rank.experts.push_back((token * 3 + lane * 5 + shift) % expert_count);
    }
  }
  rank.weights.assign(rank.experts.size(), 1.0F);
  return rank;
}

TEST(UnequalTokenCounts, EveryRankFindsTheSamePlaces) {
  const auto split = ExpertSplit::make(8, 4).value();
  for (const std::vector<int>& token_counts : std::vector<std::vector<int>>{
           {0, 1, 7, 64}, {5, 5, 5, 5}, {6, 6, 6, 6}, {3, 1, 4, 1}, {0, 0, 0, 0}}) {
    std::vector<RankRoutes> ranks;
    for (const int token_count : token_counts) {
      ranks.push_back(spread_routes(token_count, 2, 8, static_cast<int>(ranks.size())));
    }
    for (const RowLayout layout : {RowLayout::kPlain, RowLayout::kExpanded}) {
      expect_places_are_distinct(ranks, split, layout, 4);
      const auto senders = testing::run_senders(ranks, split, layout, 4);
      const auto exchange = reference_exchange(ranks, split, layout, 4);
      EXPECT_EQ(senders.row_of_route, exchange.row_of_route);
      for (const auto& needed : senders.needed) {
        EXPECT_EQ(needed, senders.needed.front());
      }
    }
  }
}

TEST(UnusualShapes, AnyTopkAndAnySplitLosesNoRoute) {
  struct Shape {
    int ranks;
    int experts;
    int topk;
  };
  // Prime expert counts: lanes step by 5, so that no expert comes twice.
  for (const Shape& shape : {Shape{4, 11, 1}, Shape{4, 11, 2}, Shape{4, 11, 8}, Shape{4, 11, 11},
                             Shape{4, 64, 16}, Shape{4, 64, 22}, Shape{7, 896, 128}}) {
    const auto split = ExpertSplit::make(shape.experts, shape.ranks).value();
    std::vector<RankRoutes> ranks;
    for (int rank = 0; rank < shape.ranks; ++rank) {
      ranks.push_back(spread_routes(33, shape.topk, shape.experts, rank));
      std::vector<std::int32_t> out(ranks.back().experts.size());
      ASSERT_TRUE(normalise_topk(ranks.back().experts, 33, shape.topk, shape.experts, out).ok());
    }
    const auto senders = testing::run_senders(ranks, split, RowLayout::kExpanded, 1);
    const auto& needed = senders.needed.front();
    EXPECT_EQ(std::accumulate(needed.begin(), needed.end(), std::int64_t{0}),
              std::int64_t{33} * shape.topk * shape.ranks);
    expect_places_are_distinct(ranks, split, RowLayout::kExpanded, 1);
    expect_places_are_distinct(ranks, split, RowLayout::kPlain, 1);
  }
}

TEST(ManyTokens, RowsBeyond65535AreDistinct) {
  constexpr int kTokens = 65'537;
  const std::vector<RankRoutes> ranks{{1, std::vector<std::int32_t>(kTokens, 1), {}}, {1, {}, {}}};
  const auto split = ExpertSplit::make(2, 2).value();
  for (const RowLayout layout : {RowLayout::kPlain, RowLayout::kExpanded}) {
    const auto senders = testing::run_senders(ranks, split, layout, 1);
    EXPECT_EQ(senders.row_of_route[0][65'535], 65'535);
    EXPECT_EQ(senders.row_of_route[0][65'536], 65'536);
    EXPECT_THAT(senders.needed[1], ElementsAre(0, kTokens));
  }
}

TEST(PlacePlain, RowsBeyond32BitsKeepCounting) {
  const std::vector<std::int32_t> owners{0, 0};
  std::vector<std::int64_t> next{(std::int64_t{1} << 32) - 1};
  std::vector<std::int64_t> rows(2);
  place_plain({owners, owners, 1}, next, rows);
  EXPECT_THAT(rows, ElementsAre(4'294'967'295, 4'294'967'296));
}

}  // namespace
}  // namespace crossdock::routing
