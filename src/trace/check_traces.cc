// SPDX-License-Identifier: Apache-2.0
#include "trace/check_traces.h"

#include <fmt/format.h>

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "trace/recorder.h"

namespace crossdock::trace {
namespace {

Status refuse(std::string message) {
  return {StatusKind::kInvalidArgument, Scope::kOperation, std::move(message)};
}

}  // namespace

Status check_traces(std::span<const RankTrace> traces) {
  if (traces.empty()) {
    return refuse("no traces: at least one rank's is needed");
  }
  const int rank_count = traces.front().rank_count;
  if (rank_count <= 0) {
    return refuse(fmt::format("trace of {} ranks: at least 1 is needed", rank_count));
  }
  std::vector<bool> seen(static_cast<std::size_t>(rank_count));
  for (const RankTrace& trace : traces) {
    if (trace.rank_count != rank_count) {
      return refuse(fmt::format("traces of different runs: rank {} has {} ranks, rank {} has {}",
                                traces.front().rank, rank_count, trace.rank, trace.rank_count));
    }
    if (trace.rank < 0 || trace.rank >= rank_count) {
      return refuse(fmt::format("trace of rank {}: must be 0..{}", trace.rank, rank_count - 1));
    }
    if (seen[static_cast<std::size_t>(trace.rank)]) {
      return refuse(fmt::format("two traces of rank {}", trace.rank));
    }
    seen[static_cast<std::size_t>(trace.rank)] = true;
  }
  return {};
}

Status check_one_clock(std::span<const RankTrace> traces) {
  for (const RankTrace& trace : traces) {
    if (trace.clock_domain != traces.front().clock_domain) {
      return refuse(fmt::format(
          "ranks {} and {} have different clocks ({:016x} and {:016x}): their times cannot be "
          "compared",
          traces.front().rank, trace.rank, traces.front().clock_domain, trace.clock_domain));
    }
  }
  return {};
}

}  // namespace crossdock::trace
