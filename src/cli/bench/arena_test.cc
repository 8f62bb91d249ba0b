// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/arena.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "cli/bench/contender.h"
#include "cli/bench/rounds.h"
#include "cli/bench/statistics.h"
#include "crossdock/status.h"

namespace crossdock::bench {
namespace {

const ArenaShape kShape{.ranks = 3, .contenders = 2, .rounds = 4, .window_bytes = 5000};

TEST(Arena, WhatOneMappingWritesTheOtherOneReads) {
  const Arena made = Arena::make(kShape).value();
  const Arena opened = Arena::open(made.path(), kShape).value();
  made.window(2)[4999] = std::byte{7};
  made.sample(1, 3, 2) = {.start_ns = 11, .end_ns = 12};
  made.write_note(R"({"mode":"latency"})");
  EXPECT_EQ(opened.window(2)[4999], std::byte{7});
  EXPECT_EQ(opened.sample(1, 3, 2).end_ns, 12);
  EXPECT_EQ(opened.note(), R"({"mode":"latency"})");
}

TEST(Arena, ANoteThatIsTooLongIsCut) {
  const Arena arena = Arena::make(kShape).value();
  arena.write_note(std::string(10000, 'x'));
  EXPECT_EQ(arena.note().size(), 3071U);
  EXPECT_EQ(arena.sample(0, 0, 0).start_ns, 0);
}

TEST(Arena, AnotherShapeOrAnotherFileIsRefused) {
  const Arena made = Arena::make(kShape).value();
  ArenaShape larger = kShape;
  larger.window_bytes = 1 << 22;
  EXPECT_EQ(Arena::open(made.path(), larger).status().kind(), StatusKind::kIo);
  EXPECT_EQ(Arena::open("/nonexistent/arena", kShape).status().kind(), StatusKind::kIo);
}

TEST(Arena, NobodyPassesABarrierBeforeTheLastOneCame) {
  const Arena arena = Arena::make(kShape).value();
  std::atomic<int> arrived{0};
  std::vector<std::thread> ranks;
  ranks.reserve(static_cast<std::size_t>(kShape.ranks));
  for (int rank = 0; rank < kShape.ranks; ++rank) {
    ranks.emplace_back([&] {
      for (int round = 1; round <= 200; ++round) {
        arrived.fetch_add(1);
        ASSERT_TRUE(arena.barrier(Deadline::never()).ok());
        EXPECT_GE(arrived.load(), round * kShape.ranks);
      }
    });
  }
  for (std::thread& rank : ranks) {
    rank.join();
  }
}

TEST(Arena, AFailedRankLetsTheOthersOut) {
  const Arena arena = Arena::make(kShape).value();
  Status status;
  std::thread waiting([&] { status = arena.barrier(Deadline::never()); });
  arena.fail();
  waiting.join();
  EXPECT_EQ(status.kind(), StatusKind::kPeerRefused);
}

TEST(Arena, ABarrierHasADeadline) {
  const Arena arena = Arena::make(kShape).value();
  const Status status =
      arena.barrier(Deadline::after(monotonic_clock(), std::chrono::milliseconds(1)));
  EXPECT_EQ(status.kind(), StatusKind::kTimeout);
}

TEST(RoundTimes, RunFromTheFirstStartToTheLastEndNotTheLongestRank) {
  const Arena arena = Arena::make(kShape).value();
  for (int round = 0; round < kShape.rounds; ++round) {
    // Three ranks of 10 us one after the other: a round of 30 us, not of 10.
    for (int rank = 0; rank < kShape.ranks; ++rank) {
      arena.sample(1, round, rank) = {.start_ns = 10'000 * rank + 1,
                                      .end_ns = 10'000 * (rank + 1) + 1};
    }
  }
  EXPECT_THAT(round_times_us(arena, 1, {.warmup = 1, .timed = 3}),
              ::testing::ElementsAre(30.0, 30.0, 30.0));
}

/// Sleeps so long; its rows are always right.
class Sleeper final : public Contender {
 public:
  explicit Sleeper(std::chrono::milliseconds duration) : duration_(duration) {}
  Status prepare(std::uint64_t round) override {
    EXPECT_GT(round, last_round_) << "no two rounds are alike";
    last_round_ = round;
    return {};
  }
  Status run() override {
    const Deadline end = Deadline::after(monotonic_clock(), duration_);
    while (!end.expired(monotonic_clock().now())) {
    }
    return {};
  }
  Result<Verdict> verify(std::uint64_t round) override {
    return Verdict{.checked = 1, .wrong = round == 2 ? 1U : 0U};
  }

 private:
  std::chrono::milliseconds duration_;
  std::uint64_t last_round_ = 0;
};

TEST(Rounds, ASlowLimitIsGivenUpAfterTheWarmUpAndASlowLibraryIsNot) {
  const ArenaShape shape{.ranks = 1, .contenders = 3, .rounds = 4, .window_bytes = 1};
  const Arena arena = Arena::make(shape).value();
  std::vector<std::unique_ptr<Contender>> contenders;
  contenders.push_back(std::make_unique<Sleeper>(std::chrono::milliseconds(20)));
  contenders.push_back(std::make_unique<Sleeper>(std::chrono::milliseconds(20)));
  contenders.push_back(std::make_unique<Sleeper>(std::chrono::milliseconds(1)));
  RoundPlan plan;
  plan.counts = {.warmup = 2, .timed = 2};
  plan.marks = {kKept, 0, 0};
  plan.timeout = std::chrono::seconds(60);
  ASSERT_TRUE(run_rounds(arena, 0, contenders, plan).ok());
  EXPECT_NE(arena.sample(0, 3, 0).start_ns, 0);
  EXPECT_EQ(arena.sample(1, 3, 0).start_ns, 0);
  EXPECT_NE(arena.sample(2, 3, 0).start_ns, 0);
  EXPECT_EQ(arena.header().rows_checked.load(), 10U);
  EXPECT_EQ(arena.header().rows_wrong.load(), 1U);
}

/// Counts what a train does.
class Counter final : public Contender {
 public:
  Status prepare(std::uint64_t /*round*/) override {
    ++prepared;
    return {};
  }
  Status run() override {
    ++runs;
    return {};
  }
  void next() override { ++nexts; }
  Result<Verdict> verify(std::uint64_t /*round*/) override { return Verdict{.checked = 3}; }
  int prepared = 0;
  int runs = 0;
  int nexts = 0;
};

TEST(Rounds, ATrainRunsAllRoundsOnOneInputAndIsTimedAsAWhole) {
  const RoundCounts counts{.warmup = 1, .timed = 5};
  const ArenaShape shape{
      .ranks = 1, .contenders = 1, .rounds = arena_rounds(counts), .window_bytes = 1};
  const Arena arena = Arena::make(shape).value();
  Counter counter;
  RoundPlan plan;
  plan.counts = counts;
  plan.timeout = std::chrono::seconds(60);
  ASSERT_TRUE(run_train(arena, 0, counter, plan).ok());
  EXPECT_EQ(counter.prepared, 1);
  EXPECT_EQ(counter.runs, 5);
  EXPECT_EQ(counter.nexts, 4);
  EXPECT_EQ(arena.header().rows_checked.load(), 3U);
  for (int round = 0; round < counts.timed; ++round) {
    arena.sample(0, 6 + round, 0) = {.start_ns = 1, .end_ns = 2000 * (round + 1)};
  }
  EXPECT_THAT(train_times_us(arena, counts), ::testing::ElementsAre(2.0, 2.0, 2.0, 2.0));
  EXPECT_TRUE(round_times_us(arena, 0, counts).empty()) << "a train is no isolated round";
}

TEST(Statistics, AreThoseOfSmallSamples) {
  EXPECT_EQ(median({}), 0);
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 2, 3}), 2.5);
  EXPECT_EQ(quantile({5, 1, 4, 2, 3}, 0.0), 1);
  EXPECT_EQ(quantile({5, 1, 4, 2, 3}, 0.99), 5);
  EXPECT_EQ(quantile({5, 1, 4, 2, 3}, 0.4), 2);
}

}  // namespace
}  // namespace crossdock::bench
