// SPDX-License-Identifier: Apache-2.0
// Sizes and places in memory: alignment, arithmetic that cannot wrap, and LayoutBuilder, with which
// a memory layout is stated once and used by hint, allocator and engine alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

namespace crossdock {

inline constexpr std::size_t kCacheLineBytes = 64;

[[nodiscard]] constexpr bool is_power_of_two(std::uint64_t value) {
  return value != 0 && (value & (value - 1)) == 0;
}

/// The product or sum, or nothing when 64 bits do not hold it.
[[nodiscard]] constexpr std::optional<std::uint64_t> checked_mul(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) {
    return std::nullopt;
  }
  return product;
}
[[nodiscard]] constexpr std::optional<std::uint64_t> checked_add(std::uint64_t a, std::uint64_t b) {
  std::uint64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) {
    return std::nullopt;
  }
  return sum;
}

/// `value` rounded up to a multiple of `alignment` (any positive number, not only powers of two);
/// the largest 64-bit number when the multiple does not fit.
[[nodiscard]] constexpr std::uint64_t align_up(std::uint64_t value, std::uint64_t alignment) {
  const std::uint64_t over = value % alignment;
  if (over == 0) {
    return value;
  }
  return checked_add(value, alignment - over).value_or(std::numeric_limits<std::uint64_t>::max());
}

/// "0 B", "1023 B", "4 KiB", "1.5 GiB": at most one decimal, binary units.
[[nodiscard]] std::string format_bytes(std::uint64_t byte_count);

/// Adds regions one after the other and returns where each begins. A layout too large for 64 bits
/// makes the builder overflowed() for good, with byte_count() at the largest number, so that one
/// question at the end is enough. Plain value; any thread that owns it.
class LayoutBuilder {
 public:
  /// Room for `count` values of T; `alignment` is a power of two, at least alignof(T) is used.
  template <typename T>
  std::uint64_t add(std::uint64_t count, std::uint64_t alignment = alignof(T)) {
    const auto size = checked_mul(count, sizeof(T));
    overflowed_ = overflowed_ || !size;
    return add_bytes(size.value_or(0), alignment > alignof(T) ? alignment : alignof(T));
  }
  /// `count` rows, each `row_bytes` rounded up to `row_alignment`, the first one aligned as well.
  std::uint64_t add_rows(std::uint64_t count, std::uint64_t row_bytes,
                         std::uint64_t row_alignment = kCacheLineBytes);
  std::uint64_t add_bytes(std::uint64_t byte_count, std::uint64_t alignment);

  /// The end of the last region.
  [[nodiscard]] std::uint64_t byte_count() const {
    return overflowed_ ? std::numeric_limits<std::uint64_t>::max() : byte_count_;
  }
  [[nodiscard]] bool overflowed() const { return overflowed_; }

 private:
  std::uint64_t byte_count_ = 0;
  bool overflowed_ = false;
};

}  // namespace crossdock
