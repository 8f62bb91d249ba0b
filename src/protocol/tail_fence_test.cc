// SPDX-License-Identifier: Apache-2.0
#include "protocol/tail_fence.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "crossdock/types.h"
#include "fabric/fabric.h"
#include "protocol/protocol.h"

namespace crossdock::protocol {
namespace {

constexpr RankId kSelf{0};
constexpr RankId kPeer{1};

std::vector<Action> list(const Actions& actions) { return {actions.begin(), actions.end()}; }

Actions open(Protocol& protocol, std::uint64_t epoch) {
  return protocol.step({.kind = EventKind::kRoundOpened, .epoch = epoch});
}

Actions post(Protocol& protocol, RankId peer) {
  return protocol.step({.kind = EventKind::kPayloadPosted, .peer = peer});
}

Actions post_all(Protocol& protocol) { return protocol.step({.kind = EventKind::kAllPosted}); }

Actions observe(Protocol& protocol, RankId peer, int word, std::uint64_t value) {
  return protocol.step(
      {.kind = EventKind::kWordObserved, .peer = peer, .word = word, .value = value});
}

/// Rounds `first` to `last` of a team of two with one queue, all proven.
void prove_rounds(TailFence& protocol, std::uint64_t first, std::uint64_t last) {
  for (std::uint64_t epoch = first; epoch <= last; ++epoch) {
    open(protocol, epoch);
    post(protocol, kPeer);
    post_all(protocol);
    observe(protocol, kPeer, static_cast<int>(epoch & 1), epoch);
    ASSERT_TRUE(protocol.is_round_proven());
  }
}

TEST(TailFence, EveryQueueOfThePeerGetsAStrongTailWithTheEpoch) {
  TailFence protocol({kSelf, 2, 3});
  open(protocol, 7);
  const std::vector<Action> tails = list(post(protocol, kPeer));
  ASSERT_EQ(tails.size(), 3U);
  for (int lane = 0; lane < 3; ++lane) {
    const Action& tail = tails[static_cast<std::size_t>(lane)];
    EXPECT_EQ(tail.kind, ActionKind::kPostValue);
    EXPECT_EQ(tail.peer, kPeer);
    EXPECT_EQ(tail.lane, lane);
    EXPECT_EQ(tail.word, 3 + lane);  // odd epochs use the upper half
    EXPECT_EQ(tail.value, 7U);
    EXPECT_EQ(tail.order, fabric::Order::kStrong);
  }
}

TEST(TailFence, SourceIsProvenByTheLastOfItsTails) {
  TailFence protocol({kSelf, 2, 2});
  open(protocol, 2);
  EXPECT_TRUE(observe(protocol, kPeer, 1, 2).empty());
  EXPECT_FALSE(protocol.is_proven(kPeer));
  EXPECT_TRUE(protocol.awaits(kPeer, 0));
  EXPECT_FALSE(protocol.awaits(kPeer, 1));
  const std::vector<Action> actions = list(observe(protocol, kPeer, 0, 2));
  ASSERT_EQ(actions.size(), 1U);
  EXPECT_EQ(actions[0].kind, ActionKind::kSourceProven);
  EXPECT_EQ(actions[0].peer, kPeer);
  EXPECT_TRUE(protocol.is_proven(kPeer));
}

TEST(TailFence, RoundIsNotProvenBeforeAllWasPosted) {
  TailFence protocol({kSelf, 2, 1});
  open(protocol, 1);
  observe(protocol, kPeer, 1, 1);
  EXPECT_FALSE(protocol.is_round_proven());
  EXPECT_FALSE(protocol.is_proven(kSelf));
  post(protocol, kPeer);
  const std::vector<Action> actions = list(post_all(protocol));
  ASSERT_EQ(actions.size(), 2U);
  EXPECT_EQ(actions[0].kind, ActionKind::kSourceProven);
  EXPECT_EQ(actions[0].peer, kSelf);
  EXPECT_EQ(actions[1].kind, ActionKind::kRoundProven);
  EXPECT_TRUE(protocol.is_round_proven());
}

TEST(TailFence, SelfNeedsNoTail) {
  TailFence protocol({kSelf, 2, 1});
  open(protocol, 1);
  EXPECT_TRUE(post(protocol, kSelf).empty());
  for (int word = 0; word < protocol.word_count(); ++word) {
    EXPECT_FALSE(protocol.awaits(kSelf, word));
  }
}

TEST(TailFence, RankAloneProvesItsRoundByPosting) {
  TailFence protocol({kSelf, 1, 4});
  for (std::uint64_t epoch = 1; epoch < 4; ++epoch) {
    open(protocol, epoch);
    EXPECT_EQ(post_all(protocol).size(), 2U);
    EXPECT_TRUE(protocol.is_round_proven());
  }
}

TEST(TailFence, OnlyTheHalfOfTheOpenEpochIsAwaited) {
  TailFence protocol({kSelf, 2, 16});
  open(protocol, 1);
  for (int word = 0; word < 32; ++word) {
    EXPECT_EQ(protocol.awaits(kPeer, word), word >= 16) << word;
  }
}

TEST(TailFence, TailOfTwoRoundsAgoIsIgnored) {
  TailFence protocol({kSelf, 2, 1});
  prove_rounds(protocol, 1, 4);
  open(protocol, 5);
  EXPECT_TRUE(observe(protocol, kPeer, 1, 3).empty());
  EXPECT_TRUE(observe(protocol, kPeer, 1, 0).empty());
  EXPECT_TRUE(protocol.awaits(kPeer, 1));
  EXPECT_EQ(protocol.expected_value(kPeer, 1), 5U);
}

TEST(TailFence, ValuesOfNoOpenRoundAreRejected) {
  TailFence protocol({kSelf, 2, 1});
  prove_rounds(protocol, 1, 4);
  open(protocol, 5);
  for (const std::uint64_t value : {std::uint64_t{1}, std::uint64_t{4}, std::uint64_t{6},
                                    std::uint64_t{7}, std::uint64_t{5} << 32, ~std::uint64_t{0}}) {
    const std::vector<Action> actions = list(observe(protocol, kPeer, 1, value));
    ASSERT_EQ(actions.size(), 1U) << value;
    EXPECT_EQ(actions[0].kind, ActionKind::kRejected);
    EXPECT_EQ(actions[0].peer, kPeer);
    EXPECT_EQ(actions[0].word, 1);
    EXPECT_EQ(actions[0].value, value);
  }
  EXPECT_FALSE(protocol.is_proven(kPeer));
}

TEST(TailFence, NoRoundLiesBeforeTheFirst) {
  TailFence protocol({kSelf, 2, 1});
  prove_rounds(protocol, 100, 100);
  open(protocol, 101);
  EXPECT_EQ(observe(protocol, kPeer, 1, 99).size(), 1U);  // rejected: 99 was never a round
  EXPECT_TRUE(observe(protocol, kPeer, 1, 0).empty());
}

TEST(TailFenceDeathTest, BrokenCallOrderIsACheckThatPrintsTheValues) {
  TailFence protocol({kSelf, 3, 1});
  EXPECT_DEATH(open(protocol, 0), "epoch 0");
  open(protocol, 4);
  EXPECT_DEATH(open(protocol, 5), "epoch 5 opened while 3 sources of 4 are unproven");
  post(protocol, kPeer);
  EXPECT_DEATH(post(protocol, kPeer), "round 4 to rank 1 posted twice");
  EXPECT_DEATH(post_all(protocol), "1 peers were not announced");
  EXPECT_DEATH(observe(protocol, kPeer, 1, 4), "not awaited");
  EXPECT_DEATH(observe(protocol, RankId{3}, 0, 4), "word 0 of rank 3");
}

}  // namespace
}  // namespace crossdock::protocol
