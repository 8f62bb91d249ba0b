// SPDX-License-Identifier: Apache-2.0
// Where a report of this program comes from. Thread rule: any thread.
#pragma once

#include <string>

#include "report/report.h"

namespace crossdock::cli {

/// This host, this moment and this version; `command` is the line that makes the page again.
[[nodiscard]] report::Provenance make_provenance(const std::string& command);

}  // namespace crossdock::cli
