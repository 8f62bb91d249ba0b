// SPDX-License-Identifier: Apache-2.0
// The HTML report of a demonstration.
#pragma once

#include "cli/demo/facts.h"
#include "cli/demo/options.h"
#include "cli/demo/workload.h"
#include "crossdock/status.h"

namespace crossdock::demo {

/// One self-contained file at options.report.
Status write_demo_report(const DemoOptions& options, const Workload& workload,
                         const DemoFacts& facts);

}  // namespace crossdock::demo
