// SPDX-License-Identifier: Apache-2.0
#include "crossdock/ticket.h"

#include <fmt/format.h>

#include <utility>

#include "base/check.h"
#include "communicator/executor.h"

namespace crossdock {

Ticket::Ticket(std::shared_ptr<detail::Executor> executor, std::shared_ptr<detail::Job> job)
    : executor_(std::move(executor)), job_(std::move(job)) {}

Ticket& Ticket::operator=(Ticket&& other) noexcept {
  if (this != &other) {
    drop();
    executor_ = std::move(other.executor_);
    job_ = std::move(other.job_);
  }
  return *this;
}

Ticket::~Ticket() { drop(); }

void Ticket::drop() {
  if (job_ != nullptr && !job_->has_ended()) {
    job_->cancel();
    executor_->wait_ended(*job_, Deadline::never());
  }
  job_ = nullptr;
}

bool Ticket::poll() {
  CROSSDOCK_CHECK(valid(), "poll() of an empty ticket");
  if (!job_->has_ended()) {
    executor_->progress();
  }
  return job_->has_ended();
}

Status Ticket::wait(std::chrono::nanoseconds limit) {
  CROSSDOCK_CHECK(valid(), "wait() for an empty ticket");
  const Deadline deadline =
      limit == kNoLimit ? Deadline::never() : Deadline::after(monotonic_clock(), limit);
  if (executor_->wait_ended(*job_, deadline)) {
    return job_->status();
  }
  if (executor_->is_orphan()) {
    return {StatusKind::kUnsupported, Scope::kOperation,
            "a forked child cannot wait for its parent's operation; allowed: operations of a "
            "communicator of its own"};
  }
  return {StatusKind::kTimeout, Scope::kOperation,
          fmt::format("the posted operation has not ended within {} ms; wait again, or drop the "
                      "ticket",
                      std::chrono::duration_cast<std::chrono::milliseconds>(limit).count())};
}

bool Ticket::cancel() {
  CROSSDOCK_CHECK(valid(), "cancel() of an empty ticket");
  return job_->cancel();
}

}  // namespace crossdock
