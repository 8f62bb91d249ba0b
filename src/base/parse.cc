// SPDX-License-Identifier: Apache-2.0
#include "base/parse.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/status_macros.h"
#include "crossdock/status.h"

namespace crossdock {
namespace {

Status not_allowed(std::string_view text, std::string_view what, std::string_view allowed) {
  return {StatusKind::kInvalidArgument, Scope::kOperation,
          fmt::format("{} is not {}; allowed: {}", quote(text), what, allowed)};
}

/// Shared by all numbers: the whole text, and inside the range. `what` and `allowed` are for
/// people.
template <typename T>
Result<T> parse_number(std::string_view text, Range<T> range, std::string_view what,
                       std::string_view allowed) {
  T value{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  const bool whole = error == std::errc() && stop == end;
  // The negation also refuses NaN.
  if (!whole || !(value >= range.min && value <= range.max)) {
    return not_allowed(text, what, allowed);
  }
  return value;
}

template <typename T>
Result<T> parse_integer(std::string_view text, Range<T> range) {
  return parse_number(text, range, "an integer in range",
                      fmt::format("{} .. {}", range.min, range.max));
}

struct ByteUnit {
  std::string_view name;
  std::uint64_t bytes;
};
// Longest names first: "B" is the end of all others.
constexpr std::array<ByteUnit, 5> kByteUnits = {
    {{"TiB", 1ULL << 40}, {"GiB", 1ULL << 30}, {"MiB", 1ULL << 20}, {"KiB", 1ULL << 10}, {"B", 1}}};

double seconds_of(Duration duration) { return std::chrono::duration<double>(duration).count(); }

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

Result<std::int64_t> parse_int64(std::string_view text, Range<std::int64_t> range) {
  return parse_integer(text, range);
}

Result<std::uint64_t> parse_uint64(std::string_view text, Range<std::uint64_t> range) {
  return parse_integer(text, range);
}

Result<double> parse_double(std::string_view text, Range<double> range) {
  const bool unlimited = range.min == Range<double>().min && range.max == Range<double>().max;
  return parse_number(
      text, range, "a number in range",
      unlimited ? std::string("any finite number") : fmt::format("{} .. {}", range.min, range.max));
}

Result<bool> parse_bool(std::string_view text) {
  for (const std::string_view yes : {"1", "true", "yes", "on"}) {
    if (text == yes) {
      return true;
    }
  }
  for (const std::string_view no : {"0", "false", "no", "off"}) {
    if (text == no) {
      return false;
    }
  }
  return not_allowed(text, "a yes or no", "1, true, yes, on, 0, false, no, off");
}

Result<Duration> parse_seconds(std::string_view text, Range<Duration> range) {
  const std::string allowed =
      fmt::format("{} .. {} seconds", seconds_of(range.min), seconds_of(range.max));
  CROSSDOCK_ASSIGN_OR_RETURN(
      const double seconds,
      parse_number<double>(text, {-seconds_of(kDurationMax), seconds_of(kDurationMax)},
                           "a duration in range", allowed));
  const Duration duration(std::llround(seconds * 1e9));
  if (duration < range.min || duration > range.max) {
    return not_allowed(text, "a duration in range", allowed);
  }
  return duration;
}

Result<std::uint64_t> parse_byte_size(std::string_view text, Range<std::uint64_t> range) {
  const std::string allowed = fmt::format(
      "{} .. {} bytes, as a number with B, KiB, MiB, GiB, TiB or nothing", range.min, range.max);
  std::string_view number = text;
  std::uint64_t unit_bytes = 1;
  for (const ByteUnit& unit : kByteUnits) {
    if (text.ends_with(unit.name)) {
      number = text.substr(0, text.size() - unit.name.size());
      unit_bytes = unit.bytes;
      break;
    }
  }
  // Whole numbers exactly; a decimal part only where a double can hold the result.
  std::uint64_t whole = 0;
  const char* const end = number.data() + number.size();
  const auto [stop, error] = std::from_chars(number.data(), end, whole);
  std::uint64_t size = 0;
  if (error == std::errc() && stop == end) {
    if (__builtin_mul_overflow(whole, unit_bytes, &size)) {
      return not_allowed(text, "a size in range", allowed);
    }
  } else {
    const auto decimal = parse_double(number, {0.0, 8.0e6});
    if (!decimal.ok() || unit_bytes == 1) {
      return not_allowed(text, "a size", allowed);
    }
    size = static_cast<std::uint64_t>(*decimal * static_cast<double>(unit_bytes));
  }
  if (size < range.min || size > range.max) {
    return not_allowed(text, "a size in range", allowed);
  }
  return size;
}

Result<std::size_t> parse_choice(std::string_view text, std::vector<std::string_view> allowed) {
  const auto found = std::find(allowed.begin(), allowed.end(), text);
  if (found == allowed.end()) {
    return not_allowed(text, "a known choice", fmt::format("{}", fmt::join(allowed, ", ")));
  }
  return static_cast<std::size_t>(found - allowed.begin());
}

Result<RankToken> parse_rank_token(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon != std::string_view::npos) {
    const auto rank = parse_int64(text.substr(0, colon), {0, std::numeric_limits<int>::max()});
    const auto token =
        parse_int64(text.substr(colon + 1), {0, std::numeric_limits<std::int64_t>::max()});
    if (rank.ok() && token.ok()) {
      return RankToken{.rank = static_cast<int>(*rank), .token = *token};
    }
  }
  return not_allowed(text, "RANK:TOKEN", "two whole numbers >= 0, like 0:5");
}

Result<HostPort> parse_host_port(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon != std::string_view::npos && colon > 0) {
    std::string_view host = text.substr(0, colon);
    const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
    if (bracketed) {
      host = host.substr(1, host.size() - 2);
    }
    const auto port = parse_int64(text.substr(colon + 1), {1, 65535});
    // Without brackets a second colon leaves open where the port begins.
    if (port.ok() && (bracketed || host.find(':') == std::string_view::npos)) {
      return HostPort{.host = std::string(host), .port = static_cast<std::uint16_t>(*port)};
    }
  }
  return not_allowed(text, "HOST:PORT", "a host name or address, a colon, a port 1 .. 65535");
}

Result<std::vector<std::string_view>> parse_list(std::string_view text) {
  std::vector<std::string_view> parts;
  if (text.empty()) {
    return parts;
  }
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    if (comma == begin) {
      return not_allowed(text, "a list", "values with one comma between them, none empty");
    }
    parts.push_back(text.substr(begin, comma - begin));
    begin = comma + 1;
  }
  return parts;
}

