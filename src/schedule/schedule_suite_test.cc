// SPDX-License-Identifier: Apache-2.0
// Every registered schedule has every property over its domain, and the checker sees when not.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "crossdock/status.h"
#include "schedule/schedule.h"
#include "schedule/testing/schedule_checker.h"

namespace crossdock::schedule::testing {
namespace {

using ::testing::HasSubstr;

class ScheduleSuite : public ::testing::TestWithParam<std::string_view> {};

TEST_P(ScheduleSuite, EveryPropertyHoldsForEveryRankCount) {
  const auto check = [](int rank_count) {
    const auto schedule = make_schedule(GetParam(), rank_count).value();
    EXPECT_EQ(schedule->name(), GetParam());
    EXPECT_EQ(schedule->rank_count(), rank_count);
    EXPECT_EQ(check_schedule(*schedule), "") << rank_count << " ranks";
  };
  for (int rank_count = 1; rank_count <= 139; ++rank_count) {
    check(rank_count);
  }
  check(256);
  check(1000);
}

TEST_P(ScheduleSuite, RankAloneHasNoSteps) {
  EXPECT_EQ(make_schedule(GetParam(), 1).value()->step_count(), 0);
}

TEST_P(ScheduleSuite, FewerThanOneRankIsRefusedWithTheValue) {
  for (const int rank_count : {0, -1, -2'147'483'647}) {
    const Status status = make_schedule(GetParam(), rank_count).status();
    EXPECT_EQ(status.kind(), StatusKind::kInvalidArgument);
    EXPECT_EQ(status.message(),
              fmt::format("schedule '{}' cannot serve {} ranks; allowed: 1 or more", GetParam(),
                          rank_count));
  }
}

TEST_P(ScheduleSuite, LargestRankCountDoesNotOverflow) {
  constexpr int kLargest = 2'147'483'647;
  const auto schedule = make_schedule(GetParam(), kLargest).value();
  const int step = schedule->step_count() - 1;
  const int lane = schedule->lane_count(step) - 1;
  for (const int rank : {0, 1, kLargest / 2, kLargest - 1}) {
    const int target = schedule->target(rank, step, lane);
    EXPECT_EQ(target, rank == 0 ? kLargest - 1 : rank - 1);
    EXPECT_EQ(schedule->source(target, step, lane), rank);
  }
}

TEST_P(ScheduleSuite, PlacesOutsideTheTableAreChecks) {
  const auto schedule = make_schedule(GetParam(), 4).value();
  EXPECT_DEATH(static_cast<void>(schedule->target(4, 0, 0)), "rank 4 of 4");
  EXPECT_DEATH(static_cast<void>(schedule->target(0, schedule->step_count(), 0)), "step . of");
  EXPECT_DEATH(static_cast<void>(schedule->source(0, 0, schedule->lane_count(0))), "lane . of");
}

INSTANTIATE_TEST_SUITE_P(All, ScheduleSuite,
                         ::testing::ValuesIn(schedule_names().begin(), schedule_names().end()),
                         [](const auto& suite) { return std::string(suite.param); });

TEST(Schedule, UnknownNameIsRefusedWithTheKnownOnes) {
  EXPECT_THAT(schedule_names(), ::testing::ElementsAre("direct", "rotation"));
  EXPECT_EQ(make_schedule("xor", 8).status().message(),
            "unknown schedule 'xor'; allowed: direct, rotation");
}

TEST(Schedule, DirectServesAllPeersInOneStepStartingBehindItself) {
  const auto schedule = make_schedule("direct", 4).value();
  EXPECT_EQ(schedule->step_count(), 1);
  EXPECT_EQ(schedule->lane_count(0), 3);
  EXPECT_EQ(schedule->target(2, 0, 0), 3);
  EXPECT_EQ(schedule->target(2, 0, 1), 0);
  EXPECT_EQ(schedule->source(2, 0, 1), 0);
}

TEST(Schedule, RotationServesOnePeerAStep) {
  const auto schedule = make_schedule("rotation", 4).value();
  EXPECT_EQ(schedule->step_count(), 3);
  EXPECT_EQ(schedule->lane_count(2), 1);
  EXPECT_EQ(schedule->target(2, 2, 0), 1);
  EXPECT_EQ(schedule->source(2, 2, 0), 3);
}

/// rotation with one thing wrong.
class WrongSchedule : public Schedule {
 public:
  [[nodiscard]] std::string_view name() const override { return "wrong"; }
  [[nodiscard]] int rank_count() const override { return 5; }
  [[nodiscard]] int step_count() const override { return 4; }
  [[nodiscard]] int lane_count(int /*step*/) const override { return 1; }
  [[nodiscard]] int target(int rank, int step, int lane) const override {
    return rotation_->target(rank, step, lane);
  }
  [[nodiscard]] int source(int rank, int step, int lane) const override {
    return rotation_->source(rank, step, lane);
  }

 protected:
  std::unique_ptr<Schedule> rotation_ = make_schedule("rotation", 5).value();
};

class RepeatsAStep final : public WrongSchedule {
  [[nodiscard]] int target(int rank, int step, int lane) const override {
    return WrongSchedule::target(rank, step == 3 ? 0 : step, lane);
  }
  [[nodiscard]] int source(int rank, int step, int lane) const override {
    return WrongSchedule::source(rank, step == 3 ? 0 : step, lane);
  }
};

class SourceIsOffByOne final : public WrongSchedule {
  [[nodiscard]] int source(int rank, int step, int lane) const override {
    return WrongSchedule::source(rank, step == 2 ? 1 : step, lane);
  }
};

class LeavesOutAStep final : public WrongSchedule {
  [[nodiscard]] int step_count() const override { return 3; }
};

class SendsToSelf final : public WrongSchedule {
  [[nodiscard]] int target(int rank, int /*step*/, int /*lane*/) const override { return rank; }
  [[nodiscard]] int source(int rank, int /*step*/, int /*lane*/) const override { return rank; }
};

class AllSendToRankZero final : public WrongSchedule {
  [[nodiscard]] int target(int rank, int /*step*/, int /*lane*/) const override {
    return rank == 0 ? -1 : 0;
  }
  [[nodiscard]] int source(int rank, int /*step*/, int /*lane*/) const override {
    return rank == 0 ? 1 : -1;
  }
};

class TargetIsNoRank final : public WrongSchedule {
  [[nodiscard]] int target(int /*rank*/, int /*step*/, int /*lane*/) const override { return 5; }
};

TEST(ScheduleMutants, DuplicatePairMutantIsCaught) {
  EXPECT_THAT(check_schedule(RepeatsAStep()), HasSubstr("pair 0 -> 1 occurs twice"));
}

TEST(ScheduleMutants, BrokenInverseMutantIsCaught) {
  EXPECT_THAT(check_schedule(SourceIsOffByOne()), HasSubstr("not the inverse"));
}

TEST(ScheduleMutants, MissingPairMutantIsCaught) {
  EXPECT_THAT(check_schedule(LeavesOutAStep()), HasSubstr("pair 0 -> 4 never occurs"));
}

TEST(ScheduleMutants, SelfPairMutantIsCaught) {
  EXPECT_THAT(check_schedule(SendsToSelf()), HasSubstr("sends to itself"));
}

TEST(ScheduleMutants, FanInMutantIsCaught) {
  EXPECT_THAT(check_schedule(AllSendToRankZero()), HasSubstr("more than 1 ranks send to 0"));
}

TEST(ScheduleMutants, PeerOutsideTheTeamMutantIsCaught) {
  EXPECT_THAT(check_schedule(TargetIsNoRank()), HasSubstr("is no rank"));
}

}  // namespace
}  // namespace crossdock::schedule::testing
