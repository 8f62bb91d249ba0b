// SPDX-License-Identifier: Apache-2.0
#include "base/reduce.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/float.h"

// Everything between here and HWY_ONCE is compiled once for each instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "base/reduce.cc"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace crossdock::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Words = hn::ScalableTag<std::uint32_t>;
using SignedWords = hn::ScalableTag<std::int32_t>;
using Floats = hn::ScalableTag<float>;
using WordVector = hn::Vec<Words>;
using FloatVector = hn::Vec<Floats>;

/// fp32 elements: one vector is one register.
struct Fp32Sums {
  FloatVector sum;

  static Fp32Sums start(WordVector bits) { return {hn::BitCast(Floats(), bits)}; }
  void add(WordVector bits) { sum = hn::Add(sum, hn::BitCast(Floats(), bits)); }
  [[nodiscard]] WordVector finish() const { return hn::BitCast(Words(), sum); }
};

/// bf16 elements in pairs of one 32-bit lane: the upper half is an fp32 once the lower is cleared,
/// the lower one once it is shifted up. Nothing has to be shuffled.
struct Bf16Sums {
  FloatVector upper;
  FloatVector lower;

  static FloatVector upper_of(WordVector bits) {
    return hn::BitCast(Floats(), hn::And(bits, hn::Set(Words(), 0xffff0000u)));
  }
  static FloatVector lower_of(WordVector bits) {
    return hn::BitCast(Floats(), hn::ShiftLeft<16>(bits));
  }
  static Bf16Sums start(WordVector bits) { return {upper_of(bits), lower_of(bits)}; }
  void add(WordVector bits) {
    upper = hn::Add(upper, upper_of(bits));
    lower = hn::Add(lower, lower_of(bits));
  }
  /// to_bf16() of each lane, in the upper half.
  static WordVector rounded(FloatVector sum) {
    const Words words;
    const auto bits = hn::BitCast(words, sum);
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(words, 1));
    const auto nearest = hn::Add(hn::Add(bits, hn::Set(words, 0x7fff)), odd);
    const auto quiet = hn::Or(bits, hn::Set(words, 0x00400000));
    const auto nan = hn::RebindMask(words, hn::IsNaN(sum));
    return hn::IfThenElse(nan, quiet, nearest);
  }
  [[nodiscard]] WordVector finish() const {
    return hn::Or(hn::And(rounded(upper), hn::Set(Words(), 0xffff0000u)),
                  hn::ShiftRight<16>(rounded(lower)));
  }
};

inline WordVector load(const void* row, std::size_t byte) {
  // Only the type asks for alignment; LoadU does not.
  const auto* const bytes = static_cast<const std::uint8_t*>(row) + byte;
  return hn::LoadU(Words(), reinterpret_cast<const std::uint32_t*>(bytes));
}

template <StoreHint kHint>
void store(WordVector bits, std::uint8_t* out) {
  if constexpr (kHint == StoreHint::kStream) {
    hn::Stream(bits, Words(), reinterpret_cast<std::uint32_t*>(out));
  } else {
    hn::StoreU(bits, Words(), reinterpret_cast<std::uint32_t*>(out));
  }
}

/// Four vectors of every row, from byte `at`.
template <typename Sums, StoreHint kHint>
void reduce_block(std::uint8_t* out, const void* const* rows, std::size_t row_count,
                  std::size_t at) {
  const std::size_t step = hn::Lanes(Words()) * sizeof(std::uint32_t);
  Sums sum0 = Sums::start(load(rows[0], at));
  Sums sum1 = Sums::start(load(rows[0], at + step));
  Sums sum2 = Sums::start(load(rows[0], at + 2 * step));
  Sums sum3 = Sums::start(load(rows[0], at + 3 * step));
  for (std::size_t row = 1; row < row_count; ++row) {
    sum0.add(load(rows[row], at));
    sum1.add(load(rows[row], at + step));
    sum2.add(load(rows[row], at + 2 * step));
    sum3.add(load(rows[row], at + 3 * step));
  }
  store<kHint>(sum0.finish(), out + at);
  store<kHint>(sum1.finish(), out + at + step);
  store<kHint>(sum2.finish(), out + at + 2 * step);
  store<kHint>(sum3.finish(), out + at + 3 * step);
}

/// Whole vectors from byte `begin` on; returns the first byte not done.
template <typename Sums, StoreHint kHint>
std::size_t reduce_vectors(std::uint8_t* out, const void* const* rows, std::size_t row_count,
                           std::size_t begin, std::size_t byte_count) {
  if constexpr (HWY_TARGET == HWY_SCALAR) {
    return begin;  // Its LoadU does ask for alignment; the caller's element loop is as good.
  }
  const std::size_t step = hn::Lanes(Words()) * sizeof(std::uint32_t);
  std::size_t at = begin;
  for (; at + 4 * step <= byte_count; at += 4 * step) {
    reduce_block<Sums, kHint>(out, rows, row_count, at);
  }
  for (; at + step <= byte_count; at += step) {
    Sums sum = Sums::start(load(rows[0], at));
    for (std::size_t row = 1; row < row_count; ++row) {
      sum.add(load(rows[row], at));
    }
    store<kHint>(sum.finish(), out + at);
  }
  return at;
}

