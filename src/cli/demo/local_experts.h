// SPDX-License-Identifier: Apache-2.0
// The experts' part on one rank: reads the received rows, writes weighted outputs where combine
// reads them in place.
#pragma once

#include <vector>

#include "cli/demo/workload.h"
#include "crossdock/elastic_buffer.h"

namespace crossdock::demo {

/// `first_expert` is the rank's first global expert. Gaps of the expanded layout stay as they are.
void apply_local_experts(Workload& workload, Dispatched& dispatched, int first_expert);

}  // namespace crossdock::demo
