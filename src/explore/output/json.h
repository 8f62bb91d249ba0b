// SPDX-License-Identifier: Apache-2.0
// The document of docs/explorer-schema.md. Thread rule: pure functions.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "explore/model.h"

namespace crossdock::explore {

inline constexpr const char* kSchema = "crossdock.explore/1";

[[nodiscard]] nlohmann::ordered_json to_json(const Project& project);

/// Parts of it, for the document and for differences.
[[nodiscard]] nlohmann::ordered_json provenance_json(const Provenance& provenance);
[[nodiscard]] nlohmann::ordered_json graph_json(const Project& project);
[[nodiscard]] nlohmann::ordered_json facts_json(const Project& project);
[[nodiscard]] nlohmann::ordered_json ledger_json(const Project& project);

}  // namespace crossdock::explore
