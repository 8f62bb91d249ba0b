// SPDX-License-Identifier: Apache-2.0
// Presence pages of this process's open fabrics, so that a normal exit() without close() still says
// "closed": only a real death looks like one.
// Thread rule: any thread.
#pragma once

#include <memory>

#include "fabric/shm/segment.h"

namespace crossdock::fabric {

void close_at_exit(const std::shared_ptr<Segment>& presence);

}  // namespace crossdock::fabric
