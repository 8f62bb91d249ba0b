// SPDX-License-Identifier: Apache-2.0
#include "protocol/counted.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "crossdock/types.h"
#include "protocol/protocol.h"

namespace crossdock::protocol {
namespace {

constexpr RankId kSelf{0};
constexpr RankId kPeer{1};

constexpr std::uint64_t number(std::uint64_t epoch, std::uint64_t puts) {
  return epoch << 32 | (puts + 1);
}

Actions open(Counted& protocol, std::uint64_t epoch) {
  return protocol.step({.kind = EventKind::kRoundOpened, .epoch = epoch});
}
Actions post(Counted& protocol, RankId peer, std::uint64_t puts) {
  return protocol.step({.kind = EventKind::kPayloadPosted, .peer = peer, .value = puts});
}
Actions observe(Counted& protocol, int word, std::uint64_t value) {
  return protocol.step(
      {.kind = EventKind::kWordObserved, .peer = kPeer, .word = word, .value = value});
}
void post_all(Counted& protocol) {
  static_cast<void>(post(protocol, kPeer, 0));
  static_cast<void>(protocol.step({.kind = EventKind::kAllPosted}));
}

TEST(Counted, TheNumberIsPostedWithItsEpochAlsoWhenItIsZero) {
  Counted protocol({kSelf, 3, 2});
  EXPECT_TRUE(open(protocol, 5).empty());
  EXPECT_EQ(protocol.notify_word(), 3);
  for (const std::uint64_t puts : {0U, 7U}) {
    const Actions actions = post(protocol, RankId{puts == 0 ? 1 : 2}, puts);
    ASSERT_EQ(actions.size(), 1U);
    EXPECT_EQ(actions.begin()->kind, ActionKind::kPostValue);
    EXPECT_EQ(actions.begin()->word, 1);
    EXPECT_EQ(actions.begin()->value, number(5, puts));
  }
}

TEST(Counted, ASourceIsProvenWhenItsCounterHasGrownByTheNumber) {
  Counted protocol({kSelf, 2, 1});
  static_cast<void>(open(protocol, 1));
  EXPECT_TRUE(protocol.awaits(kPeer, 1));
  EXPECT_FALSE(protocol.awaits(kPeer, 3)) << "a counter says nothing before the number is known";
  EXPECT_TRUE(observe(protocol, 1, 0).empty());
  EXPECT_TRUE(observe(protocol, 1, number(1, 3)).empty());
  EXPECT_TRUE(observe(protocol, 3, 2).empty());
  EXPECT_EQ(protocol.expected_value(kPeer, 3), 3U);
  EXPECT_EQ(observe(protocol, 3, 3).begin()->kind, ActionKind::kSourceProven);
  EXPECT_FALSE(protocol.is_round_proven()) << "nothing was posted yet";
  post_all(protocol);
  EXPECT_TRUE(protocol.is_round_proven());
}

TEST(Counted, CountersGoOnWhereTheHalfsLastRoundEnded) {
  Counted protocol({kSelf, 2, 1});
  for (const std::uint64_t epoch : {1U, 2U, 3U}) {
    static_cast<void>(open(protocol, epoch));
    const int word = static_cast<int>(epoch & 1);
    static_cast<void>(observe(protocol, word, number(epoch, 2)));
    static_cast<void>(observe(protocol, 2 + word, epoch == 3 ? 4 : 2));
    EXPECT_TRUE(protocol.is_proven(kPeer)) << "epoch " << epoch;
    post_all(protocol);
  }
}

TEST(Counted, WhatNoRoundCanHaveWrittenIsRejected) {
  Counted protocol({kSelf, 2, 1});
  static_cast<void>(open(protocol, 9));
  EXPECT_EQ(observe(protocol, 1, number(7, 1)).size(), 1U) << "the first round is 9";
  EXPECT_EQ(observe(protocol, 1, number(10, 1)).size(), 1U);
  EXPECT_TRUE(observe(protocol, 1, number(9, 1)).empty());
  const Actions actions = observe(protocol, 3, 2);
  ASSERT_EQ(actions.size(), 1U);
  EXPECT_EQ(actions.begin()->kind, ActionKind::kRejected) << "two events of one put";
}

TEST(CountedDeathTest, BrokenCallOrderIsACheckThatPrintsTheValues) {
  Counted protocol({kSelf, 2, 1});
  EXPECT_DEATH(open(protocol, 0), "epoch 0");
  static_cast<void>(open(protocol, 4));
  EXPECT_DEATH(open(protocol, 5), "epoch 5 opened while 2 sources of 4 are unproven");
  EXPECT_DEATH(static_cast<void>(protocol.step({.kind = EventKind::kAllPosted})),
               "1 peers were not announced");
  EXPECT_DEATH(post(protocol, kPeer, Counted::kPutCountMax + 1), "4294967295 puts");
  EXPECT_DEATH(observe(protocol, 2, 0), "not awaited");
}

}  // namespace
}  // namespace crossdock::protocol
