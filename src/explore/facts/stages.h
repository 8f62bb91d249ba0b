// SPDX-License-Identifier: Apache-2.0
// A proposal of stages: pieces of work that something dominates - a role, or a function that all
// calls of its helpers pass through. Every line lies in one stage or in none.
// Thread rule: one thread.
#pragma once

#include "explore/model.h"

namespace crossdock::explore {

/// Fills stages, stage_edges, the stages of functions, and line_stages of files.
void propose_stages(Project& project);

/// Fills what follows from the stages of functions and roles: line_stages, counts, edges. For those
/// who change stages.
void finish_stages(Project& project);

}  // namespace crossdock::explore
