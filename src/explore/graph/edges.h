// SPDX-License-Identifier: Apache-2.0
// All relations between functions: calls, launches, macros, tables, names in strings, bindings.
// Thread rule: one thread.
#pragma once

#include "explore/graph/symbols.h"
#include "explore/model.h"
#include "explore/parse/macro_table.h"

namespace crossdock::explore {

/// Fills bindings, edges and external_calls of a project that has its functions.
void build_edges(Project& project, const Rules& rules, const MacroTable& macros,
                 const Symbols& symbols);

}  // namespace crossdock::explore
