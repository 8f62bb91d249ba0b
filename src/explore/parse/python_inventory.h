// SPDX-License-Identifier: Apache-2.0
// First analyser of Python: what tree-sitter finds. Thread rule: pure function.
#pragma once

#include <string_view>

#include "base/clock.h"
#include "explore/parse/found.h"

namespace crossdock::explore {

[[nodiscard]] Inventory take_python_inventory(std::string_view text, Duration time);

}  // namespace crossdock::explore
