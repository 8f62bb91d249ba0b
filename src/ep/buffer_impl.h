// SPDX-License-Identifier: Apache-2.0
// Behind ElasticBuffer: the engine, the executor that runs posted operations, and what the blocking
// and the posted calls have in common.
// Thread rule: the functions run on whatever thread or fiber has the communicator at the time.
#pragma once

#include <memory>

#include "communicator/executor.h"
#include "crossdock/elastic_buffer.h"
#include "ep/engine.h"

namespace crossdock {

struct ElasticBuffer::Impl {
  std::shared_ptr<ep::Engine> engine;
  std::shared_ptr<detail::Executor> executor;

  /// Once everything posted has ended: for the blocking calls.
  [[nodiscard]] ep::Engine& free_engine() const {
    executor->drain();
    return *engine;
  }
  /// The round as the caller gets it; an error is remembered.
  static Result<Dispatched> show(ep::Engine& engine, Result<std::shared_ptr<detail::Round>> round);
  /// The status, remembered.
  static Status keep(ep::Engine& engine, Status status);
};

}  // namespace crossdock
