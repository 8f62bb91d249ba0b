// SPDX-License-Identifier: Apache-2.0
#include "trace/recorder.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <limits>

#include "base/clock.h"
#include "trace/clock_domain.h"
#include "trace/stages.h"

namespace crossdock::trace {
namespace {

using std::chrono::nanoseconds;

TEST(Recorder, OffRecordsNothingAndAllocatesNothing) {
  Recorder recorder(0, 4);
  recorder.moved(kPost, 1, 100, 1);
  recorder.waited(1, nanoseconds(5));
  recorder.add_span(kPost, Operation::kDispatch, 1, Instant{1}, Instant{2});
  {
    const Span span(recorder, kPack, Operation::kDispatch, 1);
  }
  const RankTrace& trace = recorder.trace();
  EXPECT_FALSE(recorder.enabled());
  EXPECT_EQ(trace.spans.capacity(), 0U);
  EXPECT_EQ(trace.moved.capacity(), 0U);
  EXPECT_EQ(trace.waited.capacity(), 0U);
  EXPECT_EQ(trace.dropped_span_count, 0U);
  EXPECT_EQ(trace.moved_at(kPost.id, 1).bytes, 0U);
  EXPECT_EQ(trace.waited_for(1).count, 0U);
}

TEST(Recorder, SpanTimesItsBlock) {
  Recorder recorder(2, 4);
  recorder.enable(4);
  const Instant before = monotonic_clock().now();
  {
    const Span span(recorder, kPack, Operation::kCombine, 7);
  }
  const Instant after = monotonic_clock().now();
  ASSERT_EQ(recorder.trace().spans.size(), 1U);
  const SpanRecord& span = recorder.trace().spans.front();
  EXPECT_EQ(span.stage, kPack.id);
  EXPECT_EQ(span.operation, Operation::kCombine);
  EXPECT_EQ(span.round, 7U);
  EXPECT_LE(before.ns, span.begin_ns);
  EXPECT_LE(span.begin_ns, span.end_ns);
  EXPECT_LE(span.end_ns, after.ns);
}

TEST(Recorder, SpansBeyondTheRoomAreCountedNotLostSilently) {
  Recorder recorder(0, 1);
  recorder.enable(2);
  const auto room = recorder.trace().spans.capacity();
  for (int at = 0; at < 5; ++at) {
    recorder.add_span(kPost, Operation::kDispatch, 1, Instant{at}, Instant{at + 1});
  }
  EXPECT_EQ(recorder.trace().spans.size(), 2U);
  EXPECT_EQ(recorder.trace().spans.capacity(), room);
  EXPECT_EQ(recorder.trace().dropped_span_count, 3U);
}

TEST(Recorder, CountersAddUpPerStageAndPeer) {
  Recorder recorder(0, 3);
  recorder.enable();
  recorder.moved(kPost, 2, 100, 1);
  recorder.moved(kPost, 2, 50, 2);
  recorder.moved(kReduce, 1, 7, 1);
  EXPECT_EQ(recorder.trace().moved_at(kPost.id, 2).bytes, 150U);
  EXPECT_EQ(recorder.trace().moved_at(kPost.id, 2).messages, 3U);
  EXPECT_EQ(recorder.trace().moved_at(kPost.id, 1).bytes, 0U);
  EXPECT_EQ(recorder.trace().moved_at(kReduce.id, 1).bytes, 7U);
}

TEST(Recorder, WaitsKeepSumMaximumAndCount) {
  Recorder recorder(0, 2);
  recorder.enable();
  recorder.waited(1, nanoseconds(30));
  recorder.waited(1, nanoseconds(10));
  recorder.waited(1, nanoseconds(-5));
  const PeerWait wait = recorder.trace().waited_for(1);
  EXPECT_EQ(wait.sum_ns, 40);
  EXPECT_EQ(wait.max_ns, 30);
  EXPECT_EQ(wait.count, 3U);
}

TEST(Recorder, WaitSumStopsAtTheLargestNumber) {
  Recorder recorder(0, 2);
  recorder.enable();
  recorder.waited(1, nanoseconds::max());
  recorder.waited(1, nanoseconds(1));
  EXPECT_EQ(recorder.trace().waited_for(1).sum_ns, std::numeric_limits<std::int64_t>::max());
}

TEST(Recorder, ClearForgetsButStaysOn) {
  Recorder recorder(0, 2);
  recorder.enable(1);
  recorder.add_span(kPost, Operation::kDispatch, 1, Instant{0}, Instant{1});
  recorder.add_span(kPost, Operation::kDispatch, 1, Instant{1}, Instant{2});
  recorder.moved(kPost, 1, 1, 1);
  recorder.waited(1, nanoseconds(1));
  recorder.clear();
  EXPECT_TRUE(recorder.enabled());
  EXPECT_TRUE(recorder.trace().spans.empty());
  EXPECT_EQ(recorder.trace().dropped_span_count, 0U);
  EXPECT_EQ(recorder.trace().moved_at(kPost.id, 1).bytes, 0U);
  EXPECT_EQ(recorder.trace().waited_for(1).count, 0U);
}

TEST(Recorder, EnablingAgainKeepsWhatWasRecorded) {
  Recorder recorder(0, 2);
  recorder.enable(4);
  recorder.add_span(kPost, Operation::kDispatch, 1, Instant{0}, Instant{1});
  recorder.moved(kPost, 1, 8, 1);
  recorder.disable();
  recorder.add_span(kPost, Operation::kDispatch, 1, Instant{1}, Instant{2});
  recorder.enable(1);
  EXPECT_EQ(recorder.trace().spans.size(), 1U);
  EXPECT_EQ(recorder.trace().moved_at(kPost.id, 1).bytes, 8U);
}

TEST(RecorderDeathTest, AnUnknownPeerAndABackwardSpanAreProgrammerErrors) {
  Recorder recorder(0, 2);
  recorder.enable(4);
  EXPECT_DEATH(recorder.waited(2, nanoseconds(1)), "peer 2 of 2");
  EXPECT_DEATH(recorder.moved(kPost, -1, 1, 1), "peer -1 of 2");
  EXPECT_DEATH(recorder.add_span(kPost, Operation::kNone, 0, Instant{2}, Instant{1}),
               "stage post begins at 2 and ends at 1");
}

TEST(ClockDomain, IsTheSameForEveryRecorderOfAHostAndNeverZero) {
  EXPECT_NE(host_clock_domain(), 0U);
  EXPECT_EQ(Recorder(0, 2).trace().clock_domain, host_clock_domain());
  EXPECT_EQ(Recorder(1, 2).trace().clock_domain, host_clock_domain());
}

}  // namespace
}  // namespace crossdock::trace
