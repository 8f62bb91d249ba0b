// SPDX-License-Identifier: Apache-2.0
// Strict text parsing, independent of the locale: the whole text must be the value, without spaces.
// Every error is one kInvalidArgument line that quotes the text and says what is allowed.
// Thread rule: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "crossdock/status.h"

namespace crossdock {

/// Both ends belong to the range.
template <typename T>
struct Range {
  T min = std::numeric_limits<T>::lowest();
  T max = std::numeric_limits<T>::max();
};

/// Decimal with an optional minus sign.
Result<std::int64_t> parse_int64(std::string_view text, Range<std::int64_t> range = {});
Result<std::uint64_t> parse_uint64(std::string_view text, Range<std::uint64_t> range = {});
/// Finite numbers only, "0.5" or "1e-3".
Result<double> parse_double(std::string_view text, Range<double> range = {});
/// 1, true, yes, on, 0, false, no, off; lower case.
Result<bool> parse_bool(std::string_view text);
/// Seconds, "2.5"; rounded to a nanosecond. At most kDurationMax.
inline constexpr Duration kDurationMax = std::chrono::hours(24 * 365 * 100);
Result<Duration> parse_seconds(std::string_view text,
                               Range<Duration> range = {Duration::zero(), kDurationMax});
/// A whole or decimal number and B, KiB, MiB, GiB, TiB or nothing (bytes): "64MiB", "1.5GiB".
Result<std::uint64_t> parse_byte_size(std::string_view text, Range<std::uint64_t> range = {});
/// One of `allowed`; returns its index.
Result<std::size_t> parse_choice(std::string_view text, std::vector<std::string_view> allowed);

/// "RANK:TOKEN", both >= 0.
struct RankToken {
  int rank = 0;
  std::int64_t token = 0;
};
Result<RankToken> parse_rank_token(std::string_view text);

/// "host:port" with port 1..65535; an IPv6 host stands in brackets, which are removed.
struct HostPort {
  std::string host;
  std::uint16_t port = 0;
};
Result<HostPort> parse_host_port(std::string_view text);

/// "a,b,c" -> parts that view `text`; an empty text has no parts, an empty part is an error.
Result<std::vector<std::string_view>> parse_list(std::string_view text);
Result<std::vector<std::int64_t>> parse_int64_list(std::string_view text,
                                                   Range<std::int64_t> range = {});

/// The text in single quotes on one line: other than printable ASCII escaped as \xNN, and cut
/// after 80 characters. For every message that repeats what somebody else wrote.
[[nodiscard]] std::string quote(std::string_view text);

/// The candidate fewest edits away from `name`, or "" when none is close enough to be meant.
[[nodiscard]] std::string_view nearest_name(std::string_view name,
                                            const std::vector<std::string_view>& candidates);

}  // namespace crossdock
