// SPDX-License-Identifier: Apache-2.0
// Which lanes are the first of their token that go to a rank. Two ways with one interface: a mask
// for small rank counts, and a look back over the earlier lanes for any. Internal to this room.
// Thread rule: plain values.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace crossdock::routing::internal {

class MaskOfRanks {
 public:
  static constexpr std::size_t kRanksMax = 64;

  void begin_token() { mask_ = 0; }
  /// Lanes of a token in ascending order; unused ones need not be asked for.
  bool is_first(std::span<const std::int32_t> owners_of_token, std::size_t lane) {
    const std::uint64_t bit = std::uint64_t{1} << owners_of_token[lane];
    const bool is_new = (mask_ & bit) == 0;
    mask_ |= bit;
    return is_new;
  }

 private:
  std::uint64_t mask_ = 0;
};

class LookBack {
 public:
  void begin_token() {}
  bool is_first(std::span<const std::int32_t> owners_of_token, std::size_t lane) {
    const auto here = owners_of_token.begin() + static_cast<std::ptrdiff_t>(lane);
    return std::find(owners_of_token.begin(), here, *here) == here;
  }
};

}  // namespace crossdock::routing::internal
