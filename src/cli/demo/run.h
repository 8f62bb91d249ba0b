// SPDX-License-Identifier: Apache-2.0
// The demonstration on one rank: rounds of dispatch, experts, combine; then rank 0 collects what
// all saw and compares every combined token with the reference.
#pragma once

#include <optional>

#include "cli/demo/facts.h"
#include "cli/demo/options.h"
#include "crossdock/communicator.h"
#include "crossdock/elastic_buffer.h"
#include "crossdock/status.h"

namespace crossdock::demo {

[[nodiscard]] BufferOptions buffer_options(const DemoOptions& options, const Workload& workload);

/// Collective. Facts on rank 0, nothing elsewhere. Rank 0 also writes options.out.
Result<std::optional<DemoFacts>> run_demo(const DemoOptions& options, Workload& workload,
                                          Communicator& communicator);

}  // namespace crossdock::demo
