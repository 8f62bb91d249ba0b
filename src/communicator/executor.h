// SPDX-License-Identifier: Apache-2.0
// Runs the posted operations of one communicator, one after the other in the order of their posts,
// apart from the caller: on a communication thread, or on a fiber that the caller drives. All
// buffers of a communicator share one executor, so that its fabric has one user at a time.
//
// A *job* is one posted operation. It goes posted -> running -> ended, or posted -> cancelled ->
// ended; a cancelled job still takes its turn, because the peers count on this rank's part.
// Thread rule: post(), drain(), shut_down() for the communicator's thread; progress() and
// wait_ended() as Ticket says. A forked child has no thread and never waits for it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>

#include "base/clock.h"
#include "base/fiber.h"
#include "base/helper_thread.h"
#include "crossdock/status.h"
#include "crossdock/types.h"
#include "fabric/fabric.h"

namespace crossdock::detail {

class Job {
 public:
  virtual ~Job() = default;
  [[nodiscard]] bool has_ended() const {
    return state_.load(std::memory_order_acquire) == State::kEnded;  // Pairs with end().
  }
  /// REQUIRES: has_ended().
  [[nodiscard]] const Status& status() const { return status_; }
  /// True when the job had not begun.
  bool cancel();

 protected:
  /// The operation, from start to end.
  virtual Status run() = 0;
  /// In its place: this rank's part as a refusal for `reason`; returns the job's status.
  virtual Status refuse(const Status& reason) = 0;

 private:
  friend class Executor;
  enum class State : std::uint8_t { kPosted, kRunning, kCancelled, kEnded };

  void take_turn();
  void end(Status status);

  std::atomic<State> state_{State::kPosted};
  Status status_;  // written before kEnded
};

class Executor final : private fabric::Suspender {
 public:
  Executor(std::shared_ptr<fabric::Fabric> fabric, Progress progress);
  ~Executor() override;
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  /// Never blocks. After shut_down() jobs run at once, on a closed fabric.
  void post(std::shared_ptr<Job> job);
  /// With Progress::kCaller: goes on until the running job would wait. Otherwise nothing.
  void progress();
  /// True when the job ended before the deadline.
  bool wait_ended(const Job& job, Deadline deadline);
  /// Blocks until every posted job has ended: then the fabric is the caller's alone.
  void drain();
  /// Ends what is under way with `reason`, runs the rest (which the fabric then refuses), and ends
  /// the thread. Idempotent.
  void shut_down(const Status& reason);
  /// True in a child of the process that made the executor.
  [[nodiscard]] bool is_orphan() const { return thread_.is_orphan(); }
  /// A job is posted or running. Any thread.
  [[nodiscard]] bool is_busy() const { return job_count_.load(std::memory_order_acquire) != 0; }

 private:
  void start_thread();
  void run_waiting();
  void run_thread();
  void run_fiber();
  void run_job(Job& job);
  std::shared_ptr<Job> take_next();  // null: none
  bool suspend() override;
  template <typename Done>
  bool wait_until(Deadline deadline, const Done& done);

  const std::shared_ptr<fabric::Fabric> fabric_;
  const Progress progress_;
  std::atomic<std::int64_t> job_count_{0};  // posted or running
  bool is_shut_ = false;                    // caller's thread
  std::mutex mutex_;                        // guards what follows
  std::condition_variable changed_;         // a job came or ended, or the thread is to stop
  std::deque<std::shared_ptr<Job>> waiting_;
  bool is_stopping_ = false;
  HelperThread thread_;                              // kThread, from the first post on
  std::unique_ptr<Fiber> fiber_;                     // kCaller, likewise; the caller's thread
  Deadline blocks_until_ = Deadline::at(Instant{});  // kCaller: while the caller waits
};

}  // namespace crossdock::detail
