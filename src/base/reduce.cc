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
//
#include "base/float_vector-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace crossdock::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using FloatVector = hn::Vec<Floats>;

/// fp32 elements: one vector is one register.
struct Fp32Sums {
  FloatVector sum;

  static Fp32Sums start(WordVector bits) { return {hn::BitCast(Floats(), bits)}; }
  void add(const Fp32Sums& other) { sum = hn::Add(sum, other.sum); }
  void scale(FloatVector weight) { sum = hn::Mul(sum, weight); }
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
  void add(const Bf16Sums& other) {
    upper = hn::Add(upper, other.upper);
    lower = hn::Add(lower, other.lower);
  }
  void scale(FloatVector weight) {
    upper = hn::Mul(upper, weight);
    lower = hn::Mul(lower, weight);
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

/// fp16 elements, likewise in pairs.
struct Fp16Sums {
  FloatVector upper;
  FloatVector lower;

  static FloatVector widen(WordVector code) { return hn::BitCast(Floats(), widen_fp16(code)); }
  static Fp16Sums start(WordVector bits) {
    return {widen(hn::ShiftRight<16>(bits)), widen(hn::And(bits, hn::Set(Words(), 0xffff)))};
  }
  void add(const Fp16Sums& other) {
    upper = hn::Add(upper, other.upper);
    lower = hn::Add(lower, other.lower);
  }
  void scale(FloatVector weight) {
    upper = hn::Mul(upper, weight);
    lower = hn::Mul(lower, weight);
  }
  static WordVector narrow(FloatVector sum) {
    return round_to_small<13>(hn::BitCast(Words(), sum), internal::kFp16);
  }
  [[nodiscard]] WordVector finish() const {
    return hn::Or(hn::ShiftLeft<16>(narrow(upper)), narrow(lower));
  }
};

/// Rows as they are, or each times a number of its own.
struct Terms {
  const void* const* rows;
  const float* weights;  // null: as they are
  std::size_t count;
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

/// One vector of row `row`, from byte `at`. The product is rounded before it is added.
template <typename Sums, bool kWeighted>
Sums term(const Terms& terms, std::size_t row, std::size_t at) {
  Sums sums = Sums::start(load(terms.rows[row], at));
  if constexpr (kWeighted) {
    sums.scale(hn::Set(Floats(), terms.weights[row]));
  }
  return sums;
}

/// Four vectors of every row, from byte `at`.
template <typename Sums, bool kWeighted, StoreHint kHint>
void reduce_block(std::uint8_t* out, const Terms& terms, std::size_t at) {
  const std::size_t step = hn::Lanes(Words()) * sizeof(std::uint32_t);
  Sums sum0 = term<Sums, kWeighted>(terms, 0, at);
  Sums sum1 = term<Sums, kWeighted>(terms, 0, at + step);
  Sums sum2 = term<Sums, kWeighted>(terms, 0, at + 2 * step);
  Sums sum3 = term<Sums, kWeighted>(terms, 0, at + 3 * step);
  for (std::size_t row = 1; row < terms.count; ++row) {
    sum0.add(term<Sums, kWeighted>(terms, row, at));
    sum1.add(term<Sums, kWeighted>(terms, row, at + step));
    sum2.add(term<Sums, kWeighted>(terms, row, at + 2 * step));
    sum3.add(term<Sums, kWeighted>(terms, row, at + 3 * step));
  }
  store<kHint>(sum0.finish(), out + at);
  store<kHint>(sum1.finish(), out + at + step);
  store<kHint>(sum2.finish(), out + at + 2 * step);
  store<kHint>(sum3.finish(), out + at + 3 * step);
}

/// Whole vectors from byte `begin` on; returns the first byte not done.
template <typename Sums, bool kWeighted, StoreHint kHint>
std::size_t reduce_vectors(std::uint8_t* out, const Terms& terms, std::size_t begin,
                           std::size_t byte_count) {
  if constexpr (HWY_TARGET == HWY_SCALAR) {
    return begin;  // Its LoadU does ask for alignment; the caller's element loop is as good.
  }
  const std::size_t step = hn::Lanes(Words()) * sizeof(std::uint32_t);
  std::size_t at = begin;
  for (; at + 4 * step <= byte_count; at += 4 * step) {
    reduce_block<Sums, kWeighted, kHint>(out, terms, at);
  }
  for (; at + step <= byte_count; at += step) {
    Sums sum = term<Sums, kWeighted>(terms, 0, at);
    for (std::size_t row = 1; row < terms.count; ++row) {
      sum.add(term<Sums, kWeighted>(terms, row, at));
    }
    store<kHint>(sum.finish(), out + at);
  }
  return at;
}

template <typename Sums>
std::size_t reduce(std::uint8_t* out, const Terms& terms, std::size_t begin, std::size_t byte_count,
                   StoreHint hint) {
  constexpr StoreHint kStream = StoreHint::kStream;
  constexpr StoreHint kKeep = StoreHint::kKeep;
  if (terms.weights != nullptr) {
    return hint == kStream ? reduce_vectors<Sums, true, kStream>(out, terms, begin, byte_count)
                           : reduce_vectors<Sums, true, kKeep>(out, terms, begin, byte_count);
  }
  return hint == kStream ? reduce_vectors<Sums, false, kStream>(out, terms, begin, byte_count)
                         : reduce_vectors<Sums, false, kKeep>(out, terms, begin, byte_count);
}

/// Terms are passed in parts: every instruction set has a type of its own.
std::size_t Reduce(ElementType element, std::uint8_t* out, std::span<const void* const> rows,
                   const float* weights, std::size_t begin, std::size_t byte_count,
                   StoreHint hint) {
  const Terms terms{rows.data(), weights, rows.size()};
  switch (element) {
    case ElementType::kBf16:
      return reduce<Bf16Sums>(out, terms, begin, byte_count, hint);
    case ElementType::kFp16:
      return reduce<Fp16Sums>(out, terms, begin, byte_count, hint);
    default:
      return reduce<Fp32Sums>(out, terms, begin, byte_count, hint);
  }
}

}  // namespace crossdock::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "base/bytes.h"
#include "base/check.h"
#include "base/sanitizers.h"

namespace crossdock {
HWY_EXPORT(Reduce);

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

float widen_at(ElementType element, const void* row, std::size_t index) {
  switch (element) {
    case ElementType::kBf16:
      return to_fp32(load_at<Bf16>(row, index));
    case ElementType::kFp16:
      return to_fp32(load_at<Fp16>(row, index));
    default:
      return load_at<float>(row, index);
  }
}

void narrow_at(ElementType element, void* row, std::size_t index, float value) {
  switch (element) {
    case ElementType::kBf16:
      return store_at(row, index, to_bf16(value));
    case ElementType::kFp16:
      return store_at(row, index, to_fp16(value));
    default:
      return store_at(row, index, value);
  }
}

/// Elements begin .. end of at least one row.
void reduce_elements(ElementType element, void* out, std::span<const void* const> rows,
                     std::span<const float> weights, std::size_t begin, std::size_t end) {
  const auto term = [&](std::size_t row, std::size_t index) {
    const float value = widen_at(element, rows[row], index);
    return weights.empty() ? value : value * weights[row];
  };
  for (std::size_t i = begin; i < end; ++i) {
    float sum = term(0, i);
    for (std::size_t row = 1; row < rows.size(); ++row) {
      sum += term(row, i);
    }
    narrow_at(element, out, i, sum);
  }
}

/// What needs no arithmetic: no rows, and one row as it is; true when that was all.
bool reduce_trivially(void* out, std::span<const void* const> rows, std::span<const float> weights,
                      std::size_t byte_count, StoreHint hint) {
  if (byte_count == 0) {
    return true;
  }
  if (rows.empty()) {
    fill_zero(out, byte_count, hint);
    return true;
  }
  if (rows.size() == 1 && weights.empty()) {
    if (out != rows[0]) {
      copy_bytes(out, rows[0], byte_count, hint);
    }
    return true;
  }
  return false;
}

void check_terms(ElementType element, std::span<const void* const> rows,
                 std::span<const float> weights) {
  CROSSDOCK_CHECK(is_summable(element), "element type {} has no sum", static_cast<int>(element));
  CROSSDOCK_CHECK(weights.empty() || weights.size() == rows.size(), "{} weights of {} rows",
                  weights.size(), rows.size());
}

}  // namespace

void reduce_rows(ElementType element, void* out, std::span<const void* const> rows,
                 std::size_t element_count, StoreHint hint) {
  reduce_weighted_rows(element, out, {rows, {}}, element_count, hint);
}

void reduce_weighted_rows(ElementType element, void* out, const WeightedRows& terms,
                          std::size_t element_count, StoreHint hint) {
  const auto [rows, weights] = terms;
  check_terms(element, rows, weights);
  const std::size_t size = element_bytes(element);
  const std::size_t byte_count = element_count * size;
  if (reduce_trivially(out, rows, weights, byte_count, hint)) {
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
    reduce_elements(element, out, rows, weights, 0, head / size);
  }
  const std::size_t done = HWY_DYNAMIC_DISPATCH(Reduce)(
      element, static_cast<std::uint8_t*>(out), rows, weights.empty() ? nullptr : weights.data(),
      head, byte_count, hint);
  reduce_elements(element, out, rows, weights, done / size, element_count);
}

void reduce_rows_scalar(ElementType element, void* out, std::span<const void* const> rows,
                        std::size_t element_count) {
  reduce_weighted_rows_scalar(element, out, {rows, {}}, element_count);
}

void reduce_weighted_rows_scalar(ElementType element, void* out, const WeightedRows& terms,
                                 std::size_t element_count) {
  const auto [rows, weights] = terms;
  check_terms(element, rows, weights);
  if (!reduce_trivially(out, rows, weights, element_count * element_bytes(element),
                        StoreHint::kKeep)) {
    reduce_elements(element, out, rows, weights, 0, element_count);
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
