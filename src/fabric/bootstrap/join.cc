// SPDX-License-Identifier: Apache-2.0
// A leaf's side of the handshake: connect, prove, be accepted; again from the start while the root
// is not there yet or dropped the connection.
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "fabric/bootstrap/handshake.h"

namespace crossdock::fabric {
namespace {

constexpr auto kConnectTime = std::chrono::seconds(5);
constexpr auto kPauseMin = std::chrono::milliseconds(5);
constexpr auto kPauseMax = std::chrono::milliseconds(200);

/// Worth another try: the root may not listen yet, or had no room for us.
bool is_transient(const Status& status) {
  return status.kind() == StatusKind::kIo || status.kind() == StatusKind::kClosed;
}

/// Reads until `connection` holds a complete frame.
Status wait_frame(Connection& connection, Deadline deadline) {
  for (;;) {
    const ParsedFrame parsed = connection.peek(kPayloadBytesMax);
    if (parsed.outcome == ParseOutcome::kComplete) {
      return {};
    }
    if (parsed.outcome == ParseOutcome::kMalformed) {
      return Status(StatusKind::kPeerRefused, Scope::kCommunicator,
                    fmt::format("the other side sent {}", parsed.problem), 0);
    }
    pollfd events = connection.wanted_events();
    CROSSDOCK_RETURN_IF_ERROR(poll_until(std::span(&events, 1), deadline));
    if (events.revents == 0) {
      return Status(StatusKind::kTimeout, Scope::kCommunicator, "no answer before the deadline", 0);
    }
    static_cast<void>(connection.flush_some());  // The receiving side reports a lost connection.
    CROSSDOCK_RETURN_IF_ERROR(connection.receive_some());
  }
}

class Joiner {
 public:
  explicit Joiner(const TcpPlan& plan)
      : plan_(plan), job_key_(derive_job_key(plan.options.job_secret)) {}

  Result<Connection> try_once(const SocketAddress& address, Deadline deadline) {
    const Deadline connected_by =
        std::min(deadline, Deadline::after(monotonic_clock(), kConnectTime));
    CROSSDOCK_ASSIGN_OR_RETURN(auto socket, connect_to(address, connected_by));
    Connection connection(std::move(socket));
    CROSSDOCK_RETURN_IF_ERROR(answer_challenge(connection, deadline));
    CROSSDOCK_RETURN_IF_ERROR(wait_frame(connection, deadline));
    CROSSDOCK_ASSIGN_OR_RETURN(const auto message, connection.take(kPayloadBytesMax));
    if (message && message->kind == FrameKind::kError) {
      return decode_error(message->payload);
    }
    if (!message || message->kind != FrameKind::kAccepted) {
      return Status(StatusKind::kPeerRefused, Scope::kCommunicator, "it broke the protocol", 0);
    }
    return connection;
  }

 private:
  Status answer_challenge(Connection& connection, Deadline deadline) {
    CROSSDOCK_RETURN_IF_ERROR(wait_frame(connection, deadline));
    const FrameView challenge = connection.peek(kPayloadBytesMax).frame;
    Nonce root_nonce{};
    if (challenge.head.kind != FrameKind::kChallenge ||
        challenge.payload.size() != root_nonce.size()) {
      return Status(StatusKind::kPeerRefused, Scope::kCommunicator, "it broke the protocol", 0);
    }
    std::copy(challenge.payload.begin(), challenge.payload.end(), root_nonce.begin());
    const bool same_secret = verify_frame(challenge, job_key_);
    connection.drop(challenge.byte_count());

    const JoinPayload join{.leaf_nonce = make_nonce(),
                           .size = static_cast<std::uint32_t>(plan_.options.size),
                           .process_id = static_cast<std::uint32_t>(::getpid())};
    const auto keys = derive_session_keys(job_key_, root_nonce, join.leaf_nonce);
    connection.start_session(keys.to_root, keys.to_leaf);
    // Sent with another secret too: the root cannot trust it, but can say which rank is wrong.
    connection.post(FrameKind::kJoin, static_cast<std::uint32_t>(plan_.options.rank),
                    encode_join(join));
    static_cast<void>(connection.flush_some());
    return same_secret ? Status()
                       : Status(StatusKind::kPeerRefused, Scope::kCommunicator,
                                "its job secret is another one", plan_.options.rank);
  }

  const TcpPlan& plan_;
  Key job_key_;
};

std::string place(const TcpPlan& plan) {
  return fmt::format("rank 0 at {} ({})", plan.options.host, plan.addresses.front().to_string());
}

/// Who speaks of what, for the errors that do not say it themselves.
Status explain(const TcpPlan& plan, const Status& status) {
  return Status(status.kind(), Scope::kCommunicator,
                fmt::format("bootstrap: rank {} cannot join {}: {}", plan.options.rank, place(plan),
                            status.message()),
                status.culprit());
}

}  // namespace

Result<Connection> join_root(const TcpPlan& plan, Deadline deadline) {
  Joiner joiner(plan);
  StillWaiting still_waiting;
  Duration pause = kPauseMin;
  for (;;) {
    Status problem;
    for (const SocketAddress& address : plan.addresses) {
      auto connection = joiner.try_once(address, deadline);
      if (connection.ok()) {
        return connection;
      }
      problem = connection.status();
      if (!is_transient(problem)) {
        // What the root itself said has its own words, and they are the same on every rank.
        const bool root_spoke = problem.message().starts_with("bootstrap: ");
        return root_spoke ? problem : explain(plan, problem);
      }
    }
    const Duration left = deadline.remaining(monotonic_clock().now());
    if (left == Duration::zero()) {
      return explain(plan, Status(StatusKind::kTimeout, Scope::kCommunicator,
                                  fmt::format("timed out; last try: {}", problem.message()), 0));
    }
    still_waiting.report([&] { return fmt::format("{} ({})", place(plan), problem.message()); });
    CROSSDOCK_RETURN_IF_ERROR(
        poll_until({}, Deadline::after(monotonic_clock(), std::min(pause, left))));
    pause = std::min<Duration>(2 * pause, kPauseMax);
  }
}

}  // namespace crossdock::fabric
