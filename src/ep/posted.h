// SPDX-License-Identifier: Apache-2.0
// What ElasticBuffer posts to its communicator's executor. A job holds on to everything it needs
// until it has ended, then lets go of it, so that a ticket kept for long keeps nothing but a
// result.
#pragma once

#include <functional>
#include <utility>

#include "communicator/executor.h"
#include "crossdock/elastic_buffer.h"

namespace crossdock::detail {

class CombineJob final : public Job {
 public:
  using Run = std::function<Status()>;
  using Refuse = std::function<Status(const Status&)>;

  CombineJob(Run run, Refuse refuse) : run_(std::move(run)), refuse_(std::move(refuse)) {}

 private:
  Status run() override { return let_go(run_()); }
  Status refuse(const Status& reason) override { return let_go(refuse_(reason)); }
  Status let_go(Status status) {
    run_ = nullptr;
    refuse_ = nullptr;
    return status;
  }

  Run run_;
  Refuse refuse_;
};

class DispatchJob final : public Job {
 public:
  using Run = std::function<Result<Dispatched>()>;
  using Refuse = std::function<Status(const Status&)>;

  DispatchJob(Run run, Refuse refuse) : run_(std::move(run)), refuse_(std::move(refuse)) {}

  /// REQUIRES: has_ended(). A second call finds nothing.
  Result<Dispatched> take() {
    return std::exchange(result_, Status(StatusKind::kInvalidArgument, Scope::kOperation,
                                         "the result of this ticket was taken before"));
  }

 private:
  Status run() override {
    result_ = run_();
    return let_go(result_.status());
  }
  Status refuse(const Status& reason) override {
    Status status = refuse_(reason);
    result_ = status;
    return let_go(std::move(status));
  }
  Status let_go(Status status) {
    run_ = nullptr;
    refuse_ = nullptr;
    return status;
  }

  Run run_;
  Refuse refuse_;
  Result<Dispatched> result_ = Status(StatusKind::kInternal, Scope::kOperation, "not run yet");
};

}  // namespace crossdock::detail
