// SPDX-License-Identifier: Apache-2.0
// The small floating point formats and fp32: scalar constexpr conversions and array ones that give
// the same bits. To a small format: one rounding, to nearest, ties to even; subnormals exact.
//   bf16   1+8+7, fp16 1+5+10: infinities and overflow give infinity; a NaN keeps its sign and the
//          upper payload bits and becomes quiet.
//   fp8 e4m3fn 1+4+3: no infinity; largest 448. What rounds above it, and infinity, gives NaN
//          (0x7f with the sign), as torch.float8_e4m3fn does; nothing saturates. NaN has no
//          payload.
// To fp32: exact; signalling NaNs of fp16 become quiet, those of bf16 keep every bit.
// Thread rule: pure functions.
#pragma once

#include <bit>
#include <cstdint>
#include <span>

namespace crossdock {

/// Raw bits of each format; a type of their own so that they cannot be swapped or added.
struct Bf16 {
  std::uint16_t bits = 0;
  friend constexpr bool operator==(const Bf16&, const Bf16&) = default;
};
struct Fp16 {
  std::uint16_t bits = 0;
  friend constexpr bool operator==(const Fp16&, const Fp16&) = default;
};
struct Fp8E4m3 {
  std::uint8_t bits = 0;
  friend constexpr bool operator==(const Fp8E4m3&, const Fp8E4m3&) = default;
};

[[nodiscard]] constexpr float to_fp32(Bf16 value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16);
}

[[nodiscard]] constexpr Bf16 to_bf16(float value) {
  std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) {
    bits |= 0x00400000u;  // Quiet; and rounding must not carry a NaN into an infinity.
  } else {
    bits += 0x7fffu + ((bits >> 16) & 1u);
  }
  return {static_cast<std::uint16_t>(bits >> 16)};
}

namespace internal {

/// A format of 1 sign, exponent and mantissa bits, with gradual underflow and the same bias rule as
/// IEEE. The array conversions use these constants too.
struct SmallFormat {
  std::uint32_t mantissa_bits;
  std::uint32_t bias;
  std::uint32_t overflow_from;  // fp32 bits: this and above has no finite code
  std::uint32_t overflow_code;  // for overflow and infinity
  std::uint32_t nan_code;
  std::uint32_t sign_shift;  // from bit 31 to the format's sign

  /// How far an fp32 mantissa moves right.
  [[nodiscard]] constexpr std::uint32_t shift() const { return 23 - mantissa_bits; }
  /// fp32 bits of the smallest normal number.
  [[nodiscard]] constexpr std::uint32_t normal_from() const { return (127 - bias + 1) << 23; }
  /// fp32 bits of the number whose last mantissa bit is worth the format's smallest subnormal:
  /// adding it lets the processor round to that bit.
  [[nodiscard]] constexpr std::uint32_t subnormal_magic() const {
    return (127 - bias + shift() + 1) << 23;
  }
};

inline constexpr SmallFormat kFp16{.mantissa_bits = 10,
                                   .bias = 15,
                                   .overflow_from = 0x47800000u,  // 65536; 65520 .. carries itself
                                   .overflow_code = 0x7c00,
                                   .nan_code = 0x7e00,
                                   .sign_shift = 16};
inline constexpr SmallFormat kFp8E4m3{.mantissa_bits = 3,
                                      .bias = 7,
                                      .overflow_from = 0x43f00000u,  // 480; 464 < x carries itself
                                      .overflow_code = 0x7f,
                                      .nan_code = 0x7f,
                                      .sign_shift = 24};

/// All bits but the sign; `magnitude` is the fp32 without its sign.
[[nodiscard]] constexpr std::uint32_t to_small_magnitude(std::uint32_t magnitude,
                                                         const SmallFormat& format) {
  if (magnitude > 0x7f800000u) {
    // Payload bits that have room; with fp8 the NaN code has all bits set already.
    return format.nan_code | ((magnitude & 0x007fffffu) >> format.shift());
  }
  if (magnitude >= format.overflow_from) {
    return format.overflow_code;
  }
  if (magnitude < format.normal_from()) {
    const float magic = std::bit_cast<float>(format.subnormal_magic());
    return std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + magic) -
           format.subnormal_magic();
  }
  const std::uint32_t odd = (magnitude >> format.shift()) & 1u;
  const std::uint32_t half = (1u << (format.shift() - 1)) - 1u;
  return (magnitude - ((127 - format.bias) << 23) + half + odd) >> format.shift();
}

}  // namespace internal

[[nodiscard]] constexpr Fp16 to_fp16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits & 0x80000000u;
  return {static_cast<std::uint16_t>(internal::to_small_magnitude(bits ^ sign, internal::kFp16) |
                                     (sign >> internal::kFp16.sign_shift))};
}

[[nodiscard]] constexpr Fp8E4m3 to_fp8_e4m3(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits & 0x80000000u;
  return {static_cast<std::uint8_t>(internal::to_small_magnitude(bits ^ sign, internal::kFp8E4m3) |
                                    (sign >> internal::kFp8E4m3.sign_shift))};
}

[[nodiscard]] constexpr float to_fp32(Fp16 value) {
  const std::uint32_t sign = (value.bits & 0x8000u) << 16;
  std::uint32_t bits = (value.bits & 0x7fffu) << 13;
  const std::uint32_t exponent = bits & (0x7c00u << 13);
  bits += (127 - 15) << 23;
  if (exponent == (0x7c00u << 13)) {
    const bool nan = (value.bits & 0x03ffu) != 0;
    bits = (bits + ((128 - 16) << 23)) | (nan ? 0x00400000u : 0u);
  } else if (exponent == 0) {
    const float magic = std::bit_cast<float>(internal::kFp16.normal_from());
    bits = std::bit_cast<std::uint32_t>(std::bit_cast<float>(bits + (1u << 23)) - magic);
  }
  return std::bit_cast<float>(bits | sign);
}

[[nodiscard]] constexpr float to_fp32(Fp8E4m3 value) {
  const std::uint32_t sign = (value.bits & 0x80u) << 24;
  const std::uint32_t magnitude = value.bits & 0x7fu;
  std::uint32_t bits = (magnitude << 20) + ((127 - 7) << 23);
  if (magnitude == 0x7fu) {
    bits = 0x7fc00000u;
  } else if (magnitude < 8) {
    const float magic = std::bit_cast<float>(internal::kFp8E4m3.normal_from());
    bits = std::bit_cast<std::uint32_t>(std::bit_cast<float>(bits + (1u << 23)) - magic);
  }
  return std::bit_cast<float>(bits | sign);
}

/// Element by element, as the scalar conversions. Both spans have the same length and do not
/// overlap.
void convert(std::span<const float> from, std::span<Bf16> to);
void convert(std::span<const float> from, std::span<Fp16> to);
void convert(std::span<const float> from, std::span<Fp8E4m3> to);
void convert(std::span<const Bf16> from, std::span<float> to);
void convert(std::span<const Fp16> from, std::span<float> to);
void convert(std::span<const Fp8E4m3> from, std::span<float> to);

}  // namespace crossdock
