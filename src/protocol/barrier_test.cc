// SPDX-License-Identifier: Apache-2.0
#include "protocol/barrier.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "crossdock/types.h"
#include "fabric/fabric.h"
#include "protocol/protocol.h"

namespace crossdock::protocol {
namespace {

std::vector<Action> list(const Actions& actions) { return {actions.begin(), actions.end()}; }

std::vector<Action> start_round(Barrier& barrier, std::uint64_t epoch) {
  EXPECT_TRUE(barrier.step({.kind = EventKind::kRoundOpened, .epoch = epoch}).empty());
  return list(barrier.step({.kind = EventKind::kAllPosted}));
}

std::vector<Action> observe(Barrier& barrier, int source, std::uint64_t value) {
  return list(barrier.step(
      {.kind = EventKind::kWordObserved, .peer = RankId{source}, .word = 0, .value = value}));
}

TEST(Barrier, FlushesBeforeItsFirstSignal) {
  Barrier barrier({RankId{2}, 5, 3});
  const std::vector<Action> actions = start_round(barrier, 1);
  ASSERT_EQ(actions.size(), 2U);
  EXPECT_EQ(actions[0].kind, ActionKind::kFlushAll);
  EXPECT_EQ(actions[1].kind, ActionKind::kPostSignal);
  EXPECT_EQ(actions[1].peer, RankId{3});
  EXPECT_EQ(actions[1].value, 1U);
  EXPECT_EQ(actions[1].order, fabric::Order::kStrong);
}

TEST(Barrier, StepsDoubleTheDistanceAndTheLastProvesTheRound) {
  Barrier barrier({RankId{2}, 5, 1});
  start_round(barrier, 1);
  EXPECT_TRUE(barrier.awaits(RankId{1}, 0));
  const std::vector<Action> second = observe(barrier, 1, 1);
  ASSERT_EQ(second.size(), 1U);
  EXPECT_EQ(second[0].peer, RankId{4});
  EXPECT_TRUE(barrier.awaits(RankId{0}, 0));
  const std::vector<Action> third = observe(barrier, 0, 1);
  ASSERT_EQ(third.size(), 1U);
  EXPECT_EQ(third[0].peer, RankId{1});
  EXPECT_TRUE(barrier.awaits(RankId{3}, 0));
  EXPECT_FALSE(barrier.is_proven(RankId{1}));
  const std::vector<Action> last = observe(barrier, 3, 1);
  ASSERT_EQ(last.size(), 1U);
  EXPECT_EQ(last[0].kind, ActionKind::kRoundProven);
  for (int rank = 0; rank < 5; ++rank) {
    EXPECT_TRUE(barrier.is_proven(RankId{rank}));
    EXPECT_FALSE(barrier.awaits(RankId{rank}, 0));
  }
}

TEST(Barrier, RankAloneProvesItsRoundByPosting) {
  Barrier barrier({RankId{0}, 1, 1});
  const std::vector<Action> actions = start_round(barrier, 1);
  ASSERT_EQ(actions.size(), 1U);
  EXPECT_EQ(actions[0].kind, ActionKind::kRoundProven);
}

TEST(Barrier, CounterOfTheRoundBeforeIsIgnored) {
  Barrier barrier({RankId{0}, 2, 1});
  start_round(barrier, 1);
  observe(barrier, 1, 1);
  start_round(barrier, 2);
  EXPECT_TRUE(observe(barrier, 1, 1).empty());
  EXPECT_FALSE(barrier.is_round_proven());
  EXPECT_EQ(barrier.expected_value(RankId{1}, 0), 2U);
}

TEST(Barrier, SignalOfAFastPeersNextRoundPasses) {
  Barrier barrier({RankId{0}, 2, 1});
  start_round(barrier, 1);
  EXPECT_EQ(observe(barrier, 1, 2).size(), 1U);
  EXPECT_TRUE(barrier.is_round_proven());
  start_round(barrier, 2);
  observe(barrier, 1, 2);
  EXPECT_TRUE(barrier.is_round_proven());
}

TEST(Barrier, CountersOfNoOpenRoundAreRejected) {
  Barrier barrier({RankId{0}, 2, 1}, 10);
  start_round(barrier, 1);
  for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{9}, std::uint64_t{13},
                                    std::uint64_t{11} << 32, ~std::uint64_t{0}}) {
    const std::vector<Action> actions = observe(barrier, 1, value);
    ASSERT_EQ(actions.size(), 1U) << value;
    EXPECT_EQ(actions[0].kind, ActionKind::kRejected);
    EXPECT_EQ(actions[0].peer, RankId{1});
    EXPECT_EQ(actions[0].value, value);
  }
  EXPECT_FALSE(barrier.is_round_proven());
}

TEST(BarrierDeathTest, BrokenCallOrderIsACheckThatPrintsTheValues) {
  Barrier barrier({RankId{0}, 3, 1});
  EXPECT_DEATH(static_cast<void>(barrier.step({.kind = EventKind::kAllPosted})), "posted twice");
  start_round(barrier, 1);
  EXPECT_DEATH(start_round(barrier, 2), "epoch 2 opened before 1 was proven");
  EXPECT_DEATH(observe(barrier, 1, 1), "word 0 of rank 1 is not awaited");
}

}  // namespace
}  // namespace crossdock::protocol
