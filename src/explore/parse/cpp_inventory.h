// SPDX-License-Identifier: Apache-2.0
// First analyser of C and C++: what tree-sitter finds in a masked text. Thread rule: pure function.
#pragma once

#include <string_view>

#include "base/clock.h"
#include "explore/parse/found.h"
#include "explore/parse/syntax_tree.h"

namespace crossdock::explore {

/// `masked` is what mask() made. Grammar::kC or kCpp.
[[nodiscard]] Inventory take_cpp_inventory(std::string_view masked, Grammar grammar, Duration time);

}  // namespace crossdock::explore
