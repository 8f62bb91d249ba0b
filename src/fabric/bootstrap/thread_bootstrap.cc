// SPDX-License-Identifier: Apache-2.0
// Ranks as threads: an all-gather under one mutex. A round ends when the last blob is there; a rank
// that leaves or times out ends every later round for all, so that nobody waits for it.
// Thread rule: one bootstrap per thread; the team is shared and locks itself.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/status_macros.h"
#include "fabric/bootstrap/blob_limit.h"
#include "fabric/bootstrap/bootstrap.h"
#include "fabric/bootstrap/tcp.h"

namespace crossdock::fabric {

using Blobs = std::vector<std::vector<std::byte>>;

class ThreadTeam {
 public:
  explicit ThreadTeam(int size)
      : mine_(static_cast<std::size_t>(size)), claimed_(static_cast<std::size_t>(size), false) {}

  [[nodiscard]] int size() const { return static_cast<int>(mine_.size()); }

  void claim(int rank) {
    const std::lock_guard lock(mutex_);
    CROSSDOCK_CHECK(rank >= 0 && rank < size(), "rank {} size {}", rank, size());
    CROSSDOCK_CHECK(!claimed_[static_cast<std::size_t>(rank)], "rank {} is claimed twice", rank);
    claimed_[static_cast<std::size_t>(rank)] = true;
  }

  /// The rank takes no part any more: fails the open round and all later ones.
  void leave(int rank) {
    fail(Status(StatusKind::kClosed, Scope::kCommunicator,
                fmt::format("bootstrap: rank {} left while others needed it", rank), rank));
  }

  /// The first reason wins.
  void fail(const Status& reason) {
    const std::lock_guard lock(mutex_);
    fail_locked(reason);
  }

  Result<Blobs> all_gather(int rank, std::span<const std::byte> mine, Deadline deadline) {
    std::unique_lock lock(mutex_);
    CROSSDOCK_RETURN_IF_ERROR(failure_);
    const std::uint64_t round = round_;
    mine_[static_cast<std::size_t>(rank)].emplace(mine.begin(), mine.end());
    if (++arrived_count_ == mine_.size()) {
      finish_round();
      return *finished_;
    }
    while (round_ == round && failure_.ok()) {
      if (deadline.expired(monotonic_clock().now())) {
        fail_locked(missing_ranks());
        break;
      }
      // Bounded, because a wait until "never" overflows in the standard library.
      const auto left = deadline.remaining(monotonic_clock().now());
      changed_.wait_for(lock, std::min<Duration>(left, std::chrono::minutes(1)));
    }
    // A round that ended counts even when a rank left just after it. Round r + 1 needs this rank,
    // so finished_ is still that of round r.
    if (round_ != round) {
      return *finished_;
    }
    return failure_;
  }

 private:
  void finish_round() {
    auto blobs = std::make_shared<Blobs>();
    for (auto& blob : mine_) {
      blobs->push_back(*std::move(blob));
      blob.reset();
    }
    finished_ = std::move(blobs);
    arrived_count_ = 0;
    ++round_;
    changed_.notify_all();
  }

  void fail_locked(const Status& reason) {
    if (failure_.ok()) {
      failure_ = reason;
      changed_.notify_all();
    }
  }

  [[nodiscard]] Status missing_ranks() const {
    std::vector<int> missing;
    for (std::size_t rank = 0; rank < mine_.size(); ++rank) {
      if (!mine_[rank]) {
        missing.push_back(static_cast<int>(rank));
      }
    }
    return Status(StatusKind::kTimeout, Scope::kCommunicator,
                  fmt::format("bootstrap: timed out waiting for {}", list_ranks(missing, size())),
                  missing.front());
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::optional<std::vector<std::byte>>> mine_;  // [rank], this round's
  std::vector<bool> claimed_;                                // [rank]
  std::size_t arrived_count_ = 0;
  std::uint64_t round_ = 0;
  std::shared_ptr<const Blobs> finished_;
  Status failure_;
};

namespace {

class ThreadBootstrap final : public Bootstrap {
 public:
  ThreadBootstrap(std::shared_ptr<ThreadTeam> team, int rank)
      : team_(std::move(team)), rank_(rank) {
    team_->claim(rank_);
  }
  ~ThreadBootstrap() override { team_->leave(rank_); }
  ThreadBootstrap(const ThreadBootstrap&) = delete;
  ThreadBootstrap& operator=(const ThreadBootstrap&) = delete;

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return team_->size(); }

  Result<Blobs> all_gather(std::span<const std::byte> mine, Deadline deadline) override {
    if (Status status = check_blob_bytes(rank_, mine.size()); !status.ok()) {
      team_->fail(status);
      return status;
    }
    return team_->all_gather(rank_, mine, deadline);
  }

 private:
  std::shared_ptr<ThreadTeam> team_;
  int rank_;
};

}  // namespace

std::shared_ptr<ThreadTeam> make_thread_team(int size) {
  CROSSDOCK_CHECK(size >= 1, "size {}", size);
  return std::make_shared<ThreadTeam>(size);
}

std::unique_ptr<Bootstrap> make_thread_bootstrap(std::shared_ptr<ThreadTeam> team, int rank) {
  CROSSDOCK_CHECK(team != nullptr);
  return std::make_unique<ThreadBootstrap>(std::move(team), rank);
}

}  // namespace crossdock::fabric
