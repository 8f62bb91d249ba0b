// SPDX-License-Identifier: Apache-2.0
// The fabric and the executor under a public Communicator, for the rooms above. Buffers share
// ownership: a fabric lives until its communicator and everything made from it are gone.
#pragma once

#include <memory>

#include "crossdock/communicator.h"
#include "fabric/fabric.h"

namespace crossdock::detail {

class Executor;

struct CommunicatorAccess {
  static std::shared_ptr<fabric::Fabric> fabric(Communicator& communicator);
  static std::shared_ptr<Executor> executor(Communicator& communicator);
};

}  // namespace crossdock::detail
