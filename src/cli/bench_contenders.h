// SPDX-License-Identifier: Apache-2.0
// The library's dispatch, combine and both together as contenders, and the list of all contenders
// of an operation, in the order in which the arena has their times.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/bench/contender.h"
#include "cli/bench/limits.h"
#include "cli/bench_options.h"
#include "crossdock/elastic_buffer.h"
#include "crossdock/status.h"

namespace crossdock::cli {

/// [0] is the library; the rest are the limits, named "copy: ..." and "read: ...".
[[nodiscard]] std::vector<std::string> contender_names(BenchOperation operation);

using Contenders = std::vector<std::unique_ptr<bench::Contender>>;
/// All references outlive the result.
[[nodiscard]] Contenders make_contenders(const BenchOptions& options, const bench::Ground& ground,
                                         ElasticBuffer& buffer);

/// Collective: what a round of a benchmark dispatches.
Result<Dispatched> dispatch_once(const BenchOptions& options, const bench::Ground& ground,
                                 ElasticBuffer& buffer);

[[nodiscard]] BufferOptions buffer_options(const BenchOptions& options);

}  // namespace crossdock::cli
