// SPDX-License-Identifier: Apache-2.0
// Every protocol under delivery orders as bad as its contract allows: no source is proven before
// its rows are there, no row is overwritten before it was given up, and every round is proven.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "protocol/barrier.h"
#include "protocol/protocol.h"
#include "protocol/testing/mutants.h"
#include "protocol/testing/order_explorer.h"

namespace crossdock::protocol::testing {
namespace {

constexpr std::uint64_t kSeed = 20'240'611;
constexpr std::uint64_t kStateCountMax = 2'000'000;

ProtocolMaker maker_of(std::string_view name) {
  return [name = std::string(name)](const Team& team) { return make_protocol(name, team).value(); };
}

template <typename T>
ProtocolMaker maker_of() {
  return [](const Team& team) { return std::make_unique<T>(team); };
}

/// Runs with the seeds kSeed, kSeed + 1, ... and stops at the first failure, which names its seed.
Verdict explore_seeds(const ProtocolMaker& make, const Scenario& scenario, int run_count) {
  Verdict sum;
  for (int run = 0; run < run_count && sum.failure.empty(); ++run) {
    const std::uint64_t seed = kSeed + static_cast<std::uint64_t>(run);
    std::mt19937_64 random(seed);
    const Verdict verdict = explore_random(make, scenario, random);
    sum.reached.add(verdict.reached);
    if (!verdict.failure.empty()) {
      sum.failure = fmt::format("seed {}, {} ranks, {} queues: {}", seed, scenario.rank_count,
                                scenario.lane_count, verdict.failure);
    }
  }
  return sum;
}

class ProtocolSuite : public ::testing::TestWithParam<std::tuple<std::string_view, int, int>> {
 public:
  static void SetUpTestSuite() { fmt::print("seeds from {}\n", kSeed); }

