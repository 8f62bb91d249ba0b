// SPDX-License-Identifier: Apache-2.0
// Every rank but 0 of the TCP provider: sends its blob to the root and receives all of them.
#include <fmt/format.h>
#include <poll.h>

#include <cstdint>
#include <utility>

#include "base/fork_guard.h"
#include "base/status_macros.h"
#include "fabric/bootstrap/blob_limit.h"
#include "fabric/bootstrap/connection.h"
#include "fabric/bootstrap/handshake.h"
#include "fabric/bootstrap/tcp.h"

namespace crossdock::fabric {
namespace {

using Blobs = std::vector<std::vector<std::byte>>;

class TcpLeaf final : public Bootstrap {
 public:
  TcpLeaf(int rank, int size, Connection root) : rank_(rank), size_(size), root_(std::move(root)) {}

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return size_; }

  Status wait_start(Deadline deadline) {
    CROSSDOCK_ASSIGN_OR_RETURN(const Message message, wait_message("all ranks to join", deadline));
    return message.kind == FrameKind::kStart ? Status() : protocol_broken();
  }

  Result<Blobs> all_gather(std::span<const std::byte> mine, Deadline deadline) override {
    CROSSDOCK_RETURN_IF_ERROR(fork_guard_.check("bootstrap"));
    CROSSDOCK_RETURN_IF_ERROR(failure_);
    auto blobs = run_round(mine, deadline);
    if (!blobs.ok()) {
      failure_ = blobs.status();
    }
    return blobs;
  }

 private:
  Result<Blobs> run_round(std::span<const std::byte> mine, Deadline deadline) {
    if (Status status = check_blob_bytes(rank_, mine.size()); !status.ok()) {
      return tell_root(status);
    }
    root_.post(FrameKind::kBlob, static_cast<std::uint32_t>(rank_), mine);
    Blobs blobs;
    while (blobs.size() < static_cast<std::size_t>(size_)) {
      CROSSDOCK_ASSIGN_OR_RETURN(Message message, wait_message("an all-gather", deadline));
      if (message.kind != FrameKind::kBlob || message.rank != blobs.size()) {
        return tell_root(protocol_broken());
      }
      blobs.push_back(std::move(message.payload));
    }
    return blobs;
  }

  /// The root's next message; its error becomes ours. Sends what is queued meanwhile.
  Result<Message> wait_message(std::string_view what, Deadline deadline) {
    const Deadline verdict_deadline = Deadline::at(deadline.instant() + kVerdictSlack);
    StillWaiting still_waiting;
    for (;;) {
      CROSSDOCK_ASSIGN_OR_RETURN(auto message, root_.take(kPayloadBytesMax));
      if (message) {
        if (message->kind == FrameKind::kError) {
          return decode_error(message->payload);
        }
        return std::move(*message);
      }
      if (verdict_deadline.expired(monotonic_clock().now())) {
        return tell_root(Status(
            StatusKind::kTimeout, Scope::kCommunicator,
            fmt::format("bootstrap: rank {} timed out waiting for rank 0 in {}", rank_, what), 0));
      }
      // A failure to send shows as an end when receiving, after the root's reason if it gave one.
      static_cast<void>(root_.flush_some());
      pollfd events = root_.wanted_events();
      CROSSDOCK_RETURN_IF_ERROR(
          poll_until(std::span(&events, 1), still_waiting.wake_up(verdict_deadline)));
      if (events.revents != 0 && !root_.receive_some().ok()) {
        return Status(
            StatusKind::kPeerDead, Scope::kCommunicator,
            fmt::format("bootstrap: rank 0 left while rank {} waited for {}", rank_, what), 0);
      }
      still_waiting.report([&] { return fmt::format("rank 0 in {}", what); });
    }
  }

  /// Sends the root our reason, so that it can tell the others; returns it.
  Status tell_root(const Status& reason) {
    Connection* const connection = &root_;
    announce_failure(std::span(&connection, 1), reason);
    return reason;
  }

  static Status protocol_broken() {
    return Status(StatusKind::kInternal, Scope::kCommunicator,
                  "bootstrap: rank 0 broke the protocol", 0);
  }

  int rank_;
  int size_;
  Connection root_;
  Status failure_;
  ForkGuard fork_guard_;
};

}  // namespace

Result<std::unique_ptr<Bootstrap>> make_tcp_leaf(TcpPlan plan, Deadline deadline) {
  CROSSDOCK_ASSIGN_OR_RETURN(Connection root, join_root(plan, deadline));
  auto leaf = std::make_unique<TcpLeaf>(plan.options.rank, plan.options.size, std::move(root));
  CROSSDOCK_RETURN_IF_ERROR(leaf->wait_start(deadline));
  return std::unique_ptr<Bootstrap>(std::move(leaf));
}

}  // namespace crossdock::fabric
