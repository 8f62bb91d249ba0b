// SPDX-License-Identifier: Apache-2.0
#include "routing/reference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "crossdock/types.h"
#include "routing/split.h"

namespace crossdock::routing {
namespace {

using ::testing::ElementsAre;

std::uint16_t bf16(float exact) {
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(exact) >> 16);
}

// Rows of every rank, each one element: what `value(expert, weight)` says, summed over its lanes.
template <typename Value>
RowsOfRanks<float> outputs_of(const Exchange& exchange, Value value) {
  RowsOfRanks<float> outputs;
  for (const ReceivedRank& rank : exchange.ranks) {
    auto& rows = outputs.emplace_back();
    for (const ReceivedRow& row : rank.rows) {
      float sum = 0;
      for (std::size_t index = 0; index < row.lanes.size(); ++index) {
        sum += value(row.experts[index], row.weights[index]);
      }
      rows.push_back({sum});
    }
  }
  return outputs;
}

RowsOfRanks<std::uint16_t> to_bits(const RowsOfRanks<float>& outputs) {
  RowsOfRanks<std::uint16_t> bits;
  for (const auto& rank : outputs) {
    auto& rows = bits.emplace_back();
    for (const auto& row : rank) {
      rows.push_back({bf16(row[0])});
    }
  }
  return bits;
}

TEST(ReferenceCombine, UnusedLanesCarryNothing) {
  // Identity experts on x = 8, weights 0.25 and 0.75.
  const std::vector<std::int32_t> experts{0, -1, -1, -1, 3, 1, -1, 0};
  const std::vector<float> weights{0.25F, 0.75F, 0.25F, 0.75F, 0.25F, 0.75F, 0.25F, 0.75F};
  const std::vector<RankRoutes> ranks{{2, experts, weights}, {2, {}, {}}};
  for (const RowLayout layout : {RowLayout::kPlain, RowLayout::kExpanded}) {
    const auto exchange = reference_exchange(ranks, ExpertSplit::make(4, 2).value(), layout, 1);
    const auto outputs = outputs_of(exchange, [](int, float weight) { return 8 * weight; });
    const auto tokens = reference_combine_fp32(exchange, outputs, 1);
    EXPECT_THAT(tokens[0], ElementsAre(ElementsAre(2.0F), ElementsAre(0.0F), ElementsAre(8.0F),
                                       ElementsAre(6.0F)));
    EXPECT_TRUE(tokens[1].empty());
  }
}

TEST(ReferenceCombine, TheSumIsNotRoundedOnTheWay) {
  // 256 + six times 1 + 0: in bf16 steps the ones would vanish.
  const std::vector<float> values{256, 1, 1, 1, 1, 1, 1, 0};
  for (const bool is_reversed : {false, true}) {
    std::vector<std::int32_t> experts{0, 1, 2, 3, 4, 5, 6, 7};
    if (is_reversed) {
      experts = {7, 6, 5, 4, 3, 2, 1, 0};
    }
    const std::vector<RankRoutes> ranks{{8, experts, std::vector<float>(8, 1)}, {8, {}, {}}};
    const auto exchange =
        reference_exchange(ranks, ExpertSplit::make(8, 2).value(), RowLayout::kExpanded, 1);
    const auto outputs = outputs_of(
        exchange, [&](int expert, float) { return values[static_cast<std::size_t>(expert)]; });
    const auto tokens = reference_combine_bf16(exchange, to_bits(outputs), 1);
    EXPECT_EQ(tokens[0][0][0], bf16(262));
  }
}

TEST(ReferenceCombine, TiesGoToTheEvenValueAndLargeSumsToInfinity) {
  const std::vector<RankRoutes> ranks{{2, {0, 1}, {1, 1}}};
  const auto split = ExpertSplit::make(2, 1).value();
  const auto exchange = reference_exchange(ranks, split, RowLayout::kExpanded, 1);
  const auto sum = [&](std::uint16_t first, std::uint16_t second) {
    return reference_combine_bf16(exchange, {{{first}, {second}}}, 1)[0][0][0];
  };
  EXPECT_EQ(sum(bf16(256), bf16(1)), bf16(256));  // 257 is halfway from 256 to 258
  EXPECT_EQ(sum(bf16(258), bf16(1)), bf16(260));  // 259 is halfway from 258 to 260
  EXPECT_EQ(sum(bf16(256), bf16(1.5F)), bf16(258));
  EXPECT_EQ(sum(0x7f7f, 0x7f7f), 0x7f80);
  EXPECT_EQ(sum(0x7f80, 0xff80) & 0x7fffU, 0x7fc0U);
}

TEST(ReferenceCombine, OneRowIsCopiedBitByBit) {
  const std::vector<RankRoutes> ranks{{2, {0, -1}, {1, 1}}};
  const auto split = ExpertSplit::make(2, 1).value();
  const auto exchange = reference_exchange(ranks, split, RowLayout::kExpanded, 1);
  EXPECT_EQ(reference_combine_bf16(exchange, {{{0x8000}}}, 1)[0][0][0], 0x8000) << "-0.0";
  EXPECT_EQ(reference_combine_bf16(exchange, {{{0x7f81}}}, 1)[0][0][0], 0x7f81) << "a NaN";
}

// Rank 0 has experts 0 and 1, rank 1 has 2 and 3. Lanes go to ranks 0, 1, 0: the row at rank 0 sits
// at lane 2, behind rank 1's, so that the sum is (rank 1 + rank 0), which in floats is not
// (lane 0 + lane 1 + lane 2).
TEST(ReferenceCombine, APlainRowTakesPartAtItsHighestLane) {
  const std::vector<RankRoutes> ranks{{4, {0, 2, 1, -1}, {}}, {4, {}, {}}};
  const auto exchange =
      reference_exchange(ranks, ExpertSplit::make(4, 2).value(), RowLayout::kPlain, 1);
  EXPECT_THAT(exchange.ranks[0].rows[0].lanes, ElementsAre(0, 2));
  EXPECT_THAT(exchange.row_of_route[0], ElementsAre(0, 0, 0, -1));
  EXPECT_THAT(exchange.owner_of_route[0], ElementsAre(0, 1, 0, -1));
  const auto tokens = reference_combine_fp32(exchange, {{{1.0F}}, {{2.0F}}}, 1);
  EXPECT_THAT(tokens[0], ElementsAre(ElementsAre(3.0F)));
}

TEST(ReferenceCombine, ThreePlainRowsAreSummedByTheirHighestLanes) {
  // Lanes to ranks 0, 1, 2, 0: the order is 1, 2, 0. (1 - 1) + 1e-8 keeps what 1e-8 + 1 loses.
  const std::vector<RankRoutes> ranks{{4, {0, 2, 4, 1}, {}}, {4, {}, {}}, {4, {}, {}}};
  const auto exchange =
      reference_exchange(ranks, ExpertSplit::make(6, 3).value(), RowLayout::kPlain, 1);
  const auto tokens = reference_combine_fp32(exchange, {{{1e-8F}}, {{1.0F}}, {{-1.0F}}}, 1);
  EXPECT_EQ(tokens[0][0][0], 1e-8F);
}

}  // namespace
}  // namespace crossdock::routing
