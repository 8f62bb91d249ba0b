// SPDX-License-Identifier: Apache-2.0
#include "routing/normalise.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>

#include "base/check.h"
#include "crossdock/status.h"

namespace crossdock::routing {
namespace {

// The sign bit is set when id < -1 (first term) or id >= expert_count (second term).
template <typename Id>
std::make_unsigned_t<Id> outside(Id id, int expert_count) {
  using Bits = std::make_unsigned_t<Id>;
  return (static_cast<Bits>(id) + 1) |
         (static_cast<Bits>(expert_count - 1) - static_cast<Bits>(id));
}

template <typename Id>
bool all_in_range(std::span<const Id> ids, int expert_count) {
  // A fixed inner count lets compilers use vectors at -O2.
  constexpr std::size_t kBlock = 8;
  std::make_unsigned_t<Id> any_outside = 0;
  std::size_t index = 0;
  for (; index + kBlock <= ids.size(); index += kBlock) {
    for (std::size_t lane = 0; lane < kBlock; ++lane) {
      any_outside |= outside(ids[index + lane], expert_count);
    }
  }
  for (; index < ids.size(); ++index) {
    any_outside |= outside(ids[index], expert_count);
  }
  return any_outside <= std::numeric_limits<decltype(any_outside)>::max() / 2;
}

template <typename Id>
[[gnu::cold]] Status refuse_range(std::span<const Id> ids, std::size_t lane_count,
                                  int expert_count) {
  const auto bad = std::find_if(ids.begin(), ids.end(),
                                [=](Id id) { return id < -1 || id >= Id{expert_count}; });
  const auto index = static_cast<std::size_t>(bad - ids.begin());
  return {StatusKind::kInvalidArgument, Scope::kOperation,
          fmt::format("topk_ids row {} column {} is {}; allowed: 0 .. {}, or -1 for no route",
                      index / lane_count, index % lane_count, *bad, expert_count - 1)};
}

// The experts of one token. Exact for up to kBits experts; with more, two of them can meet in one
// bit, so that a hit has to be confirmed.
class SeenExperts {
 public:
  void clear() { words_.fill(0); }
  // Whether the expert's bit was set already.
  bool insert(std::uint64_t expert) {
    std::uint64_t& word = words_[(expert / 64) % kWords];
    const std::uint64_t bit = std::uint64_t{1} << (expert % 64);
    const bool was_set = (word & bit) != 0;
    word |= bit;
    return was_set;
  }

 private:
  static constexpr std::size_t kWords = 16;
  std::array<std::uint64_t, kWords> words_{};
};

template <typename Id>
Status refuse_repetition(std::span<const Id> ids, std::size_t lane_count) {
  SeenExperts seen;
  for (std::size_t first = 0; first < ids.size(); first += lane_count) {
    seen.clear();
    for (std::size_t lane = 0; lane < lane_count; ++lane) {
      const Id id = ids[first + lane];
      if (id < 0 || !seen.insert(static_cast<std::uint64_t>(id))) [[likely]] {
        continue;
      }
      for (std::size_t earlier = 0; earlier < lane; ++earlier) {
        if (ids[first + earlier] == id) {
          return {StatusKind::kInvalidArgument, Scope::kOperation,
                  fmt::format("topk_ids row {} has expert {} in columns {} and {}; allowed: an "
                              "expert once per token",
                              first / lane_count, id, earlier, lane)};
        }
      }
    }
  }
  return {};
}

template <typename Id>
Status normalise(std::span<const Id> ids, std::size_t lane_count, int expert_count,
                 std::span<std::int32_t> out) {
  if (!all_in_range(ids, expert_count)) {
    return refuse_range(ids, lane_count, expert_count);
  }
  Status repetition = refuse_repetition(ids, lane_count);
  if (!repetition.ok()) {
    return repetition;
  }
  std::transform(ids.begin(), ids.end(), out.begin(),
                 [](Id id) { return static_cast<std::int32_t>(id); });
  return {};
}

void check_shape(std::size_t id_count, std::size_t out_count, std::int64_t token_count, int topk) {
  CROSSDOCK_CHECK(1 <= topk && topk <= kLanesMax, "topk {}; allowed 1 .. {}", topk, kLanesMax);
  CROSSDOCK_CHECK(token_count >= 0, "token count {}", token_count);
  const auto route_count = static_cast<std::size_t>(token_count) * static_cast<std::size_t>(topk);
  CROSSDOCK_CHECK(id_count == route_count && out_count == route_count,
                  "{} ids into {} for {} tokens x {} lanes", id_count, out_count, token_count,
                  topk);
}

}  // namespace

Status normalise_topk(std::span<const std::int32_t> ids, std::int64_t token_count, int topk,
                      int expert_count, std::span<std::int32_t> out) {
  check_shape(ids.size(), out.size(), token_count, topk);
  return normalise(ids, static_cast<std::size_t>(topk), expert_count, out);
}

Status normalise_topk(std::span<const std::int64_t> ids, std::int64_t token_count, int topk,
                      int expert_count, std::span<std::int32_t> out) {
  check_shape(ids.size(), out.size(), token_count, topk);
  return normalise(ids, static_cast<std::size_t>(topk), expert_count, out);
}

}  // namespace crossdock::routing
