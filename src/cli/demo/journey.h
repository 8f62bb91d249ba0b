// SPDX-License-Identifier: Apache-2.0
// One token's way from the gate to its combined row, in the first round: what --follow prints and
// the report shows. Thread rule: pure functions.
#pragma once

#include <optional>
#include <string>

#include "cli/demo/facts.h"
#include "report/report.h"

namespace crossdock::demo {

/// Nothing when no token was followed.
[[nodiscard]] std::optional<report::Journey> make_journey(const DemoFacts& facts);

/// One line for each step, ending with a newline.
[[nodiscard]] std::string journey_text(const report::Journey& journey, const std::string& origin);

}  // namespace crossdock::demo
