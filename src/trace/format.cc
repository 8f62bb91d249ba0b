// SPDX-License-Identifier: Apache-2.0
#include "trace/format.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace crossdock::trace {

std::string format_duration(Duration duration) {
  static constexpr std::array<std::string_view, 3> kUnits = {"us", "ms", "s"};
  double value = static_cast<double>(duration.count());
  if (std::abs(value) < 1000) {
    return fmt::format("{} ns", duration.count());
  }
  value /= 1000;
  std::size_t unit = 0;
  // 999.5 would print as 1000: the next unit says it better.
  while (unit + 1 < kUnits.size() && std::abs(value) >= 999.5) {
    value /= 1000;
    ++unit;
  }
  const double size = std::abs(value);
  const int digits = size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f} {}", value, digits, kUnits[unit]);
}

}  // namespace crossdock::trace