 protected:
  [[nodiscard]] static ProtocolMaker maker() { return maker_of(std::get<0>(GetParam())); }
  [[nodiscard]] static Scenario scenario() {
    return {.rank_count = std::get<1>(GetParam()),
            .lane_count = std::get<2>(GetParam()),
            .round_count = 5,
            .unit_count = 2};
  }
};

/// How many runs are worth about `queue_run_count` runs of one queue: large teams cost more.
int run_count_of(const Scenario& scenario, int queue_run_count) {
  return std::max(
      3, queue_run_count / (scenario.rank_count * scenario.rank_count * scenario.lane_count));
}

TEST_P(ProtocolSuite, ClaimsHoldInDrawnOrders) {
  const Verdict verdict = explore_seeds(maker(), scenario(), run_count_of(scenario(), 2500));
  EXPECT_EQ(verdict.failure, "");
}

TEST_P(ProtocolSuite, ClaimsHoldNextTo32BitsAndUpToTheLastEpoch) {
  Scenario near_wrap = scenario();
  near_wrap.unit_count = 1;
  for (const std::uint64_t epoch : {(std::uint64_t{1} << 32) - 2, ~std::uint64_t{0} - 4}) {
    near_wrap.first_epoch = epoch;
    const Verdict verdict = explore_seeds(maker(), near_wrap, run_count_of(near_wrap, 100));
    EXPECT_EQ(verdict.failure, "") << "first epoch " << epoch;
  }
}

INSTANTIATE_TEST_SUITE_P(All, ProtocolSuite,
                         ::testing::Combine(::testing::ValuesIn(protocol_names().begin(),
                                                                protocol_names().end()),
                                            ::testing::Values(1, 2, 3, 4, 5, 6, 7, 8, 9, 16),
                                            ::testing::Values(1, 2, 3)),
                         [](const auto& suite) {
                           return fmt::format("{}_{}ranks_{}queues", std::get<0>(suite.param),
                                              std::get<1>(suite.param), std::get<2>(suite.param));
                         });

TEST(ProtocolSuiteSweep, ReachesTheOrdersThatItClaimsToCover) {
  for (const std::string_view name : protocol_names()) {
    const Scenario scenario{.rank_count = 3, .lane_count = 2, .round_count = 5, .unit_count = 2};
    const Reached reached = explore_seeds(maker_of(name), scenario, 100).reached;
    EXPECT_GT(reached.overtaken_count, 0U) << name;
    EXPECT_GT(reached.stale_count, 0U) << name;
    EXPECT_GT(reached.early_count, 0U) << name;
    // A barrier has nothing to read before it signals.
    EXPECT_EQ(reached.while_posting_count > 0, name != "barrier") << name;
  }
}

TEST(ProtocolSuiteExhaustive, ClaimsHoldInEveryOrderOfThreeRounds) {
  const std::vector<Scenario> scenarios = {
      {.rank_count = 2, .lane_count = 1, .unit_count = 1},
      {.rank_count = 2, .lane_count = 1, .unit_count = 2},
      {.rank_count = 2, .lane_count = 2, .unit_count = 1},
  };
  for (const std::string_view name : protocol_names()) {
    for (const Scenario& scenario : scenarios) {
      const Verdict verdict = explore_all(maker_of(name), scenario, kStateCountMax);
      EXPECT_EQ(verdict.failure, "") << name;
      EXPECT_GT(verdict.reached.stale_count, 0U) << name;
      EXPECT_GT(verdict.reached.early_count, 0U) << name;
      fmt::print("{}: {} ranks, {} queues, {} units: {} states\n", name, scenario.rank_count,
                 scenario.lane_count, scenario.unit_count, verdict.reached.state_count);
    }
  }
}

TEST(ProtocolSuiteExhaustive, ClaimsHoldInEveryOrderOfThreeRanks) {
  for (const std::string_view name : protocol_names()) {
    const Scenario scenario{.rank_count = 3, .round_count = name == "barrier" ? 3 : 1};
    const Verdict verdict = explore_all(maker_of(name), scenario, kStateCountMax);
    EXPECT_EQ(verdict.failure, "") << name;
    fmt::print("{}: 3 ranks, {} rounds: {} states\n", name, scenario.round_count,
               verdict.reached.state_count);
  }
}

TEST(BarrierCounters, WrapRoundTheirLastValue) {
  for (const std::uint64_t start : {~std::uint64_t{0} - 2, (std::uint64_t{1} << 63) - 2}) {
    const ProtocolMaker make = [start](const Team& team) {
      return std::make_unique<Barrier>(team, start);
    };
    const Scenario scenario{
        .rank_count = 5, .lane_count = 2, .round_count = 6, .word_start = start};
    EXPECT_EQ(explore_seeds(make, scenario, 50).failure, "") << start;
  }
}

/// Each mutant fails both in drawn orders and in the search of all of them, for a stated reason.
void expect_caught(const ProtocolMaker& make, const Scenario& scenario, std::string_view reason) {
  const Verdict drawn = explore_seeds(make, scenario, 2000);
  EXPECT_NE(drawn.failure.find(reason), std::string::npos) << "drawn: " << drawn.failure;
  const Verdict all = explore_all(make, scenario, kStateCountMax);
  EXPECT_NE(all.failure.find(reason), std::string::npos) << "all: " << all.failure;
}

TEST(ProtocolMutants, RelaxedTailMutantIsCaught) {
  expect_caught(maker_of<RelaxedTail>(), {}, "when it was proven");
}

TEST(ProtocolMutants, OneTailForAllQueuesMutantIsCaught) {
  expect_caught(maker_of<OneTailForAllQueues>(), {.lane_count = 2}, "when it was proven");
}

TEST(ProtocolMutants, NoTailOnEmptyQueuesMutantIsCaught) {
  expect_caught(maker_of<NoTailOnEmptyQueues>(), {.lane_count = 2}, "nothing can happen");
}

TEST(ProtocolMutants, ConstantTailMutantIsCaught) {
  expect_caught(maker_of<ConstantTail>(), {.lane_count = 2}, "when it was proven");
}

TEST(ProtocolMutants, SingleHalfMutantIsCaught) {
  expect_caught(maker_of<SingleHalf>(), {}, "rejected");
}

TEST(ProtocolMutants, EventApartFromItsPutMutantIsCaught) {
  expect_caught(maker_of<EventApartFromItsPut>(), {}, "when it was proven");
}

TEST(ProtocolMutants, OnePutTooFewMutantIsCaught) {
  // The last event then goes beyond the number, if it does not come too late for that.
  expect_caught(maker_of<OnePutTooFew>(), {.unit_count = 2}, "rejected");
}

TEST(ProtocolMutants, NumberWithoutEpochMutantIsCaught) {
  // More puts are awaited than were made.
  expect_caught(maker_of<NumberWithoutEpoch>(), {.unit_count = 2}, "nothing can happen");
}

TEST(ProtocolMutants, OneCounterForBothHalvesMutantIsCaught) {
  expect_caught(maker_of<OneCounterForBothHalves>(), {.unit_count = 2}, "when it was proven");
}

TEST(ProtocolMutants, NoNumberWithoutPutsMutantIsCaught) {
  expect_caught(maker_of<NoNumberWithoutPuts>(), {}, "nothing can happen");
}

TEST(ProtocolMutants, BarrierWithoutFlushMutantIsCaught) {
  expect_caught(maker_of<BarrierWithoutFlush>(), {}, "when the round was proven");
}

TEST(ProtocolMutants, FlushBehindSignalMutantIsCaught) {
  expect_caught(maker_of<FlushBehindSignal>(), {}, "when the round was proven");
}

TEST(ProtocolMutants, LastStepDoesNotWaitMutantIsCaught) {
  expect_caught(maker_of<LastStepDoesNotWait>(), {.rank_count = 3, .round_count = 1},
                "when the round was proven");
}

TEST(ProtocolMutants, OneSignalMissingMutantIsCaught) {
  expect_caught(maker_of<OneSignalMissing>(), {.rank_count = 3, .round_count = 1},
                "nothing can happen");
}

}  // namespace
}  // namespace crossdock::protocol::testing
