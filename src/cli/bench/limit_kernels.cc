// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/limit_kernels.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "base/copy.h"
#include "base/reduce.h"
#include "crossdock/types.h"

// Everything between here and HWY_ONCE is compiled once for each instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cli/bench/limit_kernels.cc"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace crossdock::bench::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Bytes = hn::ScalableTag<std::uint8_t>;
using Words = hn::ScalableTag<std::uint32_t>;
using Floats = hn::ScalableTag<float>;
using FloatVector = hn::Vec<Floats>;

void stream_row(const RowCopy& row, std::size_t row_bytes) {
  auto* const to = static_cast<std::byte*>(row.to);
  const auto* const from = static_cast<const std::byte*>(row.from);
  const Bytes bytes;
  const std::size_t lanes = hn::Lanes(bytes);
  const std::size_t head =
      std::min(row_bytes, (lanes - reinterpret_cast<std::uintptr_t>(to) % lanes) % lanes);
  std::memcpy(to, from, head);
  std::size_t at = head;
  for (; at + lanes <= row_bytes; at += lanes) {
    hn::Stream(hn::LoadU(bytes, reinterpret_cast<const std::uint8_t*>(from + at)), bytes,
               reinterpret_cast<std::uint8_t*>(to + at));
  }
  std::memcpy(to + at, from + at, row_bytes - at);
}

void stream_rows(const RowCopy* rows, std::size_t row_count, std::size_t row_bytes) {
  for (std::size_t index = 0; index < row_count; ++index) {
    stream_row(rows[index], row_bytes);
  }
  hwy::FlushStream();
}

// A 32-bit word holds one fp32 element, or two bf16 ones: the even one below, the odd one above.
struct Pair {
  FloatVector even;
  FloatVector odd;
};

HWY_INLINE FloatVector load_fp32(const std::byte* row, std::size_t byte) {
  return hn::LoadU(Floats(), reinterpret_cast<const float*>(row + byte));
}

HWY_INLINE Pair load_bf16(const std::byte* row, std::size_t byte) {
  const auto bits = hn::LoadU(Words(), reinterpret_cast<const std::uint32_t*>(row + byte));
  return {hn::BitCast(Floats(), hn::ShiftLeft<16>(bits)),
          hn::BitCast(Floats(), hn::And(bits, hn::Set(Words(), 0xffff0000u)))};
}

// To the nearest bf16, ties to even; benchmark rows hold no NaN.
HWY_INLINE hn::Vec<Words> round_bf16(FloatVector sum) {
  const auto bits = hn::BitCast(Words(), sum);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(Words(), 1));
  return hn::Add(hn::Add(bits, hn::Set(Words(), 0x7fff)), odd);
}

HWY_INLINE hn::Vec<Words> join_bf16(const Pair& sum) {
  return hn::Or(hn::ShiftRight<16>(round_bf16(sum.even)),
                hn::And(round_bf16(sum.odd), hn::Set(Words(), 0xffff0000u)));
}

template <bool kStream>
HWY_INLINE void store_words(hn::Vec<Words> words, std::byte* out) {
  if constexpr (kStream) {
    hn::Stream(words, Words(), reinterpret_cast<std::uint32_t*>(out));
  } else {
    hn::StoreU(words, Words(), reinterpret_cast<std::uint32_t*>(out));
  }
}

/// `vectors` 32-bit vectors of every row per step: one step covers whole lines of each row.
template <bool kStream>
std::size_t sum_columns(ElementType element, std::byte* out, const std::byte* const* rows,
                        std::size_t row_count, std::size_t row_bytes) {
  constexpr std::size_t kVectors = 4;
  const std::size_t width = hn::Lanes(Words()) * 4;
  std::size_t at = 0;
  for (; at + kVectors * width <= row_bytes; at += kVectors * width) {
    if (element == ElementType::kBf16) {
      Pair sums[kVectors] = {load_bf16(rows[0], at), load_bf16(rows[0], at + width),
                             load_bf16(rows[0], at + 2 * width),
                             load_bf16(rows[0], at + 3 * width)};
      for (std::size_t row = 1; row < row_count; ++row) {
        for (std::size_t v = 0; v < kVectors; ++v) {
          const Pair more = load_bf16(rows[row], at + v * width);
          sums[v].even = hn::Add(sums[v].even, more.even);
          sums[v].odd = hn::Add(sums[v].odd, more.odd);
        }
      }
      for (std::size_t v = 0; v < kVectors; ++v) {
        store_words<kStream>(join_bf16(sums[v]), out + at + v * width);
      }
    } else {
      FloatVector sums[kVectors] = {load_fp32(rows[0], at), load_fp32(rows[0], at + width),
                                    load_fp32(rows[0], at + 2 * width),
                                    load_fp32(rows[0], at + 3 * width)};
      for (std::size_t row = 1; row < row_count; ++row) {
        for (std::size_t v = 0; v < kVectors; ++v) {
          sums[v] = hn::Add(sums[v], load_fp32(rows[row], at + v * width));
        }
      }
      for (std::size_t v = 0; v < kVectors; ++v) {
        store_words<kStream>(hn::BitCast(Words(), sums[v]), out + at + v * width);
      }
    }
  }
  return at;
}

std::size_t sum_columns_kept(ElementType element, std::byte* out, const std::byte* const* rows,
                             std::size_t row_count, std::size_t row_bytes) {
  return sum_columns<false>(element, out, rows, row_count, row_bytes);
}