Result<std::vector<std::int64_t>> parse_int64_list(std::string_view text,
                                                   Range<std::int64_t> range) {
  CROSSDOCK_ASSIGN_OR_RETURN(const auto parts, parse_list(text));
  std::vector<std::int64_t> values;
  values.reserve(parts.size());
  for (const std::string_view part : parts) {
    CROSSDOCK_ASSIGN_OR_RETURN(const std::int64_t value, parse_int64(part, range));
    values.push_back(value);
  }
  return values;
}

std::string quote(std::string_view text) {
  constexpr std::size_t kShown = 80;
  std::string result = "'";
  for (const char letter : text.substr(0, kShown)) {
    const auto code = static_cast<unsigned char>(letter);
    if (code >= 0x20 && code < 0x7f) {
      result += letter;
    } else {
      result += fmt::format("\\x{:02x}", code);
    }
  }
  result += text.size() > kShown ? "...'" : "'";
  return result;
}

std::string_view nearest_name(std::string_view name,
                              const std::vector<std::string_view>& candidates) {
  std::string_view nearest;
  std::size_t least = name.size() / 3 + 1;
  for (const std::string_view candidate : candidates) {
    // So many edits it takes at least; looking first keeps a very long name cheap.
    const std::size_t longer = std::max(name.size(), candidate.size());
    if (longer - std::min(name.size(), candidate.size()) >= least) {
      continue;
    }
    if (const std::size_t distance = edit_distance(name, candidate); distance < least) {
      least = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

}  // namespace crossdock
