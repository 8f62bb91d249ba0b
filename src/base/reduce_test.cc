// SPDX-License-Identifier: Apache-2.0
#include "base/reduce.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "base/copy.h"
#include "base/float.h"
#include "base/test_targets.h"

namespace crossdock {
namespace {

constexpr std::uint8_t kUntouched = 0xee;
using Sizes = std::vector<std::size_t>;

/// Rows of random finite numbers of very different sizes, each at an alignment of its own.
struct Rows {
  std::vector<std::vector<std::uint8_t>> memory;
  std::vector<const void*> pointers;
  std::vector<float> weights;  // empty: rows as they are

  [[nodiscard]] WeightedRows terms() const { return {pointers, weights}; }
};

Rows make_rows(ElementType element, std::size_t row_count, std::size_t element_count,
               std::uint32_t seed) {
  std::mt19937 random(seed);
  Rows rows;
  for (std::size_t row = 0; row < row_count; ++row) {
    const std::size_t offset = random() % 65;
    auto& bytes = rows.memory.emplace_back(offset + element_count * element_bytes(element));
    for (std::size_t i = 0; i < element_count; ++i) {
      const auto value = std::ldexp(static_cast<float>(random()) / 4e9F - 0.5F,
                                    static_cast<int>(random() % 40) - 20);
      std::uint8_t* const place = bytes.data() + offset + i * element_bytes(element);
      if (element == ElementType::kBf16) {
        const Bf16 narrow = to_bf16(value);
        std::memcpy(place, &narrow, sizeof(narrow));
      } else if (element == ElementType::kFp16) {
        const Fp16 narrow = to_fp16(value);
        std::memcpy(place, &narrow, sizeof(narrow));
      } else {
        std::memcpy(place, &value, sizeof(value));
      }
    }
  }
  for (std::size_t row = 0; row < row_count; ++row) {
    auto& bytes = rows.memory[row];
    rows.pointers.push_back(bytes.data() + bytes.size() - element_count * element_bytes(element));
  }
  return rows;
}

Rows with_weights(Rows rows, std::uint32_t seed) {
  std::mt19937 random(seed);
  for (std::size_t row = 0; row < rows.pointers.size(); ++row) {
    rows.weights.push_back(static_cast<float>(random()) / 3e9F - 0.3F);
  }
  return rows;
}

/// Rows reduced into memory at `offset`, compared with reduce_rows_scalar to the bit.
void expect_same_as_scalar(ElementType element, const Rows& rows, std::size_t element_count,
                           std::size_t offset, StoreHint hint) {
  const std::size_t size = element_count * element_bytes(element);
  std::vector<std::uint8_t> expected(size);
  reduce_weighted_rows_scalar(element, expected.data(), rows.terms(), element_count);
  std::vector<std::uint8_t> memory(offset + size + 64, kUntouched);
  reduce_weighted_rows(element, memory.data() + offset, rows.terms(), element_count, hint);
  store_fence();
  ASSERT_EQ(size == 0 ? 0 : std::memcmp(memory.data() + offset, expected.data(), size), 0)
      << rows.pointers.size() << " rows of " << element_count << " at " << offset;
  for (std::size_t i = 0; i < memory.size(); ++i) {
    if (i < offset || i >= offset + size) {
      ASSERT_EQ(memory[i], kUntouched) << "byte " << i << " is outside the output";
    }
  }
}

TEST(ReduceRows, EveryInstructionSetGivesTheBitsOfTheScalarSum) {
  for_each_target([] {
    std::uint32_t seed = 1;
    for (const ElementType element : {ElementType::kBf16, ElementType::kFp32, ElementType::kFp16}) {
      for (const std::size_t row_count : Sizes{0, 1, 2, 3, 7, 8, 9, 128}) {
        for (const std::size_t element_count : Sizes{0, 1, 5, 31, 64, 129, 1003, 2048}) {
          const Rows rows = make_rows(element, row_count, element_count, ++seed);
          for (const StoreHint hint : {StoreHint::kKeep, StoreHint::kStream}) {
            expect_same_as_scalar(element, rows, element_count, seed % 67, hint);
            expect_same_as_scalar(element, with_weights(rows, seed), element_count, seed % 67,
                                  hint);
          }
        }
      }
    }
  });
}

TEST(ReduceRows, EveryNumberOfRowsUpTo128IsSummedInOrder) {
  for (std::size_t row_count = 0; row_count <= 128; ++row_count) {
    const Rows rows = make_rows(ElementType::kBf16, row_count, 77, 500);
    expect_same_as_scalar(ElementType::kBf16, rows, 77, 2, StoreHint::kKeep);
  }
}

TEST(ReduceRows, EveryAlignmentOfTheOutputIsRight) {
  for_each_target([] {
    const Rows rows = make_rows(ElementType::kBf16, 3, 301, 9);
    for (std::size_t offset = 0; offset < 66; ++offset) {
      expect_same_as_scalar(ElementType::kBf16, rows, 301, offset, StoreHint::kStream);
    }
  });
}

std::vector<Bf16> reduce_bf16(const std::vector<std::vector<Bf16>>& rows) {
  std::vector<const void*> pointers;
  for (const auto& row : rows) {
    pointers.push_back(row.data());
  }
  std::vector<Bf16> out(rows.front().size());
  reduce_rows(ElementType::kBf16, out.data(), pointers, out.size(), StoreHint::kKeep);
  return out;
}

TEST(ReduceRows, OneRowIsAnExactCopyWithNegativeZeroAndNanPayload) {
  const std::vector<Bf16> row = {{0x8000}, {0x7f81}, {0xffff}, {0x0001}, {0xff80}};
  EXPECT_EQ(reduce_bf16({row}), row);
}

TEST(ReduceRows, TheSumStartsFromTheFirstRowAndNotFromZero) {
  const std::vector<Bf16> negative_zero(100, Bf16{0x8000});
  EXPECT_EQ(reduce_bf16({negative_zero, negative_zero}), negative_zero);
}

TEST(ReduceRows, NoRowsGiveZeros) {
  for (const StoreHint hint : {StoreHint::kKeep, StoreHint::kStream}) {
    std::vector<float> out(333, 7.0F);
    reduce_rows(ElementType::kFp32, out.data(), {}, out.size(), hint);
    store_fence();
    EXPECT_EQ(out, std::vector<float>(333, 0.0F));
  }
}

TEST(ReduceRows, TheSumIsFp32WithOneRoundingAtTheEnd) {
  // 1 + 2^-8 + 2^-8 is 1 + 2^-7 at the end, but 1 if every step is rounded to bf16 (ties to even).
  const std::vector<Bf16> one(64, to_bf16(1.0F));
  const std::vector<Bf16> half_step(64, to_bf16(0.00390625F));
  EXPECT_EQ(reduce_bf16({one, half_step, half_step}), std::vector<Bf16>(64, to_bf16(1.0078125F)));
}

TEST(ReduceRows, TheOrderOfTheRowsIsKept) {
  const std::vector<Bf16> big(64, to_bf16(0x1p30F));
  const std::vector<Bf16> minus_big(64, to_bf16(-0x1p30F));
  const std::vector<Bf16> one(64, to_bf16(1.0F));
  EXPECT_EQ(reduce_bf16({big, minus_big, one}), one);
  EXPECT_EQ(reduce_bf16({big, one, minus_big}), std::vector<Bf16>(64, to_bf16(0.0F)));
}

TEST(ReduceRows, InfinityAndNanPassThrough) {
  for_each_target([] {
    const std::vector<Bf16> infinity(70, Bf16{0x7f80});
    const std::vector<Bf16> minus_infinity(70, Bf16{0xff80});
    const std::vector<Bf16> one(70, to_bf16(1.0F));
    EXPECT_EQ(reduce_bf16({infinity, one}), infinity);
    for (const Bf16 sum : reduce_bf16({infinity, minus_infinity, one})) {
      EXPECT_TRUE(std::isnan(to_fp32(sum)));
    }
  });
}

TEST(ReduceRows, OverflowOfTheRoundingGivesInfinity) {
  const std::vector<Bf16> largest(70, Bf16{0x7f7f});
  EXPECT_EQ(reduce_bf16({largest, largest}), std::vector<Bf16>(70, Bf16{0x7f80}));
}

TEST(ReduceRows, TheOutputMayBeOneOfTheRows) {
  std::vector<float> first(100, 1.0F);
  const std::vector<float> second(100, 2.0F);
  const std::vector<const void*> rows = {first.data(), second.data()};
  reduce_rows(ElementType::kFp32, first.data(), rows, first.size(), StoreHint::kKeep);
  EXPECT_EQ(first, std::vector<float>(100, 3.0F));
}

TEST(ReduceRows, AProductIsRoundedBeforeItIsAdded) {
  // (1 + 2^-23)^2 needs 46 bits; fused with the addition of its negative rounding it would leave
  // 2^-46.
  const float above_one = 1.0F + 0x1p-23F;
  const std::vector<float> minus_square(70, -(above_one * above_one));
  const std::vector<float> factor(70, above_one);
  const std::vector<const void*> rows = {minus_square.data(), factor.data()};
  const std::vector<float> weights = {1.0F, above_one};
  for_each_target([&] {
    std::vector<float> out(70, 7.0F);
    reduce_weighted_rows(ElementType::kFp32, out.data(), {rows, weights}, out.size(),
                         StoreHint::kKeep);
    EXPECT_EQ(out, std::vector<float>(70, 0.0F));
  });
}

TEST(ReduceRows, Fp16RoundsOnceAndOverflowsToInfinity) {
  const auto sum = [](float first, float second, float third) {
    const std::vector<std::vector<Fp16>> rows = {std::vector<Fp16>(40, to_fp16(first)),
                                                 std::vector<Fp16>(40, to_fp16(second)),
                                                 std::vector<Fp16>(40, to_fp16(third))};
    const std::vector<const void*> pointers = {rows[0].data(), rows[1].data(), rows[2].data()};
    std::vector<Fp16> out(40);
    reduce_rows(ElementType::kFp16, out.data(), pointers, out.size(), StoreHint::kKeep);
    return out;
  };
  // In fp16 steps 2048 + 1 is 2048 again.
  EXPECT_EQ(sum(2048, 1, 1), std::vector<Fp16>(40, to_fp16(2050)));
  EXPECT_EQ(sum(65504, 65504, 1), std::vector<Fp16>(40, Fp16{0x7c00}));
}

TEST(ReduceRows, PrefetchingAnyRowIsHarmless) {
  const std::vector<std::uint8_t> row(10);
  const std::vector<const void*> rows = {row.data(), row.data()};
  prefetch_rows(rows, row.size());
  prefetch_rows({}, 4096);
}

TEST(ReduceRowsDeathTest, BytesHaveNoSum) {
  std::uint8_t out = 0;
  for (const ElementType element :
       {ElementType::kBytes, ElementType::kInt8, ElementType::kFp8E4m3}) {
    EXPECT_DEATH(reduce_rows(element, &out, {}, 1, StoreHint::kKeep), "has no sum");
  }
}

}  // namespace
}  // namespace crossdock
