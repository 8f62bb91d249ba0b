// SPDX-License-Identifier: Apache-2.0
#include "base/float.h"

#include <cstddef>
#include <cstdint>
#include <span>

// Everything between here and HWY_ONCE is compiled once for each instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "base/float.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace crossdock::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// All formats by integer arithmetic in 32-bit lanes: Highway's own demotions truncate for bf16 and
// flush or quieten differently from target to target.
using Words = hn::ScalableTag<std::uint32_t>;
using SignedWords = hn::ScalableTag<std::int32_t>;
using Floats = hn::ScalableTag<float>;
using WordVector = hn::Vec<Words>;

inline WordVector round_to_bf16(WordVector bits) {
  const Words words;
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(words, 1));
  const auto rounded = hn::Add(hn::Add(bits, hn::Set(words, 0x7fff)), odd);
  const auto quiet = hn::Or(bits, hn::Set(words, 0x00400000));
  const auto nan = hn::Gt(hn::BitCast(SignedWords(), hn::And(bits, hn::Set(words, 0x7fffffff))),
                          hn::Set(SignedWords(), 0x7f800000));
  return hn::ShiftRight<16>(hn::IfThenElse(hn::RebindMask(words, nan), quiet, rounded));
}

/// internal::to_small_magnitude() and the sign, in every lane.
template <int kShift>
WordVector round_to_small(WordVector bits, const internal::SmallFormat& format) {
  const Words words;
  const SignedWords integers;
  const auto sign = hn::And(bits, hn::Set(words, 0x80000000u));
  const auto magnitude = hn::Xor(bits, sign);
  // Without its sign every fp32 is a positive integer, so signed compares will do.
  const auto compared = hn::BitCast(integers, magnitude);
  const auto above = [&](std::uint32_t limit) {
    const auto bound = hn::Set(integers, static_cast<std::int32_t>(limit));
    return hn::RebindMask(words, hn::Gt(compared, bound));
  };

  const auto odd = hn::And(hn::ShiftRight<kShift>(magnitude), hn::Set(words, 1));
  const std::uint32_t half = (1u << (kShift - 1)) - 1u;
  const auto rebias = hn::Set(words, half - ((127u - format.bias) << 23));
  const auto normal = hn::ShiftRight<kShift>(hn::Add(hn::Add(magnitude, rebias), odd));

  const auto magic = hn::Set(words, format.subnormal_magic());
  const auto sum = hn::Add(hn::BitCast(Floats(), magnitude), hn::BitCast(Floats(), magic));
  const auto subnormal = hn::Sub(hn::BitCast(words, sum), magic);

  const auto payload = hn::ShiftRight<kShift>(hn::And(magnitude, hn::Set(words, 0x007fffff)));
  const auto nan = hn::Or(payload, hn::Set(words, format.nan_code));

  auto code = hn::IfThenElse(above(format.normal_from() - 1), normal, subnormal);
  code =
      hn::IfThenElse(above(format.overflow_from - 1), hn::Set(words, format.overflow_code), code);
  code = hn::IfThenElse(above(0x7f800000u), nan, code);
  const auto moved_sign = kShift == 13 ? hn::ShiftRight<16>(sign) : hn::ShiftRight<24>(sign);
  return hn::Or(code, moved_sign);
}

