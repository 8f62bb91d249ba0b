// SPDX-License-Identifier: Apache-2.0
// From Python over a binding to native code. Thread rule: pure function.
#pragma once

#include "explore/graph/call_sites.h"
#include "explore/graph/resolve.h"
#include "explore/graph/symbols.h"
#include "explore/model.h"

namespace crossdock::explore {

/// Adds to what a Python call can mean the native functions that are bound under its name.
void add_bindings(const Project& project, const Symbols& symbols, const CallSite& site,
                  Meaning& meaning);

}  // namespace crossdock::explore
