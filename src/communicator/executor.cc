// SPDX-License-Identifier: Apache-2.0
#include "communicator/executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/check.h"
#include "base/copy.h"
#include "base/log.h"

namespace crossdock::detail {

// --- Job -----------------------------------------------------------------------------------------

bool Job::cancel() {
  State expected = State::kPosted;
  // Pairs with take_turn(): one of the two wins.
  return state_.compare_exchange_strong(expected, State::kCancelled, std::memory_order_acq_rel,
                                        std::memory_order_acquire);
}

void Job::take_turn() {
  State expected = State::kPosted;
  if (state_.compare_exchange_strong(expected, State::kRunning, std::memory_order_acq_rel,
                                     std::memory_order_acquire)) {
    end(run());
    return;
  }
  end(refuse(Status(StatusKind::kCancelled, Scope::kOperation,
                    "cancelled by its own rank before it began")));
}

void Job::end(Status status) {
  store_fence();  // Rows that were streamed on this thread are the caller's to read.
  status_ = std::move(status);
  state_.store(State::kEnded, std::memory_order_release);  // Pairs with has_ended().
}

// --- posting -------------------------------------------------------------------------------------

Executor::Executor(std::shared_ptr<fabric::Fabric> fabric, Progress progress)
    : fabric_(std::move(fabric)), progress_(progress) {}

Executor::~Executor() {
  shut_down(Status(StatusKind::kClosed, Scope::kCommunicator, "the communicator was closed"));
}

void Executor::post(std::shared_ptr<Job> job) {
  job_count_.fetch_add(1, std::memory_order_relaxed);
  if (is_shut_ || is_orphan()) {
    run_job(*job);
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(job));
  }
  if (progress_ == Progress::kThread) {
    start_thread();
    changed_.notify_all();
  } else {
    progress();
  }
}

std::shared_ptr<Job> Executor::take_next() {
  const std::lock_guard lock(mutex_);
  if (waiting_.empty()) {
    return nullptr;
  }
  std::shared_ptr<Job> next = std::move(waiting_.front());
  waiting_.pop_front();
  return next;
}

void Executor::run_job(Job& job) {
  job.take_turn();
  {
    const std::lock_guard lock(mutex_);                  // So that no waiter misses it.
    job_count_.fetch_sub(1, std::memory_order_release);  // Pairs with is_busy().
  }
  changed_.notify_all();
}

// --- the communication thread --------------------------------------------------------------------

void Executor::start_thread() {
  if (thread_.is_started()) {
    return;
  }
  const Status started =
      thread_.start(fmt::format("xd-comm-{}", fabric_->rank().value), [this] { run_thread(); });
  if (!started.ok()) {
    log_warn("{}: posted operations block", started.message());
    run_waiting();
  }
}

void Executor::run_waiting() {
  while (const std::shared_ptr<Job> job = take_next()) {
    run_job(*job);
  }
}

void Executor::run_thread() {
  set_check_rank(fabric_->rank().value);
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return is_stopping_ || !waiting_.empty(); });
    if (waiting_.empty()) {
      return;
    }
    lock.unlock();
    run_waiting();
    lock.lock();
  }
}

// --- the caller's fiber --------------------------------------------------------------------------

void Executor::progress() {
  if (progress_ != Progress::kCaller || !is_busy() || is_orphan()) {
    return;
  }
  if (fiber_ == nullptr) {
    fiber_ = std::make_unique<Fiber>([this] { run_fiber(); });
  }
  fabric_->set_suspender(this);
  fiber_->resume();
  fabric_->set_suspender(nullptr);
}

// Back to the caller after every job: it may be the one that is waited for.
void Executor::run_fiber() {
  while (!is_stopping_) {
    if (const std::shared_ptr<Job> job = take_next()) {
      run_job(*job);
    }
    fiber_->suspend();
  }
}

// A caller that waits lets the fabric yield and sleep; one that polls wants its thread back.
bool Executor::suspend() {
  if (!blocks_until_.expired(monotonic_clock().now())) {
    return false;
  }
  fiber_->suspend();
  return true;
}

// --- waiting -------------------------------------------------------------------------------------

template <typename Done>
bool Executor::wait_until(Deadline deadline, const Done& done) {
  if (progress_ == Progress::kThread) {
    std::unique_lock lock(mutex_);
    if (deadline.is_never()) {
      changed_.wait(lock, done);
      return true;
    }
    constexpr Duration kLong = std::chrono::hours(24 * 365);  // The sum with now() must fit.
    return changed_.wait_for(lock, std::min(kLong, deadline.remaining(monotonic_clock().now())),
                             done);
  }
  blocks_until_ = deadline;
  while (!done() && !deadline.expired(monotonic_clock().now())) {
    progress();
  }
  blocks_until_ = Deadline::at(Instant{});
  return done();
}

bool Executor::wait_ended(const Job& job, Deadline deadline) {
  return job.has_ended() || (!is_orphan() && wait_until(deadline, [&] { return job.has_ended(); }));
}

void Executor::drain() {
  if (is_busy() && !is_orphan()) {
    static_cast<void>(wait_until(Deadline::never(), [&] { return !is_busy(); }));
  }
}

void Executor::shut_down(const Status& reason) {
  if (is_shut_) {
    return;
  }
  is_shut_ = true;
  if (is_orphan()) {
    thread_.join();
    static_cast<void>(fiber_.release());  // In the middle of what only the parent may go on with.
    return;
  }
  if (is_busy()) {
    fabric_->interrupt(reason);
    drain();
  }
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
  if (fiber_ != nullptr) {
    fiber_->resume();  // Sees is_stopping_ and ends.
  }
}

}  // namespace crossdock::detail
