// SPDX-License-Identifier: Apache-2.0
#include "base/bytes.h"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "base/check.h"

namespace crossdock {

std::string format_bytes(std::uint64_t byte_count) {
  static constexpr std::array<std::string_view, 7> kUnits = {"B",   "KiB", "MiB", "GiB",
                                                             "TiB", "PiB", "EiB"};
  std::size_t unit = 0;
  std::uint64_t unit_bytes = 1;
  while (unit + 1 < kUnits.size() && byte_count / unit_bytes >= 1024) {
    unit_bytes *= 1024;
    ++unit;
  }
  if (byte_count % unit_bytes == 0) {
    return fmt::format("{} {}", byte_count / unit_bytes, kUnits[unit]);
  }
  return fmt::format("{:.1f} {}", static_cast<double>(byte_count) / static_cast<double>(unit_bytes),
                     kUnits[unit]);
}

std::uint64_t LayoutBuilder::add_rows(std::uint64_t count, std::uint64_t row_bytes,
                                      std::uint64_t row_alignment) {
  const std::uint64_t stride = align_up(row_bytes, row_alignment);
  const auto size = checked_mul(count, stride);
  overflowed_ = overflowed_ || !size;
  return add_bytes(size.value_or(0), row_alignment);
}

std::uint64_t LayoutBuilder::add_bytes(std::uint64_t byte_count, std::uint64_t alignment) {
  CROSSDOCK_CHECK(is_power_of_two(alignment), "alignment {}", alignment);
  const std::uint64_t offset = align_up(byte_count_, alignment);
  const auto end = checked_add(offset, byte_count);
  overflowed_ = overflowed_ || !end || offset == std::numeric_limits<std::uint64_t>::max();
  byte_count_ = end.value_or(byte_count_);
  return offset;
}

}  // namespace crossdock
