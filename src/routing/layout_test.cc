// SPDX-License-Identifier: Apache-2.0
#include "routing/layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "crossdock/status.h"
#include "routing/split.h"

namespace crossdock::routing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ExpandedLayout, GroupsBeginAlignedAndEmptyExpertsTakeNoRow) {
  // Two sources, four experts on two ranks, alignment 3.
  const std::vector<std::uint32_t> counts{2, 0, 1, 4,  //
                                          2, 0, 0, 3};
  const ExpandedCounts expanded{{counts.data(), 4, 2, 4}, ExpertSplit::make(4, 2).value(), 3};
  std::vector<std::int64_t> begin(2);
  std::vector<std::int64_t> rows(2);
  std::vector<std::int64_t> aligned(2);
  std::vector<std::int64_t> source_begin(4);
  EXPECT_EQ(layout_expanded(expanded, 0, {begin, rows, aligned, source_begin}), 6);
  EXPECT_THAT(begin, ElementsAre(0, 6));
  EXPECT_THAT(rows, ElementsAre(4, 0));
  EXPECT_THAT(aligned, ElementsAre(6, 0));
  EXPECT_THAT(source_begin, ElementsAre(0, 6, 2, 6));
  EXPECT_EQ(layout_expanded(expanded, 1, {begin, rows, aligned, {}}), 12);
  EXPECT_THAT(begin, ElementsAre(0, 3));
  EXPECT_THAT(aligned, ElementsAre(3, 9));
}

TEST(ExpandedLayout, CountsMayLieApartInAWindow) {
  constexpr std::uint32_t kOther = 77;
  const std::vector<std::uint32_t> window{1, 2, kOther, kOther, kOther, 3, 4, kOther};
  const ExpandedCounts counts{{window.data(), 5, 2, 2}, ExpertSplit::make(2, 2).value(), 1};
  std::vector<std::int64_t> start(2);
  std::vector<std::int64_t> rows(2);
  std::vector<std::int64_t> needed(2);
  plan_expanded(counts, 1, {start, rows, needed});
  EXPECT_THAT(start, ElementsAre(1, 2));
  EXPECT_THAT(rows, ElementsAre(4, 6));
  EXPECT_THAT(needed, ElementsAre(4, 6));
}

// Sums of 32-bit counts that themselves need more than 32 bits.
TEST(ExpandedLayout, SumsGoBeyond32Bits) {
  constexpr std::uint32_t kMax = std::numeric_limits<std::uint32_t>::max();
  const std::vector<std::uint32_t> counts{kMax, kMax, kMax, kMax};
  const ExpandedCounts expanded{{counts.data(), 2, 2, 2}, ExpertSplit::make(2, 2).value(), 128};
  std::vector<std::int64_t> start(2);
  std::vector<std::int64_t> rows(2);
  std::vector<std::int64_t> needed(2);
  plan_expanded(expanded, 1, {start, rows, needed});
  EXPECT_THAT(start, ElementsAre(kMax, kMax));
  EXPECT_THAT(rows, ElementsAre(8'589'934'590, 8'589'934'590));
  EXPECT_THAT(needed, ElementsAre(8'589'934'592, 8'589'934'592));
  std::vector<std::int64_t> plain_needed(2);
  plan_plain(expanded.rows, 1, {start, plain_needed});
  EXPECT_THAT(plain_needed, ElementsAre(8'589'934'590, 8'589'934'590));
}

TEST(PlainLayout, SourcesFollowEachOther) {
  const std::vector<std::uint32_t> tokens{1, 5, 0,  //
                                          0, 6, 2,  //
                                          4, 7, 3};
  const CountMatrix matrix{tokens.data(), 3, 3, 3};
  std::vector<std::int64_t> begin(3);
  std::vector<std::int64_t> prefix(3);
  EXPECT_EQ(layout_plain(matrix, 1, {begin, prefix}), 18);
  EXPECT_THAT(begin, ElementsAre(0, 5, 11));
  EXPECT_THAT(prefix, ElementsAre(5, 11, 18));
  std::vector<std::int64_t> needed(3);
  plan_plain(matrix, 2, {begin, needed});
  EXPECT_THAT(begin, ElementsAre(1, 11, 2));
  EXPECT_THAT(needed, ElementsAre(5, 18, 5));
}

TEST(RowCapacity, ExactlyFullIsFine) {
  const std::vector<std::int64_t> needed{3, 7, 7};
  EXPECT_TRUE(check_row_capacity(needed, 7).ok());
}

TEST(RowCapacity, TheFirstRankThatOverflowsIsNamedWithNeededAndAvailable) {
  const std::vector<std::int64_t> needed{3, 7, 9};
  const Status status = check_row_capacity(needed, 6);
  EXPECT_EQ(status.kind(), StatusKind::kCapacity);
  EXPECT_EQ(status.scope(), Scope::kOperation);
  EXPECT_EQ(status.culprit(), 1);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("rank 1 would receive 7 rows; row_capacity is 6"));
}

TEST(RowOffset, IsExactWhere32BitsWouldWrap) {
  EXPECT_EQ(row_offset(600'000, 14'336), 8'601'600'000U);
  EXPECT_EQ(row_offset(524'288, 8192), 4'294'967'296U);
  EXPECT_EQ(row_offset(65'536, 65'536), 4'294'967'296U);
  EXPECT_EQ(row_offset(262'144, 14'336), 3'758'096'384U);
  EXPECT_EQ(row_offset(0, 14'336), 0U);
  static_assert(row_offset(600'000, 14'336) == 8'601'600'000U);
}

TEST(RowOffsetDeathTest, WhatDoesNotFitStopsTheProgramWithTheValues) {
  const auto offset_of = [](std::int64_t row, std::uint64_t row_bytes) {
    return row_offset(row, row_bytes);
  };
  EXPECT_DEATH(static_cast<void>(offset_of(-1, 8)), "row -1 of 8 bytes");
  EXPECT_DEATH(static_cast<void>(offset_of(std::int64_t{1} << 62, 8)), "of 8 bytes");
}

TEST(Prefix, ExpandedEndsAtTheRowsAndPlainAtTheAlignedCounts) {
  std::vector<std::int64_t> begin{0, 4, 8};
  std::vector<std::int64_t> rows{3, 4, 1};
  std::vector<std::int64_t> aligned{4, 4, 4};
  std::vector<std::int64_t> prefix(3);
  expanded_prefix({begin, rows, aligned, {}}, prefix);
  EXPECT_THAT(prefix, ElementsAre(3, 8, 9));
  inclusive_prefix(aligned, prefix);
  EXPECT_THAT(prefix, ElementsAre(4, 8, 12));
}

}  // namespace
}  // namespace crossdock::routing
