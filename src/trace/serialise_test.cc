// SPDX-License-Identifier: Apache-2.0
#include "trace/serialise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "crossdock/status.h"
#include "trace/recorder.h"
#include "trace/stages.h"
#include "trace/testing/sample_trace.h"

namespace crossdock::trace {
namespace {

using ::testing::HasSubstr;
using testing::sample_trace;

constexpr std::size_t kHeaderBytes = 56;

std::string reason(std::span<const std::byte> bytes) {
  const auto trace = parse_rank_trace(bytes);
  return trace.ok() ? std::string("ok") : std::string(trace.status().message());
}

std::string reason_with(std::size_t at, std::uint8_t value) {
  std::vector<std::byte> bytes = serialise(sample_trace(0, 2, 10));
  bytes.at(at) = std::byte{value};
  return reason(bytes);
}

TEST(Serialise, ATraceComesBackAsItWas) {
  RankTrace before = sample_trace(1, 3, -77);
  before.dropped_span_count = 9;
  const auto after = parse_rank_trace(serialise(before));
  ASSERT_TRUE(after.ok()) << after.status().to_string();
  EXPECT_EQ(after->rank, 1);
  EXPECT_EQ(after->rank_count, 3);
  EXPECT_EQ(after->clock_domain, before.clock_domain);
  EXPECT_EQ(after->dropped_span_count, 9U);
  ASSERT_EQ(after->spans.size(), 2U);
  EXPECT_EQ(after->spans[1].stage, kArrive.id);
  EXPECT_EQ(after->spans[1].operation, Operation::kDispatch);
  EXPECT_EQ(after->spans[0].begin_ns, -77);
  EXPECT_EQ(after->spans[1].end_ns, 3930);
  EXPECT_EQ(after->moved_at(kPost.id, 2).bytes, 4096U);
  EXPECT_EQ(after->moved_at(kPost.id, 2).messages, 2U);
  EXPECT_EQ(after->moved_at(kReduce.id, 2).bytes, 0U);
  EXPECT_EQ(after->waited_for(2).sum_ns, 2500);
  EXPECT_EQ(after->waited_for(0).count, 0U);
  EXPECT_EQ(serialise(after.value()), serialise(before));
}

TEST(Serialise, ARecorderThatWasNeverOnIsJustAHeader) {
  const std::vector<std::byte> bytes = serialise(Recorder(0, 2048).trace());
  EXPECT_EQ(bytes.size(), kHeaderBytes);
  EXPECT_EQ(reason(bytes), "ok");
}

TEST(Serialise, TheFormatIsPinned) {
  const std::vector<std::byte> bytes = serialise(sample_trace(0, 2, 10));
  ASSERT_EQ(bytes.size(), kHeaderBytes + 2 * 32 + 24 + 32);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes.data()), 4), "XDT1");
  EXPECT_EQ(std::to_integer<int>(bytes[kHeaderBytes]), kPost.id);
  EXPECT_EQ(std::to_integer<int>(bytes[kHeaderBytes + 16]), 10);
}

TEST(Serialise, EveryShorterOrLongerInputIsRefused) {
  std::vector<std::byte> bytes = serialise(sample_trace(0, 2, 10));
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_NE(reason(std::span(bytes).first(length)), "ok") << length;
  }
  bytes.push_back(std::byte{0});
  EXPECT_THAT(reason(bytes), HasSubstr("do not fill 121 bytes"));
}

TEST(Serialise, ErrorsNameTheFieldAndItsValue) {
  EXPECT_THAT(reason_with(0, 'Y'), HasSubstr("begin with 31544459, not with a trace"));
  EXPECT_THAT(reason_with(4, 2), HasSubstr("rank 2 of 2: at most 65536 ranks"));
  EXPECT_THAT(reason_with(11, 1), HasSubstr("rank 0 of 16777218"));
  EXPECT_THAT(reason_with(39, 0xff), HasSubstr("spans, 1 counters and 1 waits do not fill"));
  EXPECT_THAT(reason_with(kHeaderBytes + 2, 4), HasSubstr("span 0: operation 4"));
  EXPECT_THAT(reason_with(kHeaderBytes + 31, 0x80), HasSubstr("span 0: 10 .. -92233"));
  const std::size_t moved_at = kHeaderBytes + 64;
  EXPECT_THAT(reason_with(moved_at, 99), HasSubstr("counter 0: stage 99"));
  EXPECT_THAT(reason_with(moved_at + 4, 2), HasSubstr("counter 0: stage 6, peer 2"));
  EXPECT_THAT(reason_with(moved_at + 24 + 23, 0x80), HasSubstr("wait 0: peer 1"));
}

}  // namespace
}  // namespace crossdock::trace
