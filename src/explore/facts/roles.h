// SPDX-License-Identifier: Apache-2.0
// Parallel roles: branches of device code that core, block, warp or thread ids choose.
// Thread rule: one thread.
#pragma once

#include "explore/facts/segments.h"
#include "explore/model.h"

namespace crossdock::explore {

/// Fills roles and forks, and the roles of functions.
void find_roles(Project& project, const Rules& rules, const FileMechanisms& mechanisms);

}  // namespace crossdock::explore