std::size_t sum_columns_streamed(ElementType element, std::byte* out, const std::byte* const* rows,
                                 std::size_t row_count, std::size_t row_bytes) {
  if (reinterpret_cast<std::uintptr_t>(out) % (hn::Lanes(Words()) * 4) != 0) {
    return sum_columns<false>(element, out, rows, row_count, row_bytes);
  }
  return sum_columns<true>(element, out, rows, row_count, row_bytes);
}

/// Row after row; `line` holds the sums, even elements first.
std::size_t sum_by_rows(ElementType element, std::byte* out, std::span<const std::byte* const> rows,
                        std::size_t row_bytes, float* line) {
  const std::size_t lanes = hn::Lanes(Words());
  const std::size_t width = lanes * 4;
  const std::size_t steps = row_bytes / width;
  const Floats floats;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    for (std::size_t step = 0; step < steps; ++step) {
      float* const even = line + step * 2 * lanes;
      float* const odd = even + lanes;
      if (element == ElementType::kBf16) {
        const Pair more = load_bf16(rows[row], step * width);
        hn::StoreU(row == 0 ? more.even : hn::Add(hn::LoadU(floats, even), more.even), floats,
                   even);
        hn::StoreU(row == 0 ? more.odd : hn::Add(hn::LoadU(floats, odd), more.odd), floats, odd);
      } else {
        const auto more = load_fp32(rows[row], step * width);
        hn::StoreU(row == 0 ? more : hn::Add(hn::LoadU(floats, even), more), floats, even);
      }
    }
  }
  for (std::size_t step = 0; step < steps; ++step) {
    const float* const even = line + step * 2 * lanes;
    const auto words = element == ElementType::kBf16
                           ? join_bf16({hn::LoadU(floats, even), hn::LoadU(floats, even + lanes)})
                           : hn::BitCast(Words(), hn::LoadU(floats, even));
    store_words<false>(words, out + step * width);
  }
  return steps * width;
}

}  // namespace crossdock::bench::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace crossdock::bench {
HWY_EXPORT(stream_rows);
HWY_EXPORT(sum_columns_kept);
HWY_EXPORT(sum_columns_streamed);
HWY_EXPORT(sum_by_rows);

std::string_view to_string(CopyKernel kernel) {
  switch (kernel) {
    case CopyKernel::kMemcpy:
      return "memcpy";
    case CopyKernel::kStreaming:
      return "streaming";
    case CopyKernel::kLibrary:
      return "library";
  }
  return "?";
}

std::string_view to_string(SumKernel kernel) {
  switch (kernel) {
    case SumKernel::kColumns:
      return "columns";
    case SumKernel::kColumnsStreaming:
      return "columns, streaming";
    case SumKernel::kRows:
      return "row by row";
    case SumKernel::kLibrary:
      return "library";
  }
  return "?";
}

void copy_rows(CopyKernel kernel, std::span<const RowCopy> rows, std::size_t row_bytes) {
  switch (kernel) {
    case CopyKernel::kMemcpy:
      for (const RowCopy& row : rows) {
        std::memcpy(row.to, row.from, row_bytes);
      }
      return;
    case CopyKernel::kStreaming:
      HWY_DYNAMIC_DISPATCH(stream_rows)(rows.data(), rows.size(), row_bytes);
      return;
    case CopyKernel::kLibrary:
      copy_rows_streaming(rows, row_bytes);
      store_fence();
      return;
  }
}

namespace {

/// The elements after the last whole step, one by one.
void sum_rest(ElementType element, std::byte* out, std::span<const std::byte* const> rows,
              std::size_t from_byte, std::size_t row_bytes) {
  std::vector<const void*> rest;
  for (const std::byte* row : rows) {
    rest.push_back(row + from_byte);
  }
  reduce_rows_scalar(element, out + from_byte, rest,
                     (row_bytes - from_byte) / element_bytes(element));
}

void prefetch_next(std::span<const std::byte* const> next) {
  for (const std::byte* row : next) {
    __builtin_prefetch(row);
    __builtin_prefetch(row + 64);
  }
}

}  // namespace

void sum_rows(SumKernel kernel, ElementType element, std::size_t element_count, const RowSum& sum) {
  const std::size_t row_bytes = element_count * element_bytes(element);
  const auto rows = sum.rows;
  if (rows.empty()) {
    std::memset(sum.out, 0, row_bytes);
    return;
  }
  std::size_t done = 0;
  prefetch_next(sum.next);
  switch (kernel) {
    case SumKernel::kColumns:
      done = HWY_DYNAMIC_DISPATCH(sum_columns_kept)(element, sum.out, rows.data(), rows.size(),
                                                    row_bytes);
      break;
    case SumKernel::kColumnsStreaming:
      done = HWY_DYNAMIC_DISPATCH(sum_columns_streamed)(element, sum.out, rows.data(), rows.size(),
                                                        row_bytes);
      break;
    case SumKernel::kRows: {
      static thread_local std::vector<float> line;
      line.resize(row_bytes);  // Twice what bf16 needs.
      done = HWY_DYNAMIC_DISPATCH(sum_by_rows)(element, sum.out, rows, row_bytes, line.data());
      break;
    }
    case SumKernel::kLibrary: {
      static thread_local std::vector<const void*> pointers;
      pointers.assign(rows.begin(), rows.end());
      reduce_rows(element, sum.out, pointers, element_count, StoreHint::kStream);
      return;
    }
  }
  if (done < row_bytes) {
    sum_rest(element, sum.out, rows, done, row_bytes);
  }
}

void finish_sums() { store_fence(); }

}  // namespace crossdock::bench
#endif  // HWY_ONCE
