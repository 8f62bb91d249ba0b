// SPDX-License-Identifier: Apache-2.0
// Marks, synchronisation, memory, disagreements and the ledger; see json.h.
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "explore/facts/line_kinds.h"
#include "explore/facts/marks.h"
#include "explore/output/json.h"

namespace crossdock::explore {
namespace {

using Json = nlohmann::ordered_json;

Json or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }
Json or_null(int index) { return index == kNone ? Json(nullptr) : Json(index); }

Json marks_json(const Project& project) {
  Json marks = Json::array();
  for (const Mark& mark : project.marks) {
    Json lines = Json::array();
    for (const LineRange& range : mark.lines) {
      lines.push_back(Json::array({range.first, range.last}));
    }
    marks.push_back({{"id", mark.id},
                     {"rule", mark.rule},
                     {"function", or_null(mark.function)},
                     {"file", mark.file},
                     {"lines", std::move(lines)},
                     {"text", mark.text},
                     {"related", mark.related},
                     {"verdict", or_null(mark.verdict)},
                     {"note", or_null(mark.note)}});
  }
  return marks;
}

Json rules_json() {
  Json rules = Json::array();
  for (const MarkRule& rule : mark_rules()) {
    rules.push_back({{"id", rule.id},
                     {"title", rule.title},
                     {"meaning", rule.meaning},
                     {"severity", rule.severity}});
  }
  return rules;
}

Json points_json(const std::vector<SyncPoint>& points) {
  Json json = Json::array();
  for (const SyncPoint& point : points) {
    json.push_back({{"function", or_null(point.function)},
                    {"file", point.file},
                    {"line", point.line},
                    {"text", point.text},
                    {"segment", or_null(point.segment)}});
  }
  return json;
}

Json sync_json(const Project& project) {
  Json pairs = Json::array();
  for (const SyncPair& pair : project.sync) {
    pairs.push_back({{"id", pair.id},
                     {"kind", pair.kind},
                     {"key", pair.key},
                     {"publishers", points_json(pair.publishers)},
                     {"waiters", points_json(pair.waiters)},
                     {"class", to_string(pair.edge_class)},
                     {"complete", !pair.publishers.empty() && !pair.waiters.empty()}});
  }
  return pairs;
}

Json region_json(const Region& region) {
  Json registered = Json::array();
  for (const Evidence& evidence : region.registered) {
    registered.push_back(
        {{"file", evidence.file}, {"line", evidence.line}, {"text", evidence.text}});
  }
  Json arguments = Json::array();
  for (const KernelArgument& argument : region.kernel_arguments) {
    arguments.push_back({{"function", argument.function},
                         {"parameter", argument.parameter},
                         {"file", argument.file},
                         {"line", argument.line}});
  }
  return {{"id", region.id},
          {"name", region.name},
          {"space", region.space},
          {"function", or_null(region.function)},
          {"file", region.file},
          {"line", region.line},
          {"requested", or_null(region.requested)},
          {"reserved", or_null(region.reserved)},
          {"written", or_null(region.written)},
          {"lifetime", region.lifetime},
          {"registered", std::move(registered)},
          {"kernel_arguments", std::move(arguments)},
          {"allocator", region.allocator},
          {"class", to_string(region.edge_class)}};
}

Json end_json(const TransferEnd& end) {
  return {{"text", end.text}, {"space", end.space}, {"region", or_null(end.region)}};
}

Json memory_json(const Project& project) {
  Json regions = Json::array();
  for (const Region& region : project.regions) {
    regions.push_back(region_json(region));
  }
  Json transfers = Json::array();
  for (const Transfer& transfer : project.transfers) {
    transfers.push_back({{"function", transfer.function},
                         {"file", transfer.file},
                         {"line", transfer.line},
                         {"source", end_json(transfer.source)},
                         {"target", end_json(transfer.target)},
                         {"length", or_null(transfer.length)},
                         {"engine", transfer.engine},
                         {"sync", or_null(transfer.sync)},
                         {"segment", or_null(transfer.segment)},
                         {"class", "name-only"}});
  }
  return {{"regions", std::move(regions)}, {"transfers", std::move(transfers)}};
}

}  // namespace

Json facts_json(const Project& project) {
  Json json;
  json["marks"] = marks_json(project);
  json["rules"] = rules_json();
  json["sync"] = sync_json(project);
  json["memory"] = memory_json(project);
  json["disagreements"] = Json::array();
  for (const Disagreement& disagreement : project.disagreements) {
    json["disagreements"].push_back({{"file", disagreement.file},
                                     {"line", disagreement.line},
                                     {"name", disagreement.name},
                                     {"found_by", disagreement.found_by},
                                     {"missing_in", disagreement.missing_in},
                                     {"reason", disagreement.reason}});
  }
  return json;
}

Json ledger_json(const Project& project) {
  int lines = 0;
  int masked = 0;
  int unparsed = 0;
  LineKinds kinds;
  std::map<int, int> by_stage;
  for (const auto& file : project.files) {
    lines += file->text.line_count();
    const LineKinds own = count_line_kinds(*file);
    kinds.code += own.code;
    kinds.comment += own.comment;
    kinds.blank += own.blank;
    kinds.preprocessor += own.preprocessor;
    for (const LineStage& run : file->line_stages) {
      by_stage[run.stage] += run.lines.count();
    }
    masked += count_lines(file->text, file->masked.masked);
    unparsed += count_lines(file->text, file->inventory.unparsed);
  }
  Json stages = Json::array();
  for (const auto& [stage, count] : by_stage) {
    stages.push_back({{"stage", stage}, {"lines", count}});
  }
  std::map<std::string_view, int> by_reach = {{"root", 0}, {"reachable", 0}, {"unreachable", 0}};
  int in_functions = 0;
  int in_segments = 0;
  for (const Function& function : project.functions) {
    if (function.parent == kNone) {
      by_reach[to_string(function.reach)] += function.lines.count();
      in_functions += function.lines.count();
      in_segments += function.segments.empty() ? 0 : function.body_lines.count();
    }
  }
  std::map<std::string_view, int> by_class = {
      {"exact", 0}, {"name-only", 0}, {"ambiguous", 0}, {"textual", 0}};
  for (const Edge& edge : project.edges) {
    ++by_class[to_string(edge.edge_class)];
  }
  return {{"lines", lines},
          {"by_kind",
           {{"code", kinds.code},
            {"comment", kinds.comment},
            {"blank", kinds.blank},
            {"preprocessor", kinds.preprocessor}}},
          {"by_stage", std::move(stages)},
          {"in_functions", in_functions},
          {"in_segments", in_segments},
          {"by_reach", by_reach},
          {"edges_by_class", by_class},
          {"masked_lines", masked},
          {"unparsed_lines", unparsed},
          {"files_skipped", project.files_skipped}};
}

}  // namespace crossdock::explore
