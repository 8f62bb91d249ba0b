// SPDX-License-Identifier: Apache-2.0
#include "routing/routes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace crossdock::routing {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

TEST(MasterLane, IsTheHighestLaneToTheSameRank) {
  const std::vector<std::int32_t> owners{1, 0, 1, -1, 0, 2};
  EXPECT_EQ(master_lane(owners, 0), 2U);
  EXPECT_EQ(master_lane(owners, 1), 4U);
  EXPECT_EQ(master_lane(owners, 2), 2U);
  EXPECT_EQ(master_lane(owners, 5), 5U);
  EXPECT_FALSE(is_master_lane(owners, 0));
  EXPECT_TRUE(is_master_lane(owners, 2));
  EXPECT_FALSE(is_master_lane(owners, 3)) << "unused";
}

TEST(CountRoutes, ATokenCountsOncePerRankAndOncePerExpert) {
  const std::vector<std::int32_t> experts{0, 1, 3, 3, -1, 2};
  const std::vector<std::int32_t> owners{0, 0, 1, 1, -1, 1};
  std::vector<std::uint32_t> rows(4, 9);
  std::vector<std::uint32_t> tokens(3, 9);
  count_routes({experts, owners, 3}, {rows, tokens});
  EXPECT_THAT(rows, ElementsAre(1, 1, 1, 2));
  EXPECT_THAT(tokens, ElementsAre(1, 2, 0));
}

// -1 is no index of a histogram.
TEST(CountRoutes, TokensWithoutRoutesCountNothing) {
  const std::vector<std::int32_t> unused(6, -1);
  std::vector<std::uint32_t> rows(4, 9);
  std::vector<std::uint32_t> tokens(2, 9);
  count_routes({unused, unused, 2}, {rows, tokens});
  EXPECT_THAT(rows, Each(0));
  EXPECT_THAT(tokens, Each(0));
}

TEST(CountRoutes, NoTokensGiveZeros) {
  std::vector<std::uint32_t> rows(4, 9);
  std::vector<std::uint32_t> tokens(2, 9);
  count_routes({{}, {}, 8}, {rows, tokens});
  EXPECT_THAT(rows, Each(0));
  EXPECT_THAT(tokens, Each(0));
}

TEST(CountRoutes, RanksBeyondTheMaskCountLikeTheOthers) {
  const std::vector<std::int32_t> owners{64, 0, 64, 99, 99, 0};
  std::vector<std::uint32_t> rows(100);
  for (const int rank_count : {100, 128}) {
    std::vector<std::uint32_t> tokens(static_cast<std::size_t>(rank_count));
    count_routes({owners, owners, 3}, {rows, tokens});
    EXPECT_EQ(tokens[0], 2U);
    EXPECT_EQ(tokens[64], 1U);
    EXPECT_EQ(tokens[99], 1U);
  }
}

TEST(FindOwners, UnusedLanesHaveNone) {
  const std::vector<std::int32_t> owner_of_expert{0, 0, 1};
  const std::vector<std::int32_t> experts{2, -1, 1};
  std::vector<std::int32_t> owners(3);
  find_owners(experts, owner_of_expert, owners);
  EXPECT_THAT(owners, ElementsAre(1, -1, 0));
}

}  // namespace
}  // namespace crossdock::routing
