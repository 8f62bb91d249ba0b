// SPDX-License-Identifier: Apache-2.0
#include "base/bytes.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace crossdock {
namespace {

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

TEST(Bytes, AlignUpKeepsMultiplesAndSaturatesAtTheEnd) {
  EXPECT_EQ(align_up(0, 64), 0U);
  EXPECT_EQ(align_up(1, 64), 64U);
  EXPECT_EQ(align_up(64, 64), 64U);
  EXPECT_EQ(align_up(10, 3), 12U);
  EXPECT_EQ(align_up(kMax - 1, 64), kMax);
}

TEST(Bytes, CheckedArithmeticRefusesWhatDoesNotFit) {
  EXPECT_EQ(checked_mul(1ULL << 32, (1ULL << 32) - 1), (1ULL << 32) * ((1ULL << 32) - 1));
  EXPECT_FALSE(checked_mul(1ULL << 32, 1ULL << 32).has_value());
  EXPECT_EQ(checked_add(kMax, 0), kMax);
  EXPECT_FALSE(checked_add(kMax, 1).has_value());
}

TEST(Bytes, SizesReadLikePeopleSayThem) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(4096), "4 KiB");
  EXPECT_EQ(format_bytes((3ULL << 30) / 2), "1.5 GiB");
  EXPECT_EQ(format_bytes(kMax), "16.0 EiB");
}

TEST(LayoutBuilder, RegionsAreAlignedInOrderAndDoNotOverlap) {
  LayoutBuilder layout;
  EXPECT_EQ(layout.add<std::uint8_t>(3), 0U);
  EXPECT_EQ(layout.add<std::uint64_t>(2), 8U);
  EXPECT_EQ(layout.add<std::uint32_t>(1, 64), 64U);
  EXPECT_EQ(layout.add_rows(3, 100, 64), 128U);
  EXPECT_EQ(layout.add_bytes(1, 1), 128U + 3 * 128U);
  EXPECT_EQ(layout.byte_count(), 128U + 3 * 128U + 1);
  EXPECT_FALSE(layout.overflowed());
}

TEST(LayoutBuilder, AWeakerAlignmentThanTheTypesIsRaised) {
  LayoutBuilder layout;
  layout.add_bytes(1, 1);
  EXPECT_EQ(layout.add<std::uint64_t>(1, 1), 8U);
}

TEST(LayoutBuilder, OverflowIsKeptUntilTheEnd) {
  LayoutBuilder layout;
  layout.add<std::uint64_t>(kMax / 4);
  layout.add_bytes(8, 8);
  EXPECT_TRUE(layout.overflowed());
  EXPECT_EQ(layout.byte_count(), kMax);

  LayoutBuilder rows;
  rows.add_rows(2, kMax - 5, 64);
  EXPECT_TRUE(rows.overflowed());

  LayoutBuilder sum;
  sum.add_bytes(kMax - 10, 1);
  sum.add_bytes(11, 1);
  EXPECT_TRUE(sum.overflowed());
}

TEST(LayoutBuilderDeathTest, AnAlignmentThatIsNoPowerOfTwoIsAProgrammerError) {
  LayoutBuilder layout;
  EXPECT_DEATH(layout.add_bytes(8, 24), "alignment 24");
}

}  // namespace
}  // namespace crossdock
