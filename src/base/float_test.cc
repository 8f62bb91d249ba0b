// SPDX-License-Identifier: Apache-2.0
// The reference here shares nothing with the code under test: it decodes formats by the definition
// of their fields in double, and encodes by looking for the nearest code.
#include "base/float.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "base/test_targets.h"

namespace crossdock {
namespace {

struct Format {
  int exponent_bits;
  int mantissa_bits;
  bool has_infinity;

  [[nodiscard]] int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  [[nodiscard]] std::uint32_t sign_bit() const { return 1U << (exponent_bits + mantissa_bits); }
  [[nodiscard]] std::uint32_t infinity() const {
    return ((1U << exponent_bits) - 1) << mantissa_bits;
  }
  /// The largest code without sign that is a number.
  [[nodiscard]] std::uint32_t last_finite() const {
    return has_infinity ? infinity() - 1 : sign_bit() - 2;
  }
};
constexpr Format kBf16Format{8, 7, true};
constexpr Format kFp16Format{5, 10, true};
constexpr Format kFp8Format{4, 3, false};

/// The value of a code without sign, as if the exponent had no end: the code after the last finite
/// one then has the value at which rounding begins to overflow.
double magnitude_of(std::uint32_t code, const Format& format) {
  const std::uint32_t mantissa = code & ((1U << format.mantissa_bits) - 1);
  const int exponent = static_cast<int>(code >> format.mantissa_bits);
  const double fraction = std::ldexp(mantissa, -format.mantissa_bits);
  return exponent == 0 ? std::ldexp(fraction, 1 - format.bias())
                       : std::ldexp(1.0 + fraction, exponent - format.bias());
}

/// The code for a number or infinity by bisection over the ordered codes; -1 for NaN.
std::int64_t slow_encode(float value, const Format& format) {
  if (std::isnan(value)) {
    return -1;
  }
  const std::uint32_t sign = std::signbit(value) ? format.sign_bit() : 0;
  const double magnitude = std::fabs(static_cast<double>(value));
  std::uint32_t low = 0;
  std::uint32_t high = format.last_finite() + 1;
  while (high - low > 1) {
    const std::uint32_t middle = (low + high) / 2;
    (magnitude_of(middle, format) <= magnitude ? low : high) = middle;
  }
  const double below = magnitude - magnitude_of(low, format);
  const double above = magnitude_of(high, format) - magnitude;
  // Ties go to the even code.
  const std::uint32_t nearest = below < above || (below == above && low % 2 == 0) ? low : high;
  if (nearest > format.last_finite()) {
    return format.has_infinity ? static_cast<std::int64_t>(sign | format.infinity()) : -1;
  }
  return static_cast<std::int64_t>(sign | nearest);
}

bool is_nan_code(std::uint32_t code, const Format& format) {
  const std::uint32_t magnitude = code & (format.sign_bit() - 1);
  return format.has_infinity ? magnitude > format.infinity() : magnitude > format.last_finite();
}

/// Compares one code with the reference; "" when right.
std::string encode_problem(float value, std::uint32_t code, const Format& format) {
  const std::int64_t expected = slow_encode(value, format);
  const bool nan_is_quiet = is_nan_code(code, format) &&
                            (code & (1U << (format.mantissa_bits - 1))) != 0 &&
                            ((code & format.sign_bit()) != 0) == std::signbit(value);
  if (expected < 0 ? nan_is_quiet : code == static_cast<std::uint32_t>(expected)) {
    return {};
  }
  return "bits " + std::to_string(std::bit_cast<std::uint32_t>(value)) + " code " +
         std::to_string(code) + " expected " + std::to_string(expected);
}

/// Every place where rounding, overflow or underflow turns, with both neighbours, and random bits.
std::vector<float> interesting_inputs(const Format& format) {
  std::vector<float> inputs;
  const auto add_around = [&](double value) {
    const auto middle = static_cast<float>(value);
    const float infinity = std::numeric_limits<float>::infinity();
    for (const float input :
         {middle, std::nextafterf(middle, infinity), std::nextafterf(middle, -infinity)}) {
      inputs.push_back(input);
      inputs.push_back(-input);
    }
  };
  for (std::uint32_t code = 0; code <= format.last_finite(); ++code) {
    const double here = magnitude_of(code, format);
    add_around(here);
    add_around((here + magnitude_of(code + 1, format)) / 2);
  }
  for (const std::uint32_t bits : {0x7f800000U, 0xff800000U, 0x7f800001U, 0xff800001U, 0x7fc00000U,
                                   0x7fffffffU, 0xffffffffU, 0x00000001U, 0x007fffffU, 0x00800000U,
                                   0x7f7fffffU, 0xff7fffffU, 0x7f80ffffU, 0x7fbfffffU}) {
    inputs.push_back(std::bit_cast<float>(bits));
  }
  std::mt19937 random(20);
  for (int i = 0; i < 200'000; ++i) {
    inputs.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
  }
  return inputs;
}

template <typename Code>
void expect_encodes_like_reference(const Format& format, Code (*scalar)(float)) {
  const std::vector<float> inputs = interesting_inputs(format);
  for (const float input : inputs) {
    ASSERT_EQ(encode_problem(input, scalar(input).bits, format), "");
  }
  for_each_target([&] {
    std::vector<Code> codes(inputs.size());
    convert(inputs, codes);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      ASSERT_EQ(codes[i], scalar(inputs[i])) << "bits " << std::bit_cast<std::uint32_t>(inputs[i]);
    }
  });
}

TEST(Float, Bf16RoundsLikeTheReference) { expect_encodes_like_reference(kBf16Format, to_bf16); }
TEST(Float, Fp16RoundsLikeTheReference) { expect_encodes_like_reference(kFp16Format, to_fp16); }
TEST(Float, Fp8RoundsLikeTheReference) { expect_encodes_like_reference(kFp8Format, to_fp8_e4m3); }

/// Decodes every code of a format and encodes it again.
template <typename Code>
void expect_every_code_round_trips(const Format& format, Code (*encode)(float)) {
  std::vector<Code> codes;
  for (std::uint32_t code = 0; code < 2 * format.sign_bit(); ++code) {
    codes.push_back(Code{static_cast<decltype(Code::bits)>(code)});
  }
  for (const Code code : codes) {
    const float value = to_fp32(code);
    const bool negative = (code.bits & format.sign_bit()) != 0;
    ASSERT_EQ(std::signbit(value), negative) << code.bits;
    if (is_nan_code(code.bits, format)) {
      ASSERT_TRUE(std::isnan(value)) << code.bits;
      ASSERT_TRUE(is_nan_code(encode(value).bits, format)) << code.bits;
      continue;
    }
    const std::uint32_t magnitude = code.bits & (format.sign_bit() - 1);
    const bool infinite = format.has_infinity && magnitude == format.infinity();
    const double expected = infinite ? HUGE_VAL : magnitude_of(magnitude, format);
    ASSERT_EQ(std::fabs(static_cast<double>(value)), expected) << code.bits;
    ASSERT_EQ(encode(value), code) << code.bits;
  }
  for_each_target([&] {
    std::vector<float> values(codes.size());
    convert(codes, values);
    for (std::size_t i = 0; i < codes.size(); ++i) {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(values[i]),
                std::bit_cast<std::uint32_t>(to_fp32(codes[i])))
          << codes[i].bits;
    }
  });
}

