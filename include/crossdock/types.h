// SPDX-License-Identifier: Apache-2.0
// Small shared vocabulary: ranks, element types, layouts, modes.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace crossdock {

/// A rank of a communicator, 0 .. size-1. A type of its own so that it cannot be swapped with a
/// count or an expert.
struct RankId {
  int value = 0;
  friend auto operator<=>(const RankId&, const RankId&) = default;
};

/// What one element of a row is. kBytes rows are moved and never summed: dispatch only.
enum class ElementType : std::uint8_t { kBf16, kFp32, kBytes };

[[nodiscard]] constexpr std::size_t element_bytes(ElementType element) {
  switch (element) {
    case ElementType::kBf16:
      return 2;
    case ElementType::kFp32:
      return 4;
    case ElementType::kBytes:
      return 1;
  }
  return 0;
}

/// kPlain: one row per (token, destination rank), by source rank, then token order.
/// kExpanded: one row per route, grouped by local expert (each group starts at a multiple of the
/// expert alignment), inside a group by source rank, then token order.
enum class RowLayout : std::uint8_t { kPlain, kExpanded };

/// kThroughput: counts first, then every row straight to its final place.
/// kLatency: one round into a fixed landing area per source, unpacked by the receiver.
/// kAuto: by the declared largest token count of the call and whether ranks share cores (equal on
/// all ranks).
enum class Mode : std::uint8_t { kAuto, kThroughput, kLatency };

/// What the alignment gaps of the expanded layout hold after dispatch.
enum class Padding : std::uint8_t { kUndefined, kZero };

/// Who moves bytes inside a host. kDirect: the caller, by its own stores into the peer's window.
/// kQueued: a copy engine, a thread beside the caller, from work requests that the caller posts.
/// kAuto: kDirect today.
enum class Way : std::uint8_t { kAuto, kDirect, kQueued };

[[nodiscard]] std::string_view to_string(ElementType element);
[[nodiscard]] std::string_view to_string(RowLayout layout);
[[nodiscard]] std::string_view to_string(Mode mode);
[[nodiscard]] std::string_view to_string(Way way);

}  // namespace crossdock
