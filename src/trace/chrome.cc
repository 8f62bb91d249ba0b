// SPDX-License-Identifier: Apache-2.0
#include "trace/chrome.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "base/status_macros.h"
#include "trace/check_traces.h"
#include "trace/recorder.h"
#include "trace/stages.h"

namespace crossdock::trace {
namespace {

constexpr int kUnknownLane = 3;
constexpr std::array<std::string_view, kUnknownLane + 1> kLaneNames = {"data", "control", "sync",
                                                                       "unknown stages"};

struct ClockGroup {
  std::string name;  // "A", "B", ... by first appearance
  std::int64_t origin_ns = std::numeric_limits<std::int64_t>::max();
};
using ClockGroups = std::map<std::uint64_t, ClockGroup>;

ClockGroups find_clocks(std::span<const RankTrace> traces) {
  ClockGroups clocks;
  for (const RankTrace& trace : traces) {
    const auto [place, is_new] = clocks.try_emplace(trace.clock_domain);
    if (is_new) {
      const std::size_t order = clocks.size() - 1;
      place->second.name = order < 26 ? std::string(1, static_cast<char>('A' + order))
                                      : fmt::format("#{}", order + 1);
    }
    for (const SpanRecord& span : trace.spans) {
      place->second.origin_ns = std::min(place->second.origin_ns, span.begin_ns);
    }
  }
  return clocks;
}

// Viewers take process 0 for the idle one and thread ids as unique over all processes.
int process_of(int rank) { return rank + 1; }
int thread_of(int rank, int lane) { return process_of(rank) * 10 + lane; }

class Writer {
 public:
  explicit Writer(Lanes lanes) : lanes_(lanes) {}

  void add_rank(const RankTrace& trace, const ClockGroup& clock, bool is_only_clock) {
    const std::string name = is_only_clock
                                 ? fmt::format("rank {}", trace.rank)
                                 : fmt::format("clock {}: rank {}", clock.name, trace.rank);
    add_metadata(trace.rank, "process_name", fmt::format(R"("name":"{}")", name));
    add_metadata(trace.rank, "process_sort_index", fmt::format(R"("sort_index":{})", trace.rank));
    if (trace.dropped_span_count > 0) {
      add_metadata(trace.rank, "process_labels",
                   fmt::format(R"("labels":"{} spans were dropped")", trace.dropped_span_count));
    }
    std::array<bool, kLaneNames.size()> used{};
    for (const SpanRecord& span : trace.spans) {
      used[static_cast<std::size_t>(lane_of(span))] = true;
      add_span(trace.rank, span, clock.origin_ns);
    }
    name_lanes(trace.rank, used);
  }

  [[nodiscard]] std::string finish(std::size_t clock_count) && {
    return fmt::format(
        R"({{"displayTimeUnit":"ns","otherData":{{"producer":"crossdock","clocks":{}}},)"
        R"("traceEvents":[{}]}})",
        clock_count, events_);
  }

 private:
  [[nodiscard]] int lane_of(const SpanRecord& span) const {
    if (lanes_ == Lanes::kRank) {
      return 0;
    }
    const Stage* stage = find_stage(span.stage);
    return stage == nullptr ? kUnknownLane : static_cast<int>(stage->plane);
  }

  void begin_event() { events_ += events_.empty() ? "\n" : ",\n"; }

  void add_metadata(int rank, std::string_view kind, std::string_view args) {
    begin_event();
    fmt::format_to(std::back_inserter(events_),
                   R"({{"ph":"M","pid":{},"tid":0,"name":"{}","args":{{{}}}}})", process_of(rank),
                   kind, args);
  }

  void name_lanes(int rank, const std::array<bool, kLaneNames.size()>& used) {
    for (std::size_t lane = 0; lane < used.size(); ++lane) {
      if (!used[lane]) {
        continue;
      }
      begin_event();
      fmt::format_to(std::back_inserter(events_),
                     R"({{"ph":"M","pid":{},"tid":{},"name":"thread_name",)"
                     R"("args":{{"name":"{}"}}}})",
                     process_of(rank), thread_of(rank, static_cast<int>(lane)),
                     lanes_ == Lanes::kRank ? "stages" : kLaneNames[lane]);
    }
  }

  void add_span(int rank, const SpanRecord& span, std::int64_t origin_ns) {
    const Stage* stage = find_stage(span.stage);
    // Spans of the same clock: neither difference can be negative for a trace that was checked.
    const auto begin_ns =
        static_cast<std::uint64_t>(span.begin_ns) - static_cast<std::uint64_t>(origin_ns);
    const auto duration_ns =
        static_cast<std::uint64_t>(span.end_ns) - static_cast<std::uint64_t>(span.begin_ns);
    begin_event();
    fmt::format_to(
        std::back_inserter(events_),
        R"({{"ph":"X","pid":{},"tid":{},"name":"{}","cat":"{}","ts":{}.{:03},)"
        R"("dur":{}.{:03},"args":{{"round":{},"operation":"{}"}}}})",
        process_of(rank), thread_of(rank, lane_of(span)),
        stage == nullptr ? fmt::format("stage {}", span.stage) : std::string(stage->name),
        stage == nullptr ? "unknown" : to_string(stage->plane), begin_ns / 1000, begin_ns % 1000,
        duration_ns / 1000, duration_ns % 1000, span.round, to_string(span.operation));
  }

  Lanes lanes_;
  std::string events_;
};

Status check_events(std::span<const RankTrace> traces, std::size_t event_count_max) {
  std::size_t event_count = 0;
  for (const RankTrace& trace : traces) {
    event_count += trace.spans.size();
    for (const SpanRecord& span : trace.spans) {
      if (span.end_ns < span.begin_ns) {
        return {StatusKind::kInvalidArgument, Scope::kOperation,
                fmt::format("rank {}: a span of stage {} ends before it begins", trace.rank,
                            span.stage)};
      }
    }
  }
  if (event_count > event_count_max) {
    return {StatusKind::kCapacity, Scope::kOperation,
            fmt::format("{} spans are too many for one trace file: at most {} (trace fewer rounds "
                        "or export fewer ranks)",
                        event_count, event_count_max)};
  }
  return {};
}

}  // namespace

Result<std::string> make_chrome_json(std::span<const RankTrace> traces,
                                     const ChromeOptions& options) {
  CROSSDOCK_RETURN_IF_ERROR(check_traces(traces));
  if (options.mixed_clocks == MixedClocks::kRefuse) {
    CROSSDOCK_RETURN_IF_ERROR(check_one_clock(traces));
  }
  CROSSDOCK_RETURN_IF_ERROR(check_events(traces, options.event_count_max));
  const ClockGroups clocks = find_clocks(traces);
  Writer writer(options.lanes);
  for (const RankTrace& trace : traces) {
    writer.add_rank(trace, clocks.at(trace.clock_domain), clocks.size() == 1);
  }
  return std::move(writer).finish(clocks.size());
}

}  // namespace crossdock::trace
