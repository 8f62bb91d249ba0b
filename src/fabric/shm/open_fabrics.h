// SPDX-License-Identifier: Apache-2.0
// Presence pages of this process's open fabrics, so that a normal exit() without close() still says
// "closed": only a real death looks like one. What was posted before it is performed first.
// Thread rule: any thread.
#pragma once

#include <memory>

#include "fabric/shm/copy_engine.h"
#include "fabric/shm/segment.h"

namespace crossdock::fabric {

/// `engine`: null with the direct way.
void close_at_exit(const std::shared_ptr<Segment>& presence,
                   const std::shared_ptr<CopyEngine>& engine);

}  // namespace crossdock::fabric
