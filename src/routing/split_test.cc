// SPDX-License-Identifier: Apache-2.0
#include "routing/split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "crossdock/status.h"

namespace crossdock::routing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ExpertSplit, TenExpertsOnFourRanksAreThreeThreeTwoTwo) {
  const auto split = ExpertSplit::make(10, 4).value();
  EXPECT_EQ(split.count(0), 3);
  EXPECT_EQ(split.count(1), 3);
  EXPECT_EQ(split.count(2), 2);
  EXPECT_EQ(split.count(3), 2);
  EXPECT_EQ(split.max_count(), 3);
  std::vector<std::int32_t> owners(10);
  fill_owner_table(split, owners);
  EXPECT_THAT(owners, ElementsAre(0, 0, 0, 1, 1, 1, 2, 2, 3, 3));
}

TEST(ExpertSplit, ManyExpertsOnSevenRanksAreEven) {
  const auto split = ExpertSplit::make(896, 7).value();
  EXPECT_EQ(split.count(0), 128);
  EXPECT_EQ(split.count(6), 128);
  EXPECT_EQ(split.owner(895), 6);
}

TEST(ExpertSplit, FewerExpertsThanRanksAreRefusedWithBothNumbers) {
  const Status status = ExpertSplit::make(3, 4).status();
  EXPECT_EQ(status.kind(), StatusKind::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("expert count is 3; allowed: 4 or more"));
}

TEST(ExpertSplit, NoRanksAreRefused) {
  const Status status = ExpertSplit::make(8, 0).status();
  EXPECT_EQ(status.kind(), StatusKind::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("rank count is 0"));
}

TEST(ExpertSplit, IdsThatAreNoExpertHereHaveNoLocalId) {
  const LocalExperts local{3, 2};
  EXPECT_EQ(local.local_id(2), -1);
  EXPECT_EQ(local.local_id(3), 0);
  EXPECT_EQ(local.local_id(4), 1);
  EXPECT_EQ(local.local_id(5), -1);
  EXPECT_EQ(local.local_id(-1), -1);
  EXPECT_EQ(local.local_id(std::numeric_limits<std::int32_t>::min()), -1);
  EXPECT_EQ(local.local_id(std::numeric_limits<std::int32_t>::max()), -1);
  EXPECT_EQ((LocalExperts{0, 2}.local_id(-1)), -1);
}

}  // namespace
}  // namespace crossdock::routing
