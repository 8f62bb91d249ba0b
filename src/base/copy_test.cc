// SPDX-License-Identifier: Apache-2.0
#include "base/copy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <vector>

#include "base/test_targets.h"

namespace crossdock {
namespace {

constexpr std::size_t kMargin = 128;
constexpr std::uint8_t kUntouched = 0xee;
using Sizes = std::vector<std::size_t>;

/// Memory that begins at a line, so that offsets in it are alignments.
class AlignedBytes {
 public:
  explicit AlignedBytes(std::size_t size) : bytes_(size + 64, kUntouched) {
    const auto address = reinterpret_cast<std::uintptr_t>(bytes_.data());
    begin_ = (64 - address % 64) % 64;
  }
  std::uint8_t* data() { return bytes_.data() + begin_; }

 private:
  std::vector<std::uint8_t> bytes_;
  std::size_t begin_ = 0;
};

/// Copies with `copy`, and expects exactly the wanted bytes at their place.
template <typename Copy>
void expect_exact_copy(std::size_t to_offset, std::size_t from_offset, std::size_t size,
                       const Copy& copy) {
  AlignedBytes from(from_offset + size);
  std::uint8_t value = 1;
  std::generate_n(from.data(), from_offset + size,
                  [&] { return value = static_cast<std::uint8_t>(value * 5 + 1); });
  AlignedBytes to(kMargin + to_offset + size + kMargin);
  std::uint8_t* const target = to.data() + kMargin + to_offset;
  copy(target, from.data() + from_offset, size);
  store_fence();
  ASSERT_EQ(std::memcmp(target, from.data() + from_offset, size), 0)
      << "to " << to_offset << " from " << from_offset << " size " << size;
  const auto untouched = [](std::uint8_t byte) { return byte == kUntouched; };
  ASSERT_TRUE(std::all_of(target - kMargin, target, untouched)) << "written before the target";
  ASSERT_TRUE(std::all_of(target + size, target + size + kMargin, untouched))
      << "written after the target";
}

TEST(Copy, StreamingIsExactForEveryAlignmentAndSize) {
  for_each_target([] {
    for (std::size_t to_offset = 0; to_offset < 64; to_offset += 3) {
      for (const std::size_t from_offset : Sizes{0, 1, 16, 63}) {
        for (const std::size_t size :
             Sizes{0, 1, 63, 64, 127, 128, 129, 191, 192, 200, 4096, 4100}) {
          expect_exact_copy(to_offset, from_offset, size, copy_streaming);
        }
      }
    }
  });
}

TEST(Copy, PlainIsExactAndCopiesNothingFromNowhere) {
  expect_exact_copy(5, 3, 1000, copy_plain);
  copy_plain(nullptr, nullptr, 0);
  copy_streaming(nullptr, nullptr, 0);
}

TEST(Copy, EitherHintGivesTheSameBytes) {
  for (const StoreHint hint : {StoreHint::kKeep, StoreHint::kStream}) {
    expect_exact_copy(8, 0, 1000, [hint](void* to, const void* from, std::size_t size) {
      copy_bytes(to, from, size, hint);
    });
  }
}

TEST(Copy, ABatchMovesEveryRowToItsOwnPlace) {
  for_each_target([] {
    for (const std::size_t row_bytes : {std::size_t{48}, std::size_t{256}, std::size_t{1000}}) {
      constexpr std::size_t kRows = 9;
      std::vector<std::uint8_t> from(kRows * row_bytes);
      std::iota(from.begin(), from.end(), std::uint8_t{0});
      std::vector<std::uint8_t> to(kRows * row_bytes, kUntouched);
      std::vector<RowCopy> rows;
      for (std::size_t row = 0; row < kRows; ++row) {
        const std::size_t target = kRows - 1 - row;
        rows.push_back({to.data() + target * row_bytes, from.data() + row * row_bytes});
      }
      copy_rows_streaming(rows, row_bytes);
      store_fence();
      for (const RowCopy& row : rows) {
        ASSERT_EQ(std::memcmp(row.to, row.from, row_bytes), 0);
      }
    }
    copy_rows_streaming({}, 4096);
  });
}

TEST(Copy, ZerosFillTheRangeAndNothingElse) {
  for_each_target([] {
    for (const StoreHint hint : {StoreHint::kKeep, StoreHint::kStream}) {
      for (const std::size_t offset : Sizes{0, 1, 63}) {
        for (const std::size_t size : Sizes{0, 1, 62, 64, 200, 1024}) {
          AlignedBytes memory(kMargin + offset + size + kMargin);
          std::uint8_t* const target = memory.data() + kMargin + offset;
          fill_zero(target, size, hint);
          store_fence();
          ASSERT_TRUE(std::all_of(target, target + size, [](std::uint8_t b) { return b == 0; }));
          ASSERT_EQ(target[-1], kUntouched);
          ASSERT_EQ(target[size], kUntouched);
        }
      }
    }
  });
}

TEST(Copy, TheLastLevelCacheHasAPlausibleSize) {
  EXPECT_GE(last_level_cache_bytes(), std::size_t{64} << 10);
  EXPECT_LE(last_level_cache_bytes(), std::size_t{4} << 30);
}

}  // namespace
}  // namespace crossdock
