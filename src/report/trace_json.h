// SPDX-License-Identifier: Apache-2.0
// The parts of the page's data that come from traces. Thread rule: pure functions.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "report/report.h"

namespace crossdock::report {

/// Every stage that this version knows: id, name, plane, what it does.
[[nodiscard]] nlohmann::json stage_table_json();

/// Timeline of the chosen rounds, times per stage and plane and rank (over all rounds, for all
/// operations together and for each), bytes per stage and rank, and the wait matrix. Ranks of
/// different clocks have no timeline; the page says why.
[[nodiscard]] nlohmann::json trace_json(const Report& report);

}  // namespace crossdock::report
