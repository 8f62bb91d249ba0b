// SPDX-License-Identifier: Apache-2.0
// Seeded random numbers that are equal on every machine and with every standard library
// (std::uniform_int_distribution and its like are not).
// Thread rule: plain values.
#pragma once

#include <cstdint>

namespace crossdock {

/// A well-spread 64-bit value of two (the finaliser of SplitMix64 over their combination).
[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  std::uint64_t z = a + 0x9e3779b97f4a7c15ULL * (b + 1);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

/// SplitMix64.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() { return mix(state_++, 0); }
  /// 0 .. limit-1; limit > 0 and far below 2^64, so the bias of the remainder does not matter.
  std::uint64_t below(std::uint64_t limit) { return next() % limit; }
  /// (0, 1], 53 bits.
  double positive_unit() { return static_cast<double>((next() >> 11) + 1) * 0x1p-53; }
  /// [-1, 1), 24 bits.
  float symmetric() { return static_cast<float>(next() >> 40) * 0x1p-23F - 1.0F; }

 private:
  std::uint64_t state_;
};

}  // namespace crossdock
