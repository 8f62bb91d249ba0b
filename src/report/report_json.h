// SPDX-License-Identifier: Apache-2.0
// The data that the page draws, as JSON (schema "crossdock.report.1"). Thread rule: pure function.
#pragma once

#include <string>

#include "report/report.h"

namespace crossdock::report {

/// Of a report whose parts were checked. Text that is not UTF-8 is repaired, never refused.
[[nodiscard]] std::string make_report_json(const Report& report);

}  // namespace crossdock::report
