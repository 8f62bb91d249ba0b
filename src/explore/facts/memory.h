// SPDX-License-Identifier: Apache-2.0
// Memory: who allocates and registers it, which kernels get its address, and what copies it.
// Thread rule: one thread.
#pragma once

#include "explore/facts/segments.h"
#include "explore/graph/symbols.h"
#include "explore/model.h"

namespace crossdock::explore {

/// Fills regions, transfers, and the spaces of segments.
void find_memory(Project& project, const Rules& rules, const Symbols& symbols,
                 const FileMechanisms& mechanisms);

}  // namespace crossdock::explore
