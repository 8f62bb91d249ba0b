// SPDX-License-Identifier: Apache-2.0
#include "report/trace_json.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "report/report.h"
#include "report/rounds.h"
#include "trace/check_traces.h"
#include "trace/recorder.h"
#include "trace/stages.h"
#include "trace/summary.h"
#include "trace/wait_matrix.h"

namespace crossdock::report {
namespace {

using nlohmann::json;
using trace::Operation;
using trace::RankTrace;

constexpr std::array kOperations = {Operation::kNone, Operation::kDispatch, Operation::kCombine,
                                    Operation::kCollective};

json time_json(const trace::StageTime& time) {
  return json::array({time.sum_ns, time.count, time.max_ns});
}

// {"rank": 0, "planes": {"data": [sum, count, max], ...}, "stages": {"6": [sum, count, max], ...}}
json rank_summary_json(const trace::RankSummary& summary) {
  json planes = json::object();
  for (const trace::Plane plane :
       {trace::Plane::kData, trace::Plane::kControl, trace::Plane::kSync}) {
    planes[std::string(to_string(plane))] = time_json(summary.plane(plane));
  }
  json stages = json::object();
  for (const trace::Stage& stage : trace::kStages) {
    if (summary.stage(stage).count > 0) {
      stages[std::to_string(stage.id)] = time_json(summary.stage(stage));
    }
  }
  return {{"rank", summary.rank}, {"planes", std::move(planes)}, {"stages", std::move(stages)}};
}

json summaries_json(const std::vector<RankTrace>& traces,
                    const std::optional<Operation>& operation) {
  json ranks = json::array();
  bool has_spans = false;
  for (const RankTrace& trace : traces) {
    ranks.push_back(rank_summary_json(
        trace::summarise(trace, {.operation = operation, .round = std::nullopt})));
    has_spans = has_spans || !ranks.back().at("stages").empty();
  }
  return has_spans ? ranks : json();
}

json all_summaries_json(const std::vector<RankTrace>& traces) {
  json summaries = json::object();
  summaries["all"] = summaries_json(traces, std::nullopt);
  for (const Operation operation : kOperations) {
    json ranks = summaries_json(traces, operation);
    if (!ranks.is_null() && operation != Operation::kNone) {
      summaries[std::string(trace::to_string(operation))] = std::move(ranks);
    }
  }
  return summaries;
}

// [[stage, rank, bytes, messages], ...], summed over peers.
json moved_json(const std::vector<RankTrace>& traces) {
  json moved = json::array();
  for (const RankTrace& trace : traces) {
    std::map<std::uint16_t, trace::PeerCounter> by_stage;
    for (const trace::StageMoved& entry : trace::summarise(trace).moved) {
      by_stage[entry.stage].bytes += entry.counter.bytes;
      by_stage[entry.stage].messages += entry.counter.messages;
    }
    for (const auto& [stage, counter] : by_stage) {
      moved.push_back(json::array({stage, trace.rank, counter.bytes, counter.messages}));
    }
  }
  return moved;
}

json operations_json(const RoundTimes& round) {
  json operations = json::array();
  for (const Operation operation : kOperations) {
    const auto& time = round.operations[static_cast<std::size_t>(operation)];
    if (time && operation != Operation::kNone) {
      operations.push_back({{"name", trace::to_string(operation)},
                            {"begin", time->begin_ns - round.begin_ns},
                            {"end", time->end_ns - round.begin_ns},
                            {"first_rank", time->first_rank},
                            {"last_rank", time->last_rank}});
    }
  }
  return operations;
}

// {"total": N, "rounds": [{"round", "label", "length", "operations",
//                          "spans": [[rank, stage, operation, begin, end], ...]}, ...]}
json timeline_json(const Report& report) {
  std::vector<RoundTimes> measured = measure_rounds(report.traces);
  const std::size_t total = measured.size();
  const auto chosen = choose_rounds(std::move(measured), report.timeline_rounds_max);
  std::map<std::uint64_t, std::size_t> place;
  json rounds = json::array();
  for (const RoundTimes& round : chosen) {
    place[round.round] = rounds.size();
    rounds.push_back({{"round", round.round},
                      {"label", round.label},
                      {"length", round.end_ns - round.begin_ns},
                      {"operations", operations_json(round)},
                      {"spans", json::array()}});
  }
  for (const RankTrace& trace : report.traces) {
    for (const trace::SpanRecord& span : trace.spans) {
      const auto found = place.find(span.round);
      if (found == place.end()) {
        continue;
      }
      const std::int64_t origin_ns = chosen[found->second].begin_ns;
      rounds[found->second]["spans"].push_back(
          json::array({trace.rank, span.stage, trace::to_string(span.operation),
                       span.begin_ns - origin_ns, span.end_ns - origin_ns}));
    }
  }
  return {{"total", total}, {"rounds", std::move(rounds)}};
}

// Rows of [sum, max, count]; null for a rank without a trace.
json waits_json(const std::vector<RankTrace>& traces) {
  const auto matrix = trace::make_wait_matrix(traces);
  if (!matrix.ok()) {
    return {};
  }
  json rows = json::array();
  for (int waiter = 0; waiter < matrix->rank_count; ++waiter) {
    if (!matrix->has_waiter[static_cast<std::size_t>(waiter)]) {
      rows.push_back(nullptr);
      continue;
    }
    json row = json::array();
    for (int peer = 0; peer < matrix->rank_count; ++peer) {
      const trace::PeerWait& wait = matrix->at(waiter, peer);
      row.push_back(json::array({wait.sum_ns, wait.max_ns, wait.count}));
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

json stage_table_json() {
  json stages = json::array();
  for (const trace::Stage& stage : trace::kStages) {
    stages.push_back({{"id", stage.id},
                      {"name", stage.name},
                      {"plane", to_string(stage.plane)},
                      {"what", stage.what}});
  }
  return stages;
}

json trace_json(const Report& report) {
  std::uint64_t dropped = 0;
  std::uint64_t unknown = 0;
  for (const RankTrace& trace : report.traces) {
    const trace::RankSummary summary = trace::summarise(trace);
    dropped += summary.dropped_span_count;
    unknown += summary.unknown_span_count;
  }
  json document = {{"origin", to_string(report.trace_origin)},
                   {"rank_count", report.traces.front().rank_count},
                   {"dropped_span_count", dropped},
                   {"unknown_span_count", unknown},
                   {"summaries", all_summaries_json(report.traces)},
                   {"moved", moved_json(report.traces)},
                   {"waits", waits_json(report.traces)}};
  if (const Status clocks = trace::check_one_clock(report.traces); clocks.ok()) {
    document["timeline"] = timeline_json(report);
  } else {
    document["timeline_refused"] = clocks.message();
  }
  return document;
}

}  // namespace crossdock::report