std::size_t ReduceBf16(std::uint8_t* out, const void* const* rows, std::size_t row_count,
                       std::size_t begin, std::size_t byte_count, StoreHint hint) {
  return hint == StoreHint::kStream
             ? reduce_vectors<Bf16Sums, StoreHint::kStream>(out, rows, row_count, begin, byte_count)
             : reduce_vectors<Bf16Sums, StoreHint::kKeep>(out, rows, row_count, begin, byte_count);
}

std::size_t ReduceFp32(std::uint8_t* out, const void* const* rows, std::size_t row_count,
                       std::size_t begin, std::size_t byte_count, StoreHint hint) {
  return hint == StoreHint::kStream
             ? reduce_vectors<Fp32Sums, StoreHint::kStream>(out, rows, row_count, begin, byte_count)
             : reduce_vectors<Fp32Sums, StoreHint::kKeep>(out, rows, row_count, begin, byte_count);
}

}  // namespace crossdock::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "base/bytes.h"
#include "base/check.h"
#include "base/sanitizers.h"

namespace crossdock {
HWY_EXPORT(ReduceBf16);
HWY_EXPORT(ReduceFp32);

namespace {

template <typename Value>
Value load_at(const void* row, std::size_t index) {
  Value value;
  std::memcpy(&value, static_cast<const std::byte*>(row) + index * sizeof(Value), sizeof(Value));
  return value;
}

template <typename Value>
void store_at(void* row, std::size_t index, Value value) {
  std::memcpy(static_cast<std::byte*>(row) + index * sizeof(Value), &value, sizeof(Value));
}

/// Elements begin .. end of at least two rows.
void reduce_elements(ElementType element, void* out, std::span<const void* const> rows,
                     std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) {
    if (element == ElementType::kBf16) {
      float sum = to_fp32(load_at<Bf16>(rows[0], i));
      for (const void* const row : rows.subspan(1)) {
        sum += to_fp32(load_at<Bf16>(row, i));
      }
      store_at(out, i, to_bf16(sum));
    } else {
      auto sum = load_at<float>(rows[0], i);
      for (const void* const row : rows.subspan(1)) {
        sum += load_at<float>(row, i);
      }
      store_at(out, i, sum);
    }
  }
}

/// Zero rows and one row need no arithmetic; true when that was all.
bool reduce_trivially(void* out, std::span<const void* const> rows, std::size_t byte_count,
                      StoreHint hint) {
  if (byte_count == 0) {
    return true;
  }
  if (rows.empty()) {
    fill_zero(out, byte_count, hint);
    return true;
  }
  if (rows.size() == 1) {
    if (out != rows[0]) {
      copy_bytes(out, rows[0], byte_count, hint);
    }
    return true;
  }
  return false;
}

void check_summable(ElementType element) {
  CROSSDOCK_CHECK(element == ElementType::kBf16 || element == ElementType::kFp32,
                  "element type {} has no sum", static_cast<int>(element));
}

}  // namespace

void reduce_rows(ElementType element, void* out, std::span<const void* const> rows,
                 std::size_t element_count, StoreHint hint) {
  check_summable(element);
  const std::size_t size = element_bytes(element);
  const std::size_t byte_count = element_count * size;
  if (reduce_trivially(out, rows, byte_count, hint)) {
    return;
  }
  // A streaming store is a whole aligned vector, so the elements before the first line go one by
  // one; an `out` between two elements never gets to a line.
  const auto address = reinterpret_cast<std::uintptr_t>(out);
  std::size_t head = 0;
  if (kThreadSanitizer || address % size != 0) {
    hint = StoreHint::kKeep;
  } else if (hint == StoreHint::kStream) {
    head = std::min(byte_count,
                    static_cast<std::size_t>(align_up(address, kCacheLineBytes) - address));
    reduce_elements(element, out, rows, 0, head / size);
  }
  auto* const bytes = static_cast<std::uint8_t*>(out);
  const std::size_t done = element == ElementType::kBf16
                               ? HWY_DYNAMIC_DISPATCH(ReduceBf16)(bytes, rows.data(), rows.size(),
                                                                  head, byte_count, hint)
                               : HWY_DYNAMIC_DISPATCH(ReduceFp32)(bytes, rows.data(), rows.size(),
                                                                  head, byte_count, hint);
  reduce_elements(element, out, rows, done / size, element_count);
}

void reduce_rows_scalar(ElementType element, void* out, std::span<const void* const> rows,
                        std::size_t element_count) {
  check_summable(element);
  if (!reduce_trivially(out, rows, element_count * element_bytes(element), StoreHint::kKeep)) {
    reduce_elements(element, out, rows, 0, element_count);
  }
}

void prefetch_rows(std::span<const void* const> rows, std::size_t row_bytes) {
  const std::size_t wanted = std::min<std::size_t>(row_bytes, 2 * kCacheLineBytes);
  for (const void* const row : rows) {
    for (std::size_t at = 0; at < wanted; at += kCacheLineBytes) {
      hwy::Prefetch(static_cast<const std::byte*>(row) + at);
    }
  }
}

}  // namespace crossdock
#endif  // HWY_ONCE