TEST(Float, EveryBf16CodeHasItsValueAndComesBack) {
  expect_every_code_round_trips(kBf16Format, to_bf16);
}
TEST(Float, EveryFp16CodeHasItsValueAndComesBack) {
  expect_every_code_round_trips(kFp16Format, to_fp16);
}
TEST(Float, EveryFp8CodeHasItsValueAndComesBack) {
  expect_every_code_round_trips(kFp8Format, to_fp8_e4m3);
}

TEST(Float, Fp8OverflowsToNanLikeTorch) {
  EXPECT_EQ(to_fp8_e4m3(448.0F).bits, 0x7e);
  EXPECT_EQ(to_fp8_e4m3(464.0F).bits, 0x7e);  // A tie, to even.
  EXPECT_EQ(to_fp8_e4m3(464.1F).bits, 0x7f);
  EXPECT_EQ(to_fp8_e4m3(-1e30F).bits, 0xff);
  EXPECT_EQ(to_fp8_e4m3(std::numeric_limits<float>::infinity()).bits, 0x7f);
}

TEST(Float, ANanThatWouldRoundToInfinityStaysNan) {
  const auto nan = std::bit_cast<float>(0x7f80ffffU);
  EXPECT_EQ(to_bf16(nan).bits, 0x7fc0);
  EXPECT_EQ(to_fp16(nan).bits & 0x7e00, 0x7e00);
}

TEST(Float, ScalarConversionsWorkAtCompileTime) {
  static_assert(to_bf16(1.0F).bits == 0x3f80);
  static_assert(to_fp16(65504.0F).bits == 0x7bff);
  static_assert(to_fp16(5.9604645e-8F).bits == 1);
  static_assert(to_fp8_e4m3(0.001953125F).bits == 1);
  static_assert(to_fp32(Fp16{0x3c00}) == 1.0F);
  static_assert(to_fp32(Fp8E4m3{0x7e}) == 448.0F);
}

TEST(Float, ShortArraysUseTheScalarWayToTheSameBits) {
  for_each_target([] {
    for (std::size_t count = 0; count < 40; ++count) {
      const std::vector<float> from(count, 1.00390625F);  // A tie in bf16.
      std::vector<Bf16> to(count + 1, Bf16{0xeeee});
      convert(from, std::span(to).first(count));
      EXPECT_TRUE(std::all_of(to.begin(), to.end() - 1, [](Bf16 b) { return b.bits == 0x3f80; }));
      EXPECT_EQ(to.back().bits, 0xeeee);
    }
  });
}

TEST(FloatDeathTest, ArraysOfDifferentLengthAreAProgrammerError) {
  const std::vector<float> from(3);
  std::vector<Bf16> to(2);
  EXPECT_DEATH(convert(from, to), "from 3 elements, to 2");
}

}  // namespace
}  // namespace crossdock
