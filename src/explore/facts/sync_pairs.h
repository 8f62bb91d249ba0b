// SPDX-License-Identifier: Apache-2.0
// Who publishes and who waits, paired by the address helper, flag or event that both name.
// Thread rule: one thread.
#pragma once

#include "explore/facts/segments.h"
#include "explore/graph/symbols.h"
#include "explore/model.h"

namespace crossdock::explore {

/// Fills sync, and adds edges of kind sync and handshake.
void find_sync_pairs(Project& project, const Symbols& symbols, const FileMechanisms& mechanisms);

}  // namespace crossdock::explore
