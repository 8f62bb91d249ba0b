// SPDX-License-Identifier: Apache-2.0
#include "fabric/agreement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <span>

#include "base/check.h"
#include "base/status_macros.h"

namespace crossdock::fabric {
namespace {

// blob   = pair_count:u32le pair*
// pair   = string(name) string(value)
// string = byte_count:u32le byte*
constexpr std::size_t kCountBytes = 4;
constexpr std::size_t kShownCharactersMax = 80;

void append_count(std::vector<std::byte>& blob, std::size_t count) {
  CROSSDOCK_CHECK(count <= std::numeric_limits<std::uint32_t>::max(), "count {}", count);
  for (std::size_t shift = 0; shift < 8 * kCountBytes; shift += 8) {
    blob.push_back(static_cast<std::byte>((count >> shift) & 0xff));
  }
}

void append_string(std::vector<std::byte>& blob, std::string_view text) {
  append_count(blob, text.size());
  const auto bytes = std::as_bytes(std::span(text));
  blob.insert(blob.end(), bytes.begin(), bytes.end());
}

std::optional<std::uint32_t> take_count(std::span<const std::byte>& rest) {
  if (rest.size() < kCountBytes) {
    return std::nullopt;
  }
  std::uint32_t count = 0;
  for (std::size_t i = 0; i < kCountBytes; ++i) {
    count |= std::to_integer<std::uint32_t>(rest[i]) << (8 * i);
  }
  rest = rest.subspan(kCountBytes);
  return count;
}

std::optional<std::string> take_string(std::span<const std::byte>& rest) {
  const auto byte_count = take_count(rest);
  if (!byte_count || *byte_count > rest.size()) {
    return std::nullopt;
  }
  const auto bytes = rest.first(*byte_count);
  rest = rest.subspan(*byte_count);
  std::string text(bytes.size(), '\0');
  std::transform(bytes.begin(), bytes.end(), text.begin(),
                 [](std::byte byte) { return std::to_integer<char>(byte); });
  return text;
}

/// Nothing when the bytes are not exactly one blob: a peer wrote them.
std::optional<NamedValues> decode_agreement(std::span<const std::byte> blob) {
  const auto pair_count = take_count(blob);
  if (!pair_count) {
    return std::nullopt;
  }
  NamedValues values;  // No reserve: the count is the peer's claim.
  for (std::uint32_t i = 0; i < *pair_count; ++i) {
    auto name = take_string(blob);
    auto value = name ? take_string(blob) : std::nullopt;
    if (!value) {
      return std::nullopt;
    }
    values.emplace_back(*std::move(name), *std::move(value));
  }
  return blob.empty() ? std::optional(std::move(values)) : std::nullopt;
}

/// One printable line of bounded length, whatever a peer sent.
std::string shown(std::string_view text) {
  std::string line;
  for (const char character : text.substr(0, kShownCharactersMax)) {
    const auto code = static_cast<unsigned char>(character);
    line += code < 0x20 || code == 0x7f ? '?' : character;
  }
  return text.size() > kShownCharactersMax ? line + "..." : line;
}

std::string shown_value(const std::optional<std::string>& value) {
  return value ? (value->empty() ? "an empty value" : shown(*value)) : "no such value";
}

using RankValues = std::vector<std::optional<std::string>>;  // [rank]

/// The value that most ranks hold; of equally frequent ones, that of the lowest rank.
const std::optional<std::string>& majority(const RankValues& values) {
  std::map<std::optional<std::string>, std::size_t> holder_count;
  for (const auto& value : values) {
    ++holder_count[value];
  }
  return *std::max_element(values.begin(), values.end(), [&](const auto& a, const auto& b) {
    return holder_count[a] < holder_count[b];
  });
}

Status compare_values(std::string_view name, const RankValues& values) {
  const auto& expected = majority(values);
  const auto holder = std::find(values.begin(), values.end(), expected);
  const auto deviant = std::find_if(values.begin(), values.end(),
                                    [&](const auto& value) { return value != expected; });
  if (deviant == values.end()) {
    return {};
  }
  const auto culprit = static_cast<int>(deviant - values.begin());
  return Status(
      StatusKind::kMismatch, Scope::kCommunicator,
      fmt::format("ranks disagree about {}: rank {} has {}, rank {} has {}", shown(name),
                  holder - values.begin(), shown_value(*holder), culprit, shown_value(*deviant)),
      culprit);
}

std::optional<std::string> find_value(const NamedValues& values, std::string_view name) {
  for (const auto& [candidate, value] : values) {
    if (candidate == name) {
      return value;
    }
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::byte> encode_agreement(const NamedValues& values) {
  std::vector<std::byte> blob;
  append_count(blob, values.size());
  for (const auto& [name, value] : values) {
    append_string(blob, name);
    append_string(blob, value);
  }
  return blob;
}

Status compare_agreement(const std::vector<std::vector<std::byte>>& blobs) {
  // The same bytes on every rank say the same: no need to read them. The usual case.
  if (std::adjacent_find(blobs.begin(), blobs.end(), std::not_equal_to<>()) == blobs.end()) {
    return {};
  }
  std::vector<NamedValues> ranks;  // [rank]
  for (const auto& blob : blobs) {
    auto values = decode_agreement(blob);
    if (!values) {
      const auto culprit = static_cast<int>(ranks.size());
      return Status(
          StatusKind::kMismatch, Scope::kCommunicator,
          fmt::format("rank {} sent an unreadable agreement of {} bytes", culprit, blob.size()),
          culprit);
    }
    ranks.push_back(*std::move(values));
  }
  for (const auto& listed : ranks) {  // Every rank's names: one may have a name that others lack.
    for (const auto& [name, unused] : listed) {
      RankValues values;
      for (const auto& rank_values : ranks) {
        values.push_back(find_value(rank_values, name));
      }
      CROSSDOCK_RETURN_IF_ERROR(compare_values(name, values));
    }
  }
  return {};
}

}  // namespace crossdock::fabric
