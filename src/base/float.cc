// SPDX-License-Identifier: Apache-2.0
#include "base/float.h"

#include <cstddef>
#include <cstdint>
#include <span>

// Everything between here and HWY_ONCE is compiled once for each instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "base/float.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "base/float_vector-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace crossdock::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

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
