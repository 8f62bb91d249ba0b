// SPDX-License-Identifier: Apache-2.0
#include "fabric/bootstrap/handshake.h"

#include <poll.h>

#include <algorithm>
#include <chrono>

namespace crossdock::fabric {
namespace {

constexpr auto kFarewellTime = std::chrono::milliseconds(500);

}  // namespace

void announce_failure(std::span<Connection* const> connections, const Status& reason) {
  const Deadline deadline = Deadline::after(monotonic_clock(), kFarewellTime);
  std::vector<Connection*> open;
  for (Connection* connection : connections) {
    connection->post(FrameKind::kError, 0, encode_error(reason));
    open.push_back(connection);
  }
  for (;;) {
    std::erase_if(open, [](Connection* connection) {
      return !connection->flush_some().ok() || !connection->has_unsent();
    });
    if (open.empty() || deadline.expired(monotonic_clock().now())) {
      return;
    }
    std::vector<pollfd> events;
    for (const Connection* connection : open) {
      events.push_back(connection->wanted_events());
      events.back().events = POLLOUT;
    }
    if (!poll_until(events, deadline).ok()) {
      return;
    }
  }
}

std::vector<std::byte> encode_join(const JoinPayload& join) {
  std::vector<std::byte> payload(join.leaf_nonce.begin(), join.leaf_nonce.end());
  append_u32(payload, join.size);
  append_u32(payload, join.process_id);
  return payload;
}

std::optional<JoinPayload> decode_join(std::span<const std::byte> payload) {
  if (payload.size() != kJoinPayloadBytes) {
    return std::nullopt;
  }
  JoinPayload join;
  std::copy_n(payload.begin(), join.leaf_nonce.size(), join.leaf_nonce.begin());
  join.size = read_u32(payload.subspan<sizeof(Nonce), 4>());
  join.process_id = read_u32(payload.subspan<sizeof(Nonce) + 4, 4>());
  return join;
}

}  // namespace crossdock::fabric
