// SPDX-License-Identifier: Apache-2.0
#include "routing/reference_sum.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/float.h"
#include "crossdock/types.h"
#include "routing/split.h"

namespace crossdock::routing {
namespace {

using ::testing::ElementsAre;

// Ranks 0 and 1 with two experts each; the one token's lanes go to experts 0, 2, 1.
Exchange one_token(RowLayout layout) {
  const std::vector<RankRoutes> ranks{{3, {0, 2, 1}, {}}, {3, {}, {}}};
  return reference_exchange(ranks, ExpertSplit::make(4, 2).value(), layout, 1);
}

float sum_one(RowLayout layout, const RowsOfRanks<float>& outputs, const ReferenceSums& sums) {
  return reference_sums(one_token(layout), outputs, 1, sums)[0][0][0];
}

TEST(ReferenceSums, PlanDeepEpRoundsTheSumOfEachRankFirst) {
  // Rank 0 has 256 and 1, which is 256 in bf16 (257 is a tie); rank 1 has 1.
  const RowsOfRanks<float> outputs{{{256}, {1}}, {{1}}};
  EXPECT_EQ(
      sum_one(RowLayout::kExpanded, outputs, {ReductionPlan::kSingle, ElementType::kBf16, {}, {}}),
      258);
  EXPECT_EQ(
      sum_one(RowLayout::kExpanded, outputs, {ReductionPlan::kDeepEp, ElementType::kBf16, {}, {}}),
      256);
}

TEST(ReferenceSums, PlanDeepEpPutsARankAtItsLastLane) {
  // Order: rank 1 (lane 1), then rank 0 (lane 2): (-1e8 + 1e8) + 1, not 1e8 - (1e8 - 1).
  const RowsOfRanks<float> outputs{{{1e8F}, {1}}, {{-1e8F}}};
  EXPECT_EQ(
      sum_one(RowLayout::kExpanded, outputs, {ReductionPlan::kDeepEp, ElementType::kFp32, {}, {}}),
      0.0F);  // 1e8 + 1 is 1e8 in fp32.
  EXPECT_EQ(
      sum_one(RowLayout::kExpanded, outputs, {ReductionPlan::kSingle, ElementType::kFp32, {}, {}}),
      1.0F);
}

TEST(ReferenceSums, BothPlansAreEqualInThePlainLayout) {
  const RowsOfRanks<float> outputs{{{256}}, {{1}}};
  for (const ReductionPlan plan : {ReductionPlan::kSingle, ReductionPlan::kDeepEp}) {
    EXPECT_EQ(sum_one(RowLayout::kPlain, outputs, {plan, ElementType::kBf16, {}, {}}), 256);
  }
}

TEST(ReferenceSums, BiasesComeFirstAndInOrder) {
  const RowsOfRanks<float> outputs{{{1}, {0}}, {{0}}};
  const RowsOfRanks<float> big{{{1e8F}}, {}};
  const RowsOfRanks<float> minus_big{{{-1e8F}}, {}};
  EXPECT_EQ(sum_one(RowLayout::kExpanded, outputs,
                    {ReductionPlan::kSingle, ElementType::kFp32, {big, minus_big}, {}}),
            1.0F);
}

TEST(ReferenceSums, GateWeightsMultiplyEachRoute) {
  const RowsOfRanks<float> outputs{{{1}, {10}}, {{100}}};
  EXPECT_EQ(sum_one(RowLayout::kExpanded, outputs,
                    {ReductionPlan::kSingle, ElementType::kFp32, {}, {{2, 3, 4}, {}}}),
            2 + 300 + 40);
}

TEST(ReferenceSums, RoundingIsThatOfTheTypes) {
  for (float value = 1e-9F; value < 1e6F; value *= 1.37F) {
    for (const float signed_value : {value, -value}) {
      EXPECT_EQ(round_to(ElementType::kBf16, signed_value), to_fp32(to_bf16(signed_value)));
      EXPECT_EQ(round_to(ElementType::kFp16, signed_value), to_fp32(to_fp16(signed_value)));
    }
  }
  EXPECT_EQ(round_to(ElementType::kFp16, 65519.0F), 65504.0F);
  EXPECT_TRUE(std::isinf(round_to(ElementType::kFp16, 65520.0F)));
  EXPECT_TRUE(std::signbit(round_to(ElementType::kFp16, -1e-9F)));
}

}  // namespace
}  // namespace crossdock::routing
