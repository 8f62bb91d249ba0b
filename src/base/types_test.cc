// SPDX-License-Identifier: Apache-2.0
#include "crossdock/types.h"

#include <gtest/gtest.h>

namespace crossdock {
namespace {

TEST(Types, NamesAndSizesAreWhatMachineReadableOutputPromises) {
  EXPECT_EQ(to_string(ElementType::kBf16), "bf16");
  EXPECT_EQ(to_string(ElementType::kFp32), "fp32");
  EXPECT_EQ(to_string(ElementType::kBytes), "bytes");
  EXPECT_EQ(to_string(ElementType::kFp16), "fp16");
  EXPECT_EQ(to_string(ElementType::kFp8E4m3), "fp8_e4m3");
  EXPECT_EQ(to_string(ElementType::kInt8), "int8");
  EXPECT_EQ(to_string(ReductionPlan::kSingle), "single");
  EXPECT_EQ(to_string(ReductionPlan::kDeepEp), "deepep");
  EXPECT_EQ(to_string(CombinePath::kAuto), "auto");
  EXPECT_EQ(to_string(CombinePath::kPull), "pull");
  EXPECT_EQ(to_string(CombinePath::kPush), "push");
  EXPECT_EQ(to_string(RowLayout::kPlain), "plain");
  EXPECT_EQ(to_string(RowLayout::kExpanded), "expanded");
  EXPECT_EQ(to_string(Mode::kAuto), "auto");
  EXPECT_EQ(to_string(Mode::kThroughput), "throughput");
  EXPECT_EQ(to_string(Mode::kLatency), "latency");
  EXPECT_EQ(to_string(Mode::kRacing), "racing");
  EXPECT_EQ(to_string(Way::kAuto), "auto");
  EXPECT_EQ(to_string(Way::kDirect), "direct");
  EXPECT_EQ(to_string(Way::kQueued), "queued");
  EXPECT_EQ(to_string(Progress::kThread), "thread");
  EXPECT_EQ(to_string(Progress::kCaller), "caller");
  EXPECT_EQ(element_bytes(ElementType::kBf16), 2U);
  EXPECT_EQ(element_bytes(ElementType::kFp32), 4U);
  EXPECT_EQ(element_bytes(ElementType::kBytes), 1U);
  EXPECT_EQ(element_bytes(ElementType::kFp16), 2U);
  EXPECT_EQ(element_bytes(ElementType::kFp8E4m3), 1U);
  EXPECT_EQ(element_bytes(ElementType::kInt8), 1U);
}

}  // namespace
}  // namespace crossdock
