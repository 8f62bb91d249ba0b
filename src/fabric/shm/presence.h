// SPDX-License-Identifier: Apache-2.0
// The page on which a rank says how it is: alive, closed, or unable to go on and why. Written by
// its owner only, read by all peers of the host while they wait; it outlives the owner's process.
//
// Grammar of the page: state:u32 kind:u32 culprit:i32 awaited:i32 looked_ns:i64 text[232]
// (zero-terminated); kind, culprit and text are written before `state` becomes kPoisoned and never
// after. `awaited` is the rank that the owner waited for when it last looked, at `looked_ns`: hints
// for whoever has to say which rank is really missing.
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
  std::atomic<std::int32_t> awaited;
  std::atomic<std::int64_t> looked_ns;
  std::array<char, 232> text;

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
