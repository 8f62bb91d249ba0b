// SPDX-License-Identifier: Apache-2.0
#include "report/rounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "report/testing/sample_report.h"
#include "trace/recorder.h"
#include "trace/stages.h"

namespace crossdock::report {
namespace {

using ::testing::ElementsAre;
using testing::sample_traces;

// One rank whose round n takes lengths[n] ns.
std::vector<trace::RankTrace> rounds_of(const std::vector<std::int64_t>& lengths) {
  trace::RankTrace trace;
  trace.rank_count = 1;
  for (std::size_t round = 0; round < lengths.size(); ++round) {
    trace.spans.push_back({.stage = trace::kPost.id,
                           .operation = trace::Operation::kDispatch,
                           .round = round,
                           .begin_ns = 0,
                           .end_ns = lengths[round]});
  }
  return {trace};
}

std::vector<std::uint64_t> numbers(const std::vector<RoundTimes>& rounds) {
  std::vector<std::uint64_t> found;
  for (const RoundTimes& round : rounds) {
    found.push_back(round.round);
  }
  return found;
}

TEST(Rounds, SlowestMedianAndFastestAreLabelled) {
  const auto rounds = measure_rounds(rounds_of({30, 10, 50, 20, 40}));
  ASSERT_EQ(rounds.size(), 5U);
  EXPECT_EQ(rounds[0].label, "median");
  EXPECT_EQ(rounds[1].label, "fastest");
  EXPECT_EQ(rounds[2].label, "slowest");
  EXPECT_EQ(rounds[3].label, "");
}

TEST(Rounds, TheLabelledOnesAndTheLastAreChosen) {
  const auto rounds = measure_rounds(rounds_of({30, 10, 50, 20, 40, 31, 32}));
  EXPECT_THAT(numbers(choose_rounds(rounds, 5)), ElementsAre(1, 2, 4, 5, 6));
  EXPECT_THAT(numbers(choose_rounds(rounds, 100)), ElementsAre(0, 1, 2, 3, 4, 5, 6));
}

TEST(Rounds, ARoundThatARankLacksIsLeftOut) {
  auto traces = sample_traces(3, 4);
  std::erase_if(traces[1].spans, [](const trace::SpanRecord& span) { return span.round == 2; });
  EXPECT_THAT(numbers(measure_rounds(traces)), ElementsAre(1, 3, 4));
}

TEST(Rounds, ComputeBelongsToTheRoundButToNoOperation) {
  const auto rounds = measure_rounds(sample_traces(4, 1));
  ASSERT_EQ(rounds.size(), 1U);
  const auto& operations = rounds[0].operations;
  EXPECT_FALSE(operations[static_cast<std::size_t>(trace::Operation::kNone)].has_value());
  EXPECT_LT(rounds[0].operations_ns(), rounds[0].end_ns - rounds[0].begin_ns);
}

}  // namespace
}  // namespace crossdock::report
