// SPDX-License-Identifier: Apache-2.0
#include "fabric/shm/presence.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace crossdock::fabric {

void Presence::poison(const Status& reason) {
  if (observe() != PresenceState::kAlive) {
    return;
  }
  kind = static_cast<std::uint32_t>(reason.kind());
  culprit = reason.culprit();
  const std::string_view message = reason.message();
  const std::size_t length = std::min(message.size(), text.size() - 1);
  std::copy_n(message.begin(), length, text.begin());
  text[length] = '\0';
  // Pairs with observe(): the text is complete before the state says so.
  state.store(static_cast<std::uint32_t>(PresenceState::kPoisoned), std::memory_order_release);
}

void Presence::close() {
  auto alive = static_cast<std::uint32_t>(PresenceState::kAlive);
  // Pairs with observe(): everything this rank did is visible to who sees it closed.
  state.compare_exchange_strong(alive, static_cast<std::uint32_t>(PresenceState::kClosed),
                                std::memory_order_acq_rel);
}

Status Presence::reason(int owner) const {
  const auto last = static_cast<std::uint32_t>(StatusKind::kInternal);
  const auto said = static_cast<StatusKind>(std::clamp<std::uint32_t>(
      kind, static_cast<std::uint32_t>(StatusKind::kInvalidArgument), last));
  const std::string_view words(text.data(), ::strnlen(text.data(), text.size()));
  if (culprit >= 0 && culprit != owner) {
    return {said, Scope::kCommunicator, fmt::format("{} (told by rank {})", words, owner), culprit};
  }
  return {said, Scope::kCommunicator, fmt::format("rank {} gave up: {}", owner, words), owner};
}

}  // namespace crossdock::fabric
