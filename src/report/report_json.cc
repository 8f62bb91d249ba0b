// SPDX-License-Identifier: Apache-2.0
#include "report/report_json.h"

#include <fmt/format.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "report/report.h"
#include "report/trace_json.h"
#include "trace/recorder.h"

namespace crossdock::report {
namespace {

using nlohmann::json;

json provenance_json(const Provenance& provenance) {
  return {{"command", provenance.command},
          {"host", provenance.host},
          {"core_count", provenance.core_count},
          {"date", provenance.date},
          {"version", provenance.version}};
}

json facts_json(const Report& report) {
  json facts = json::array();
  for (const Fact& fact : report.facts) {
    facts.push_back({{"name", fact.name},
                     {"value", fact.value},
                     {"origin", to_string(fact.origin)},
                     {"note", fact.note}});
  }
  return facts;
}

json routes_json(const RouteMap& routes) {
  return {{"rank_count", routes.rank_count},
          {"expert_rank", routes.expert_rank},
          {"routes", routes.routes},
          {"origin", to_string(routes.origin)}};
}

json step_json(const JourneyStep& step) {
  json entry = {{"operation", trace::to_string(step.operation)},
                {"stage", step.stage},
                {"what", step.what},
                {"proof", step.proof}};
  const auto add_known = [&](const char* name, std::int64_t value) {
    if (value >= 0) {
      entry[name] = value;
    }
  };
  add_known("rank", step.rank);
  add_known("lane", step.lane);
  add_known("expert", step.expert);
  add_known("slot", step.slot);
  add_known("begin_ns", step.begin_ns);
  add_known("end_ns", step.end_ns);
  if (step.row_bytes > 0) {
    entry["row_bytes"] = step.row_bytes;
  }
  if (step.address) {
    // As text: a script number would lose the low bits of a large address.
    entry["address"] = fmt::format("0x{:x}", *step.address);
  }
  return entry;
}

json journey_json(const Journey& journey) {
  json steps = json::array();
  for (const JourneyStep& step : journey.steps) {
    steps.push_back(step_json(step));
  }
  return {{"rank", journey.rank},
          {"token", journey.token},
          {"round", journey.round},
          {"steps", std::move(steps)}};
}

const char* kind_name(BarKind kind) {
  switch (kind) {
    case BarKind::kOurs:
      return "ours";
    case BarKind::kPeer:
      return "peer";
    case BarKind::kLimit:
      return "limit";
  }
  return "?";
}

json bars_json(const Report& report) {
  json groups = json::array();
  for (const BarGroup& group : report.bars) {
    json bars = json::array();
    for (const Bar& bar : group.bars) {
      bars.push_back({{"name", bar.name},
                      {"value", bar.value},
                      {"kind", kind_name(bar.kind)},
                      {"origin", to_string(bar.origin)},
                      {"note", bar.note}});
    }
    groups.push_back({{"title", group.title},
                      {"unit", group.unit},
                      {"better", group.better == Better::kLower ? "lower" : "higher"},
                      {"bars", std::move(bars)}});
  }
  return groups;
}

json plots_json(const Report& report) {
  json plots = json::array();
  for (const Plot& plot : report.plots) {
    json lines = json::array();
    for (const PlotLine& line : plot.lines) {
      lines.push_back({{"name", line.name},
                       {"kind", kind_name(line.kind)},
                       {"origin", to_string(line.origin)},
                       {"points", line.points}});
    }
    plots.push_back(
        {{"title", plot.title}, {"x", plot.x}, {"unit", plot.unit}, {"lines", std::move(lines)}});
  }
  return plots;
}

const char* verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kNone:
      return "none";
    case Verdict::kVerified:
      return "verified";
    case Verdict::kFailed:
      return "failed";
  }
  return "?";
}

}  // namespace

std::string make_report_json(const Report& report) {
  json document = {
      {"schema", "crossdock.report.1"},
      {"title", report.title},
      {"summary", report.summary},
      {"provenance", provenance_json(report.provenance)},
      {"verdict", {{"state", verdict_name(report.verdict)}, {"text", report.verdict_text}}},
      {"facts", facts_json(report)},
      {"stages", stage_table_json()},
      {"bars", bars_json(report)},
      {"plots", plots_json(report)}};
  if (report.routes) {
    document["routes"] = routes_json(*report.routes);
  }
  if (!report.traces.empty()) {
    document["trace"] = trace_json(report);
  }
  if (report.journey) {
    document["journey"] = journey_json(*report.journey);
  }
  return document.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace crossdock::report
