// SPDX-License-Identifier: Apache-2.0
// The small formats of float.h in vectors, one number in the low bits of each 32-bit lane. Included
// once for each instruction set, so it has a guard that toggles instead of a pragma.
// Invariant: the same bits as the scalar conversions of float.h.
// Thread rule: pure functions.
#if defined(CROSSDOCK_BASE_FLOAT_VECTOR_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CROSSDOCK_BASE_FLOAT_VECTOR_INL_H
#undef CROSSDOCK_BASE_FLOAT_VECTOR_INL_H
#else
#define CROSSDOCK_BASE_FLOAT_VECTOR_INL_H
#endif

#include <cstdint>

#include "base/float.h"
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

}  // namespace crossdock::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard that toggles
