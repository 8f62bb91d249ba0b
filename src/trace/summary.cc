// SPDX-License-Identifier: Apache-2.0
#include "trace/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/status_macros.h"
#include "trace/check_traces.h"
#include "trace/recorder.h"
#include "trace/stages.h"

namespace crossdock::trace {
namespace {

void add(StageTime& total, std::int64_t duration_ns) {
  total.sum_ns = saturating_add(total.sum_ns, duration_ns);
  total.max_ns = std::max(total.max_ns, duration_ns);
  ++total.count;
}

std::vector<StageMoved> list_moved(const RankTrace& trace) {
  std::vector<StageMoved> moved;
  for (std::size_t stage = 0; stage < trace.moved.size(); ++stage) {
    for (std::size_t peer = 0; peer < trace.moved[stage].size(); ++peer) {
      const PeerCounter& counter = trace.moved[stage][peer];
      if (counter.bytes != 0 || counter.messages != 0) {
        moved.push_back({.stage = static_cast<std::uint16_t>(stage),
                         .peer = static_cast<int>(peer),
                         .counter = counter});
      }
    }
  }
  return moved;
}

struct Interval {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};

std::optional<Interval> own_interval(const RankTrace& trace, const SpanFilter& filter) {
  std::optional<Interval> own;
  for (const SpanRecord& span : trace.spans) {
    if (!filter.matches(span) || span.stage == kCompute.id) {
      continue;
    }
    if (!own) {
      own = Interval{span.begin_ns, span.end_ns};
    }
    own->begin_ns = std::min(own->begin_ns, span.begin_ns);
    own->end_ns = std::max(own->end_ns, span.end_ns);
  }
  return own;
}

}  // namespace

RankSummary summarise(const RankTrace& trace, const SpanFilter& filter) {
  RankSummary summary;
  summary.rank = trace.rank;
  summary.dropped_span_count = trace.dropped_span_count;
  summary.moved = list_moved(trace);
  for (const SpanRecord& span : trace.spans) {
    if (!filter.matches(span)) {
      continue;
    }
    const Stage* stage = find_stage(span.stage);
    if (stage == nullptr) {
      ++summary.unknown_span_count;
      continue;
    }
    const std::int64_t duration_ns = (Instant{span.end_ns} - Instant{span.begin_ns}).count();
    add(summary.stages[stage->id], duration_ns);
    if (stage->id != kCompute.id) {
      add(summary.planes[static_cast<std::size_t>(stage->plane)], duration_ns);
    }
  }
  return summary;
}

Result<RoundTime> measure_round(std::span<const RankTrace> traces, Operation operation,
                                std::uint64_t round) {
  CROSSDOCK_RETURN_IF_ERROR(check_traces(traces));
  CROSSDOCK_RETURN_IF_ERROR(check_one_clock(traces));
  RoundTime time;
  time.begin.ns = std::numeric_limits<std::int64_t>::max();
  time.end.ns = std::numeric_limits<std::int64_t>::min();
  for (const RankTrace& trace : traces) {
    const auto own = own_interval(trace, {.operation = operation, .round = round});
    if (!own) {
      return Status(
          StatusKind::kInvalidArgument, Scope::kOperation,
          fmt::format("rank {} has no span of {} round {}{}", trace.rank, to_string(operation),
                      round, trace.dropped_span_count > 0 ? " (it dropped spans)" : ""));
    }
    if (own->begin_ns < time.begin.ns) {
      time.begin.ns = own->begin_ns;
      time.first_rank = trace.rank;
    }
    if (own->end_ns > time.end.ns) {
      time.end.ns = own->end_ns;
      time.last_rank = trace.rank;
    }
    time.longest_own = std::max(time.longest_own, Instant{own->end_ns} - Instant{own->begin_ns});
  }
  return time;
}

std::vector<std::uint64_t> complete_rounds(std::span<const RankTrace> traces, Operation operation) {
  std::set<std::uint64_t> common;
  for (std::size_t at = 0; at < traces.size(); ++at) {
    std::set<std::uint64_t> own;
    for (const SpanRecord& span : traces[at].spans) {
      if (span.operation == operation && span.stage != kCompute.id) {
        own.insert(span.round);
      }
    }
    if (at == 0) {
      common = std::move(own);
      continue;
    }
    std::set<std::uint64_t> both;
    std::set_intersection(common.begin(), common.end(), own.begin(), own.end(),
                          std::inserter(both, both.end()));
    common = std::move(both);
  }
  return {common.begin(), common.end()};
}

}  // namespace crossdock::trace
