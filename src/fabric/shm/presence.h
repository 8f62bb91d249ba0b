// SPDX-License-Identifier: Apache-2.0
// The page on which a rank says how it is: alive, closed, or unable to go on and why. Written by
// its owner only, read by all peers of the host while they wait; it outlives the owner's process.
//
// Grammar of the page: state:u32 kind:u32 culprit:i32 reserved:u32 text[240] (zero-terminated);
// kind, culprit and text are written before `state` becomes kPoisoned and never after.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "crossdock/status.h"

namespace crossdock::fabric {

enum class PresenceState : std::uint32_t { kAlive = 0, kClosed = 1, kPoisoned = 2 };

struct Presence {
  std::atomic<std::uint32_t> state;
  std::uint32_t kind;
  std::int32_t culprit;
  std::uint32_t reserved;
  std::array<char, 240> text;

  [[nodiscard]] PresenceState observe() const {
    // Pairs with the compare-exchange in poison() and close().
    return static_cast<PresenceState>(state.load(std::memory_order_acquire));
  }
  /// The first poison or close wins. Owner's thread only.
  void poison(const Status& reason);
  void close();
  /// What the owner wrote, as seen by a peer. REQUIRES: observe() == kPoisoned.
  [[nodiscard]] Status reason(int owner) const;
};
static_assert(sizeof(Presence) == 256);
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

}  // namespace crossdock::fabric
