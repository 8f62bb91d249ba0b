// SPDX-License-Identifier: Apache-2.0
// How a connection becomes a rank.
//
//   root -> leaf   kChallenge  root_nonce:byte{32}                        signed with the job key
//   leaf -> root   kJoin       leaf_nonce:byte{32} size:u32 process:u32   signed with the session
//   key root -> leaf   kAccepted   (empty)                                    signed with the
//   session key root -> leaf   kStart      (empty)                                    once every
//   rank is in
//
// The challenge tells a leaf with another secret at once; kAccepted proves that the root is no
// replay.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/clock.h"
#include "crossdock/status.h"
#include "fabric/bootstrap/connection.h"
#include "fabric/bootstrap/frame.h"
#include "fabric/bootstrap/tcp.h"

namespace crossdock::fabric {

struct JoinPayload {
  Nonce leaf_nonce{};
  std::uint32_t size = 0;
  std::uint32_t process_id = 0;
};
inline constexpr std::size_t kJoinPayloadBytes = sizeof(Nonce) + 8;

[[nodiscard]] std::vector<std::byte> encode_join(const JoinPayload& join);
/// Nothing when the length is not exactly that of a join.
[[nodiscard]] std::optional<JoinPayload> decode_join(std::span<const std::byte> payload);

/// Root: waits until every other rank has joined; [rank], the root's own place is empty. Strangers
/// are dropped without harm. When the job cannot start, every rank that joined is told why.
Result<std::vector<std::optional<Connection>>> admit_leaves(const TcpPlan& plan, Deadline deadline);

/// Leaf: a connection that the root accepted; tries again until the deadline.
Result<Connection> join_root(const TcpPlan& plan, Deadline deadline);

/// Posts `reason` to all and sends it as far as that goes in a short time.
void announce_failure(std::span<Connection* const> connections, const Status& reason);

}  // namespace crossdock::fabric
