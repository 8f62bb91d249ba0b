// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/workload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <set>
#include <tuple>
#include <vector>

#include "base/float.h"
#include "cli/bench/placement.h"
#include "cli/bench/verify_rows.h"
#include "crossdock/types.h"

namespace crossdock::bench {
namespace {

Shape small_shape() {
  return {.ranks = 3,
          .tokens = 5,
          .hidden = 7,
          .experts = 8,
          .topk = 4,
          .element = ElementType::kBf16,
          .seed = 9};
}

TEST(BenchWorkload, EveryTokenHasDistinctExpertsAndTheSeedDecidesWhich) {
  const Shape shape = small_shape();
  const std::vector<std::int32_t> routes = make_routes(shape, 1);
  ASSERT_EQ(routes.size(), 20U);
  for (std::size_t token = 0; token < 5; ++token) {
    const std::set<std::int32_t> experts(
        routes.begin() + static_cast<std::ptrdiff_t>(token * 4),
        routes.begin() + static_cast<std::ptrdiff_t>(token * 4 + 4));
    EXPECT_EQ(experts.size(), 4U);
    EXPECT_GE(*experts.begin(), 0);
    EXPECT_LT(*experts.rbegin(), 8);
  }
  EXPECT_EQ(make_routes(shape, 1), routes);
  EXPECT_NE(make_routes(shape, 2), routes);
}

TEST(BenchWorkload, TheFirstRanksOwnTheExtraExperts) {
  const Shape shape = small_shape();
  std::vector<int> owners;
  owners.reserve(8);
  for (int expert = 0; expert < 8; ++expert) {
    owners.push_back(shape.owner(expert));
  }
  EXPECT_THAT(owners, ::testing::ElementsAre(0, 0, 0, 1, 1, 1, 2, 2));
  EXPECT_EQ(shape.first_expert(2), 6);
  EXPECT_EQ(shape.local_experts(2), 2);
}

TEST(BenchWorkload, ARowMatchesItsOwnNameOnly) {
  const Shape shape = small_shape();
  std::vector<std::byte> row(shape.row_bytes());
  const RowName name{.round = 3, .source = 1, .token = 2, .lane = 0};
  fill_row(shape, name, row.data());
  EXPECT_TRUE(row_matches(shape, name, row.data()));
  for (const RowName& other : {RowName{4, 1, 2, 0}, RowName{3, 2, 2, 0}, RowName{3, 1, 3, 0},
                               RowName{3, 1, 2, 1}, RowName{3, 1, 2, -1}}) {
    EXPECT_FALSE(row_matches(shape, other, row.data()));
  }
}

TEST(BenchWorkload, EveryByteOfARowCounts) {
  const Shape shape = small_shape();
  const RowName name{.round = 1, .source = 0, .token = 0};
  std::vector<std::byte> row(shape.row_bytes());
  for (std::size_t byte = 0; byte < row.size(); ++byte) {
    fill_row(shape, name, row.data());
    row[byte] ^= std::byte{1};
    EXPECT_FALSE(row_matches(shape, name, row.data())) << "byte " << byte;
  }
}

TEST(BenchWorkload, RowsThatAreSummedHoldFiniteNumbersOfOrdinarySize) {
  Shape shape = small_shape();
  shape.hidden = 4096;
  std::vector<std::byte> row(shape.row_bytes());
  fill_row(shape, {.round = 1, .source = 2, .token = 4}, row.data());
  int negative = 0;
  for (std::size_t index = 0; index < 4096; ++index) {
    Bf16 bits;
    std::memcpy(&bits, row.data() + index * 2, 2);
    const float value = to_fp32(bits);
    ASSERT_GE(std::fabs(value), 0x1p-7F);
    ASSERT_LT(std::fabs(value), 2.0F);
    negative += value < 0 ? 1 : 0;
  }
  EXPECT_GT(negative, 1500);
  EXPECT_LT(negative, 2600);
}

class PlacementTest : public ::testing::TestWithParam<RowLayout> {};

TEST_P(PlacementTest, TargetsAndOriginsAreInversesOfEachOther) {
  const Shape shape = small_shape();
  const Placement placement(shape, GetParam());
  std::int64_t target_count = 0;
  for (int rank = 0; rank < shape.ranks; ++rank) {
    for (std::int64_t token = 0; token < shape.tokens; ++token) {
      int last_lane = -1;
      for (const RowTarget& target : placement.targets(rank, token)) {
        EXPECT_GT(target.lane, last_lane) << "the order of the sum";
        last_lane = target.lane;
        const RowOrigin& origin =
            placement.origins(target.rank)[static_cast<std::size_t>(target.row)];
        EXPECT_EQ(origin.source, rank);
        EXPECT_EQ(origin.token, token);
        EXPECT_EQ(origin.lane, target.lane);
        ++target_count;
      }
    }
  }
  EXPECT_EQ(target_count, placement.row_count_total());
}

TEST_P(PlacementTest, RowsComeBySourceThenTokenInsideAGroup) {
  const Shape shape = small_shape();
  const Placement placement(shape, GetParam());
  for (int rank = 0; rank < shape.ranks; ++rank) {
    const auto& origins = placement.origins(rank);
    for (std::size_t row = 1; row < origins.size(); ++row) {
      const auto expert_of = [&](const RowOrigin& origin) {
        const auto topk = static_cast<std::size_t>(shape.topk);
        const std::size_t route =
            static_cast<std::size_t>(origin.token) * topk + static_cast<std::size_t>(origin.lane);
        return GetParam() == RowLayout::kExpanded ? placement.routes(origin.source)[route] : 0;
      };
      const auto key = [&](const RowOrigin& origin) {
        return std::tuple(expert_of(origin), origin.source, origin.token);
      };
      EXPECT_LT(key(origins[row - 1]), key(origins[row]));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Layouts, PlacementTest,
                         ::testing::Values(RowLayout::kExpanded, RowLayout::kPlain));

TEST(BenchVerify, OneFlippedBitIsOneWrongRow) {
  const Shape shape = small_shape();
  const Placement placement(shape, RowLayout::kExpanded);
  std::vector<std::byte> rows(placement.origins(0).size() * shape.row_bytes());
  std::size_t row = 0;
  for (const RowOrigin& origin : placement.origins(0)) {
    fill_row(shape, {.round = 5, .source = origin.source, .token = origin.token},
             rows.data() + row++ * shape.row_bytes());
  }
  EXPECT_EQ(verify_received({shape, placement, 5, 0}, rows.data()).wrong, 0U);
  EXPECT_EQ(verify_received({shape, placement, 6, 0}, rows.data()).wrong, row) << "an old round";
  rows[shape.row_bytes() + 3] ^= std::byte{4};
  const Verdict verdict = verify_received({shape, placement, 5, 0}, rows.data());
  EXPECT_EQ(verdict.wrong, 1U);
  EXPECT_EQ(verdict.checked, row);
}

}  // namespace
}  // namespace crossdock::bench
