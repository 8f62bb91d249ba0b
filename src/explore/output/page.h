// SPDX-License-Identifier: Apache-2.0
// The page with its data in it. Thread rule: pure function.
#pragma once

#include <string>
#include <string_view>

#include "crossdock/status.h"

namespace crossdock::explore {

/// `page_template` holds the empty element that docs/explorer-schema.md names exactly once; else
/// kInvalidArgument. `document` is JSON. The result needs nothing else.
Result<std::string> make_page(std::string_view page_template, std::string_view document);

}  // namespace crossdock::explore
