// SPDX-License-Identifier: Apache-2.0
// Rank 0 of the TCP provider: collects a blob from every leaf, then sends all blobs to every leaf.
// The first failure is told to all leaves and ends the bootstrap for good.
#include <fmt/format.h>
#include <poll.h>

#include <cstdint>
#include <optional>
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

class TcpRoot final : public Bootstrap {
 public:
  TcpRoot(int size, std::vector<std::optional<Connection>> leaves)
      : size_(size), leaves_(std::move(leaves)) {}

  [[nodiscard]] int rank() const override { return 0; }
  [[nodiscard]] int size() const override { return size_; }

  Result<Blobs> all_gather(std::span<const std::byte> mine, Deadline deadline) override {
    CROSSDOCK_RETURN_IF_ERROR(fork_guard_.check("bootstrap"));
    CROSSDOCK_RETURN_IF_ERROR(failure_);
    auto blobs = run_round(mine, deadline);
    if (!blobs.ok()) {
      failure_ = blobs.status();
      std::vector<Connection*> all;
      for (int rank = 1; rank < size_; ++rank) {
        all.push_back(&leaf(rank));
      }
      announce_failure(all, failure_);
    }
    return blobs;
  }

 private:
  using Arrivals = std::vector<std::optional<std::vector<std::byte>>>;  // [rank]

  Result<Blobs> run_round(std::span<const std::byte> mine, Deadline deadline) {
    CROSSDOCK_RETURN_IF_ERROR(check_blob_bytes(0, mine.size()));
    CROSSDOCK_ASSIGN_OR_RETURN(Blobs blobs, collect(mine, deadline));
    CROSSDOCK_RETURN_IF_ERROR(distribute(blobs, deadline));
    return blobs;
  }

  Result<Blobs> collect(std::span<const std::byte> mine, Deadline deadline) {
    Arrivals arrivals(leaves_.size());
    arrivals[0].emplace(mine.begin(), mine.end());
    StillWaiting still_waiting;
    for (auto missing = missing_ranks(arrivals); !missing.empty();
         missing = missing_ranks(arrivals)) {
      if (deadline.expired(monotonic_clock().now())) {
        return Status(StatusKind::kTimeout, Scope::kCommunicator,
                      fmt::format("bootstrap: timed out waiting for {} in an all-gather",
                                  list_ranks(missing, size_)),
                      missing.front());
      }
      // All leaves, also those that are done: one of them may die while others are late.
      std::vector<pollfd> events;
      for (int rank = 1; rank < size_; ++rank) {
        events.push_back(leaf(rank).wanted_events());
      }
      CROSSDOCK_RETURN_IF_ERROR(poll_until(events, still_waiting.wake_up(deadline)));
      for (int rank = 1; rank < size_; ++rank) {
        if (events[static_cast<std::size_t>(rank - 1)].revents != 0) {
          CROSSDOCK_RETURN_IF_ERROR(receive(rank, arrivals));
        }
      }
      still_waiting.report([&] { return list_ranks(missing, size_); });
    }
    Blobs blobs;
    for (auto& arrival : arrivals) {
      blobs.push_back(*std::move(arrival));
    }
    return blobs;
  }

  Status receive(int rank, Arrivals& arrivals) {
    const Status received = leaf(rank).receive_some();
    const auto message = leaf(rank).take(kPayloadBytesMax);
    if (!message.ok()) {
      return failed(StatusKind::kInternal, rank, message.status().message());
    }
    if (!message->has_value()) {
      return received.ok() ? received
                           : failed(StatusKind::kPeerDead, rank, "left during an all-gather");
    }
    const Message& content = **message;
    if (content.kind == FrameKind::kError) {
      return decode_error(content.payload);
    }
    auto& arrival = arrivals[static_cast<std::size_t>(rank)];
    if (content.kind != FrameKind::kBlob || arrival) {
      return failed(StatusKind::kInternal, rank, "broke the protocol");
    }
    arrival = content.payload;
    return {};
  }

  Status distribute(const Blobs& blobs, Deadline deadline) {
    std::vector<std::size_t> posted(leaves_.size(), 0);  // [rank]: blobs posted so far
    for (;;) {
      std::vector<pollfd> events;
      std::vector<int> unfinished;
      for (int rank = 1; rank < size_; ++rank) {
        if (!send_blobs(rank, blobs, posted[static_cast<std::size_t>(rank)]).ok()) {
          return failed(StatusKind::kPeerDead, rank, "left during an all-gather");
        }
        if (leaf(rank).has_unsent()) {
          events.push_back(leaf(rank).wanted_events());
          events.back().events = POLLOUT;
          unfinished.push_back(rank);
        }
      }
      if (unfinished.empty()) {
        return {};
      }
      if (deadline.expired(monotonic_clock().now())) {
        return Status(StatusKind::kTimeout, Scope::kCommunicator,
                      fmt::format("bootstrap: {} did not take the result of an all-gather in time",
                                  list_ranks(unfinished, size_)),
                      unfinished.front());
      }
      CROSSDOCK_RETURN_IF_ERROR(poll_until(events, deadline));
    }
  }

  /// One blob in the buffer at a time: all of them for all leaves would be size^2 blobs of memory.
  Status send_blobs(int rank, const Blobs& blobs, std::size_t& posted) {
    CROSSDOCK_RETURN_IF_ERROR(leaf(rank).flush_some());
    while (!leaf(rank).has_unsent() && posted < blobs.size()) {
      leaf(rank).post(FrameKind::kBlob, static_cast<std::uint32_t>(posted), blobs[posted]);
      ++posted;
      CROSSDOCK_RETURN_IF_ERROR(leaf(rank).flush_some());
    }
    return {};
  }

  [[nodiscard]] static std::vector<int> missing_ranks(const Arrivals& arrivals) {
    std::vector<int> missing;
    for (std::size_t rank = 0; rank < arrivals.size(); ++rank) {
      if (!arrivals[rank]) {
        missing.push_back(static_cast<int>(rank));
      }
    }
    return missing;
  }

  static Status failed(StatusKind kind, int rank, std::string_view what) {
    return Status(kind, Scope::kCommunicator, fmt::format("bootstrap: rank {} {}", rank, what),
                  rank);
  }

  Connection& leaf(int rank) { return *leaves_[static_cast<std::size_t>(rank)]; }

  int size_;
  std::vector<std::optional<Connection>> leaves_;  // [rank], [0] is empty
  Status failure_;
  ForkGuard fork_guard_;
};

}  // namespace

Result<std::unique_ptr<Bootstrap>> make_tcp_root(TcpPlan plan, Deadline deadline) {
  CROSSDOCK_ASSIGN_OR_RETURN(auto leaves, admit_leaves(plan, deadline));
  return std::unique_ptr<Bootstrap>(
      std::make_unique<TcpRoot>(plan.options.size, std::move(leaves)));
}

}  // namespace crossdock::fabric
