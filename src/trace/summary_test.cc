// SPDX-License-Identifier: Apache-2.0
#include "trace/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "crossdock/status.h"
#include "trace/format.h"
#include "trace/recorder.h"
#include "trace/stages.h"
#include "trace/testing/sample_trace.h"

namespace crossdock::trace {
namespace {

using std::chrono::nanoseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::sample_trace;

SpanRecord span(const Stage& stage, Operation operation, std::uint64_t round, std::int64_t begin_ns,
                std::int64_t end_ns) {
  return {.stage = stage.id,
          .operation = operation,
          .round = round,
          .begin_ns = begin_ns,
          .end_ns = end_ns};
}

RankTrace trace_of(int rank, std::vector<SpanRecord> spans) {
  RankTrace trace;
  trace.rank = rank;
  trace.rank_count = 2;
  trace.clock_domain = 1;
  trace.spans = std::move(spans);
  return trace;
}

TEST(Summary, AddsUpStagesAndPlanes) {
  const RankTrace trace = trace_of(
      0, {span(kPost, Operation::kDispatch, 1, 0, 10), span(kPost, Operation::kDispatch, 2, 20, 50),
          span(kPack, Operation::kDispatch, 2, 50, 55),
          span(kArrive, Operation::kDispatch, 2, 55, 60)});
  const RankSummary summary = summarise(trace);
  EXPECT_EQ(summary.stage(kPost).sum_ns, 40);
  EXPECT_EQ(summary.stage(kPost).max_ns, 30);
  EXPECT_EQ(summary.stage(kPost).count, 2U);
  EXPECT_EQ(summary.plane(Plane::kData).sum_ns, 45);
  EXPECT_EQ(summary.plane(Plane::kData).count, 3U);
  EXPECT_EQ(summary.plane(Plane::kSync).sum_ns, 5);
  EXPECT_EQ(summary.plane(Plane::kControl).count, 0U);
}

TEST(Summary, TheCallersComputeIsAStageButInNoPlane) {
  const RankSummary summary =
      summarise(trace_of(0, {span(kCompute, Operation::kNone, 1, 0, 1000)}));
  EXPECT_EQ(summary.stage(kCompute).sum_ns, 1000);
  EXPECT_EQ(summary.plane(Plane::kData).sum_ns, 0);
}

TEST(Summary, StagesOfAnotherVersionAreCountedNotLostSilently) {
  RankTrace trace = trace_of(0, {span(kPost, Operation::kDispatch, 1, 0, 10)});
  trace.spans.front().stage = 999;
  trace.dropped_span_count = 4;
  const RankSummary summary = summarise(trace);
  EXPECT_EQ(summary.unknown_span_count, 1U);
  EXPECT_EQ(summary.dropped_span_count, 4U);
  EXPECT_EQ(summary.plane(Plane::kData).count, 0U);
}

TEST(Summary, FilterKeepsOneOperationOfOneRound) {
  const RankTrace trace = trace_of(
      0, {span(kPost, Operation::kDispatch, 1, 0, 1), span(kPost, Operation::kCombine, 1, 1, 3),
          span(kPost, Operation::kDispatch, 2, 3, 7)});
  EXPECT_EQ(summarise(trace, {.operation = Operation::kCombine, .round = {}}).stage(kPost).sum_ns,
            2);
  EXPECT_EQ(summarise(trace, {.operation = {}, .round = 1}).stage(kPost).sum_ns, 3);
  EXPECT_EQ(summarise(trace, {.operation = Operation::kDispatch, .round = 2}).stage(kPost).sum_ns,
            4);
}

TEST(Summary, ListsWhatMovedWithoutZeros) {
  const RankSummary summary = summarise(sample_trace(0, 4, 0));
  ASSERT_EQ(summary.moved.size(), 1U);
  EXPECT_EQ(summary.moved[0].stage, kPost.id);
  EXPECT_EQ(summary.moved[0].peer, 1);
  EXPECT_EQ(summary.moved[0].counter.bytes, 4096U);
  EXPECT_EQ(summary.moved[0].counter.messages, 2U);
}

TEST(RoundTime, RunsFromTheFirstStartToTheLastEnd) {
  const std::vector<RankTrace> traces = {
      trace_of(0, {span(kPost, Operation::kDispatch, 1, 100, 200)}),
      trace_of(1, {span(kPost, Operation::kDispatch, 1, 190, 290)})};
  const auto time = measure_round(traces, Operation::kDispatch, 1);
  ASSERT_TRUE(time.ok()) << time.status().to_string();
  EXPECT_EQ(time->duration(), nanoseconds(190));
  EXPECT_EQ(time->first_rank, 0);
  EXPECT_EQ(time->last_rank, 1);
  EXPECT_EQ(time->longest_own, nanoseconds(100));
}

TEST(RoundTime, ComputeIsOutsideTheRound) {
  const std::vector<RankTrace> traces = {
      trace_of(0, {span(kPost, Operation::kDispatch, 1, 100, 200),
                   span(kCompute, Operation::kDispatch, 1, 200, 900)})};
  EXPECT_EQ(measure_round(traces, Operation::kDispatch, 1)->duration(), nanoseconds(100));
}

TEST(RoundTime, RefusesRanksOfDifferentClocks) {
  std::vector<RankTrace> traces = {sample_trace(0, 2, 0), sample_trace(1, 2, 10)};
  traces[1].clock_domain ^= 1;
  const auto time = measure_round(traces, Operation::kDispatch, 1);
  ASSERT_FALSE(time.ok());
  EXPECT_THAT(std::string(time.status().message()),
              HasSubstr("ranks 0 and 1 have different clocks"));
}

TEST(RoundTime, NamesTheRankThatHasNoSpanOfTheRound) {
  std::vector<RankTrace> traces = {sample_trace(0, 2, 0, 1), sample_trace(1, 2, 10, 2)};
  traces[1].dropped_span_count = 1;
  const auto time = measure_round(traces, Operation::kDispatch, 1);
  ASSERT_FALSE(time.ok());
  EXPECT_EQ(time.status().message(), "rank 1 has no span of dispatch round 1 (it dropped spans)");
}

TEST(RoundTime, CompleteRoundsAreThoseOfEveryRank) {
  const std::vector<RankTrace> traces = {trace_of(0, {span(kPost, Operation::kDispatch, 3, 0, 1),
                                                      span(kPost, Operation::kDispatch, 1, 0, 1),
                                                      span(kPost, Operation::kDispatch, 2, 0, 1)}),
                                         trace_of(1, {span(kPost, Operation::kDispatch, 3, 0, 1),
                                                      span(kPost, Operation::kCombine, 2, 0, 1),
                                                      span(kPost, Operation::kDispatch, 1, 0, 1)})};
  EXPECT_THAT(complete_rounds(traces, Operation::kDispatch), ElementsAre(1, 3));
  EXPECT_THAT(complete_rounds({}, Operation::kDispatch), ElementsAre());
}

TEST(FormatDuration, KeepsThreeDigitsThatCount) {
  EXPECT_EQ(format_duration(nanoseconds(0)), "0 ns");
  EXPECT_EQ(format_duration(nanoseconds(999)), "999 ns");
  EXPECT_EQ(format_duration(nanoseconds(1000)), "1.00 us");
  EXPECT_EQ(format_duration(nanoseconds(12'340)), "12.3 us");
  EXPECT_EQ(format_duration(nanoseconds(123'400)), "123 us");
  EXPECT_EQ(format_duration(nanoseconds(999'600)), "1.00 ms");
  EXPECT_EQ(format_duration(nanoseconds(1'200'000'000)), "1.20 s");
  EXPECT_EQ(format_duration(nanoseconds(5'000'000'000'000)), "5000 s");
  EXPECT_EQ(format_duration(nanoseconds(-1500)), "-1.50 us");
}

}  // namespace
}  // namespace crossdock::trace
