// SPDX-License-Identifier: Apache-2.0
// Memory that functions obtain. Thread rule: one thread.
#pragma once

#include <cstddef>

#include "explore/model.h"

namespace crossdock::explore {

/// The region of an allocating call in a file, when it has a name.
void add_allocation(Project& project, const Rules& rules, int file, std::size_t callee);

/// "__shared__ T name[N]" in functions of a file.
void add_shared_arrays(Project& project, int file);

}  // namespace crossdock::explore