inline WordVector widen_fp16(WordVector code) {
  const Words words;
  const auto sign = hn::ShiftLeft<16>(hn::And(code, hn::Set(words, 0x8000)));
  const auto shifted = hn::ShiftLeft<13>(hn::And(code, hn::Set(words, 0x7fff)));
  const auto exponent = hn::And(shifted, hn::Set(words, 0x7c00u << 13));
  const auto normal = hn::Add(shifted, hn::Set(words, (127 - 15) << 23));

  const auto mantissa = hn::And(code, hn::Set(words, 0x03ff));
  const auto quiet =
      hn::IfThenElseZero(hn::Ne(mantissa, hn::Zero(words)), hn::Set(words, 0x00400000));
  const auto special = hn::Or(hn::Add(normal, hn::Set(words, (128 - 16) << 23)), quiet);

  const auto magic = hn::BitCast(Floats(), hn::Set(words, internal::kFp16.normal_from()));
  const auto lifted = hn::BitCast(Floats(), hn::Add(normal, hn::Set(words, 1u << 23)));
  const auto subnormal = hn::BitCast(words, hn::Sub(lifted, magic));

  auto bits = hn::IfThenElse(hn::Eq(exponent, hn::Zero(words)), subnormal, normal);
  bits = hn::IfThenElse(hn::Eq(exponent, hn::Set(words, 0x7c00u << 13)), special, bits);
  return hn::Or(bits, sign);
}

inline WordVector widen_fp8_e4m3(WordVector code) {
  const Words words;
  const auto sign = hn::ShiftLeft<24>(hn::And(code, hn::Set(words, 0x80)));
  const auto magnitude = hn::And(code, hn::Set(words, 0x7f));
  const auto normal = hn::Add(hn::ShiftLeft<20>(magnitude), hn::Set(words, (127 - 7) << 23));

  const auto magic = hn::BitCast(Floats(), hn::Set(words, internal::kFp8E4m3.normal_from()));
  const auto lifted = hn::BitCast(Floats(), hn::Add(normal, hn::Set(words, 1u << 23)));
  const auto subnormal = hn::BitCast(words, hn::Sub(lifted, magic));

  const auto is_subnormal = hn::Eq(hn::And(magnitude, hn::Set(words, 0x78)), hn::Zero(words));
  auto bits = hn::IfThenElse(is_subnormal, subnormal, normal);
  bits = hn::IfThenElse(hn::Eq(magnitude, hn::Set(words, 0x7f)), hn::Set(words, 0x7fc00000), bits);
  return hn::Or(bits, sign);
}

/// Whole vectors by `narrow`; returns how many elements were done.
template <typename Code, typename Narrow>
std::size_t narrow_vectors(const float* from, Code* to, std::size_t count, const Narrow& narrow) {
  const Floats floats;
  const hn::Rebind<Code, Floats> codes;
  const std::size_t lanes = hn::Lanes(floats);
  std::size_t at = 0;
  for (; at + lanes <= count; at += lanes) {
    const auto bits = hn::BitCast(Words(), hn::LoadU(floats, from + at));
    // Codes fit, so the saturation of DemoteTo never acts.
    const auto code = hn::BitCast(SignedWords(), narrow(bits));
    hn::StoreU(hn::DemoteTo(codes, code), codes, to + at);
  }
  return at;
}

template <typename Code, typename Widen>
std::size_t widen_vectors(const Code* from, float* to, std::size_t count, const Widen& widen) {
  const Floats floats;
  const hn::Rebind<Code, Floats> codes;
  const std::size_t lanes = hn::Lanes(floats);
  std::size_t at = 0;
  for (; at + lanes <= count; at += lanes) {
    const auto bits = widen(hn::PromoteTo(Words(), hn::LoadU(codes, from + at)));
    hn::StoreU(hn::BitCast(floats, bits), floats, to + at);
  }
  return at;
}

std::size_t NarrowBf16(const float* from, std::uint16_t* to, std::size_t count) {
  return narrow_vectors(from, to, count, [](WordVector bits) { return round_to_bf16(bits); });
}
std::size_t NarrowFp16(const float* from, std::uint16_t* to, std::size_t count) {
  return narrow_vectors(from, to, count,
                        [](WordVector bits) { return round_to_small<13>(bits, internal::kFp16); });
}
std::size_t NarrowFp8(const float* from, std::uint8_t* to, std::size_t count) {
  return narrow_vectors(from, to, count, [](WordVector bits) {
    return round_to_small<20>(bits, internal::kFp8E4m3);
  });
}
std::size_t WidenBf16(const std::uint16_t* from, float* to, std::size_t count) {
  return widen_vectors(from, to, count, [](WordVector code) { return hn::ShiftLeft<16>(code); });
}
std::size_t WidenFp16(const std::uint16_t* from, float* to, std::size_t count) {
  return widen_vectors(from, to, count, [](WordVector code) { return widen_fp16(code); });
}
std::size_t WidenFp8(const std::uint8_t* from, float* to, std::size_t count) {
  return widen_vectors(from, to, count, [](WordVector code) { return widen_fp8_e4m3(code); });
}

}  // namespace crossdock::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "base/check.h"

