// SPDX-License-Identifier: Apache-2.0
// An operation that was posted and may still be under way.
//
// What the operation was given (tokens, ids, weights, expert rows, the place for the result) must
// stay valid and unchanged until the ticket has ended: poll() said so, or wait() returned anything
// but its own kTimeout, or the ticket was dropped.
// Thread rule: with Progress::kThread a ticket may be used by any one thread at a time; with
// Progress::kCaller by the communicator's thread.
#pragma once

#include <chrono>
#include <memory>

#include "crossdock/status.h"

namespace crossdock {

namespace detail {
class Job;
class Executor;
}  // namespace detail

class Ticket {
 public:
  static constexpr std::chrono::nanoseconds kNoLimit = std::chrono::nanoseconds::max();

  Ticket() = default;
  Ticket(Ticket&&) noexcept = default;
  /// Drops what this ticket held before, as the destructor does.
  Ticket& operator=(Ticket&& other) noexcept;
  /// Safe at any time: an operation that has not begun is cancelled; one that has is waited for (at
  /// most as long as its own waits may last), because it uses the caller's memory. Its result goes.
  ~Ticket();

  [[nodiscard]] bool valid() const { return job_ != nullptr; }
  /// Never blocks; true once the operation has ended, well or not. With Progress::kCaller this, and
  /// only this and wait(), moves posted operations on.
  bool poll();
  /// Blocks until the operation has ended, at most `limit`: its own status, or kTimeout of scope
  /// kOperation when it has not ended yet (the ticket stays as it is; wait again).
  Status wait(std::chrono::nanoseconds limit = kNoLimit);
  /// True when the operation had not begun: it ends with kCancelled, and the peers, whose part it
  /// is too, get kPeerRefused naming this rank; the buffer works on. False: it had begun, and ends
  /// as it would have.
  bool cancel();

 protected:
  Ticket(std::shared_ptr<detail::Executor> executor, std::shared_ptr<detail::Job> job);
  [[nodiscard]] detail::Job& job() const { return *job_; }

 private:
  friend class ElasticBuffer;
  void drop();

  std::shared_ptr<detail::Executor> executor_;
  std::shared_ptr<detail::Job> job_;
};

}  // namespace crossdock
