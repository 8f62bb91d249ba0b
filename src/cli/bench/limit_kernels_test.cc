// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/limit_kernels.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/copy.h"
#include "base/reduce.h"
#include "cli/bench/workload.h"
#include "crossdock/types.h"

namespace crossdock::bench {
namespace {

constexpr std::size_t kMargin = 64;

std::vector<std::byte> named_rows(const Shape& shape, std::size_t count) {
  std::vector<std::byte> rows(count * shape.row_bytes());
  for (std::size_t row = 0; row < count; ++row) {
    fill_row(shape, {.round = 1, .source = 0, .token = static_cast<std::int64_t>(row)},
             rows.data() + row * shape.row_bytes());
  }
  return rows;
}

class RowBytes : public ::testing::TestWithParam<std::int64_t> {};

TEST_P(RowBytes, EveryCopyKernelCopiesExactlyTheRows) {
  const Shape shape{.hidden = GetParam(), .element = ElementType::kBytes};
  const std::vector<std::byte> rows = named_rows(shape, 3);
  for (const CopyKernel kernel :
       {CopyKernel::kMemcpy, CopyKernel::kStreaming, CopyKernel::kLibrary}) {
    std::vector<std::byte> target(rows.size() + 2 * kMargin, std::byte{0x5a});
    std::byte* const out = target.data() + kMargin;
    std::vector<RowCopy> copies;
    for (const std::size_t row : {2U, 0U, 1U}) {
      const std::size_t at = row * shape.row_bytes();
      copies.push_back({.to = out + at, .from = rows.data() + at});
    }
    copy_rows(kernel, copies, shape.row_bytes());
    EXPECT_EQ(std::memcmp(out, rows.data(), rows.size()), 0) << to_string(kernel);
    EXPECT_EQ(out[-1], std::byte{0x5a});
    EXPECT_EQ(out[rows.size()], std::byte{0x5a});
  }
}

TEST_P(RowBytes, EverySumKernelGivesTheBitsOfTheScalarSum) {
  for (const ElementType element : {ElementType::kBf16, ElementType::kFp32}) {
    const Shape shape{.hidden = GetParam(), .element = element};
    const std::vector<std::byte> rows = named_rows(shape, 5);
    std::vector<const std::byte*> pointers;
    std::vector<const void*> same;
    for (const std::size_t row : {4U, 1U, 3U, 0U, 2U}) {
      pointers.push_back(rows.data() + row * shape.row_bytes());
      same.push_back(pointers.back());
    }
    std::vector<std::byte> expected(shape.row_bytes());
    reduce_rows_scalar(element, expected.data(), same, static_cast<std::size_t>(shape.hidden));
    for (const SumKernel kernel : {SumKernel::kColumns, SumKernel::kColumnsStreaming,
                                   SumKernel::kRows, SumKernel::kLibrary}) {
      std::vector<std::byte> out(shape.row_bytes() + kMargin, std::byte{0x5a});
      sum_rows(kernel, element, static_cast<std::size_t>(shape.hidden),
               {.out = out.data(), .rows = pointers, .next = pointers});
      finish_sums();
      EXPECT_EQ(std::memcmp(out.data(), expected.data(), expected.size()), 0) << to_string(kernel);
      EXPECT_EQ(out[expected.size()], std::byte{0x5a});
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, RowBytes, ::testing::Values(1, 2, 3, 31, 64, 65, 127, 2048, 2051));

TEST(SumKernels, NoRowsGiveZeros) {
  std::vector<std::byte> out(16, std::byte{0x5a});
  sum_rows(SumKernel::kColumns, ElementType::kBf16, 8, {.out = out.data(), .rows = {}, .next = {}});
  EXPECT_EQ(out, std::vector<std::byte>(16));
}

}  // namespace
}  // namespace crossdock::bench