namespace crossdock {
HWY_EXPORT(NarrowBf16);
HWY_EXPORT(NarrowFp16);
HWY_EXPORT(NarrowFp8);
HWY_EXPORT(WidenBf16);
HWY_EXPORT(WidenFp16);
HWY_EXPORT(WidenFp8);

namespace {

/// The elements that do not fill a vector.
template <typename From, typename To, typename One>
void convert_rest(std::span<const From> from, std::span<To> to, std::size_t at, const One& one) {
  for (; at < from.size(); ++at) {
    to[at] = one(from[at]);
  }
}

void check_lengths(std::size_t from, std::size_t to) {
  CROSSDOCK_CHECK(from == to, "from {} elements, to {}", from, to);
}

// Bf16, Fp16 and Fp8E4m3 are their bits and nothing else.
static_assert(sizeof(Bf16) == 2 && sizeof(Fp16) == 2 && sizeof(Fp8E4m3) == 1);

}  // namespace

void convert(std::span<const float> from, std::span<Bf16> to) {
  check_lengths(from.size(), to.size());
  const std::size_t done = HWY_DYNAMIC_DISPATCH(NarrowBf16)(
      from.data(), reinterpret_cast<std::uint16_t*>(to.data()), from.size());
  convert_rest(from, to, done, to_bf16);
}

void convert(std::span<const float> from, std::span<Fp16> to) {
  check_lengths(from.size(), to.size());
  const std::size_t done = HWY_DYNAMIC_DISPATCH(NarrowFp16)(
      from.data(), reinterpret_cast<std::uint16_t*>(to.data()), from.size());
  convert_rest(from, to, done, to_fp16);
}

void convert(std::span<const float> from, std::span<Fp8E4m3> to) {
  check_lengths(from.size(), to.size());
  const std::size_t done = HWY_DYNAMIC_DISPATCH(NarrowFp8)(
      from.data(), reinterpret_cast<std::uint8_t*>(to.data()), from.size());
  convert_rest(from, to, done, to_fp8_e4m3);
}

void convert(std::span<const Bf16> from, std::span<float> to) {
  check_lengths(from.size(), to.size());
  const std::size_t done = HWY_DYNAMIC_DISPATCH(WidenBf16)(
      reinterpret_cast<const std::uint16_t*>(from.data()), to.data(), from.size());
  convert_rest(from, to, done, [](Bf16 value) { return to_fp32(value); });
}

void convert(std::span<const Fp16> from, std::span<float> to) {
  check_lengths(from.size(), to.size());
  const std::size_t done = HWY_DYNAMIC_DISPATCH(WidenFp16)(
      reinterpret_cast<const std::uint16_t*>(from.data()), to.data(), from.size());
  convert_rest(from, to, done, [](Fp16 value) { return to_fp32(value); });
}

void convert(std::span<const Fp8E4m3> from, std::span<float> to) {
  check_lengths(from.size(), to.size());
  const std::size_t done = HWY_DYNAMIC_DISPATCH(WidenFp8)(
      reinterpret_cast<const std::uint8_t*>(from.data()), to.data(), from.size());
  convert_rest(from, to, done, [](Fp8E4m3 value) { return to_fp32(value); });
}

}  // namespace crossdock
#endif  // HWY_ONCE
