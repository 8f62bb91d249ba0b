// SPDX-License-Identifier: Apache-2.0
// The fastest known ways to do nothing but move, or read and sum, given rows: what a round could
// take if it needed no counting, no proof and no waiting. Several, because none wins everywhere.
// Thread rule: any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/copy.h"
#include "crossdock/types.h"

namespace crossdock::bench {

enum class CopyKernel : std::uint8_t {
  kMemcpy,     // the C library's
  kStreaming,  // non-temporal stores, one row after the other
  kLibrary,    // base/copy.h: the next row is fetched meanwhile
};
[[nodiscard]] std::string_view to_string(CopyKernel kernel);

/// Copies the rows in order; everything is visible to others when it returns.
void copy_rows(CopyKernel kernel, std::span<const RowCopy> rows, std::size_t row_bytes);

enum class SumKernel : std::uint8_t {
  kColumns,           // a few vectors of all rows at a time, sums in registers
  kColumnsStreaming,  // the same, written around the cache
  kRows,              // row after row into an fp32 line in the first-level cache
  kLibrary,           // what base/reduce.h does
};
[[nodiscard]] std::string_view to_string(SumKernel kernel);

struct RowSum {
  std::byte* out = nullptr;                // one row
  std::span<const std::byte* const> rows;  // summed in this order
  std::span<const std::byte* const> next;  // of the following call; may be fetched early
};

/// out = the fp32 sum of the rows, rounded once; kBf16 or kFp32. Visible to others after
/// finish_sums().
void sum_rows(SumKernel kernel, ElementType element, std::size_t element_count, const RowSum& sum);
void finish_sums();

}  // namespace crossdock::bench
