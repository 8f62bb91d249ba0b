// SPDX-License-Identifier: Apache-2.0
// What came, went and changed between two documents. Thread rule: pure function.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "crossdock/status.h"

namespace crossdock::explore {

/// Both are documents of docs/explorer-schema.md, else kInvalidArgument.
Result<nlohmann::ordered_json> make_diff(const nlohmann::ordered_json& old_document,
                                         const nlohmann::ordered_json& new_document);

/// One line for each difference: "+ function mesh::f (kernel.cu:12)".
[[nodiscard]] std::string diff_text(const nlohmann::ordered_json& diff);

}  // namespace crossdock::explore
