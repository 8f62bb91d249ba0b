// SPDX-License-Identifier: Apache-2.0
#include "explore/output/json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "crossdock/version.h"
#include "explore/facts/line_kinds.h"

namespace crossdock::explore {
namespace {

using Json = nlohmann::ordered_json;

Json or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }
Json or_null(int index) { return index == kNone ? Json(nullptr) : Json(index); }
Json range(LineRange lines) { return Json::array({lines.first, lines.last}); }

Json file_json(const SourceFile& file) {
  Json masked = Json::array();
  for (const Masked& entry : file.masked.masked) {
    const std::string_view text =
        file.text.view().substr(entry.bytes.begin, entry.bytes.end - entry.bytes.begin);
    masked.push_back({{"lines", range(file.text.lines_of(entry.bytes))},
                      {"kind", to_string(entry.kind)},
                      {"text", one_line(text, 120)}});
  }
  Json unparsed = Json::array();
  for (const ByteRange bytes : file.inventory.unparsed) {
    unparsed.push_back(range(file.text.lines_of(bytes)));
  }
  Json stages = Json::array();
  for (const LineStage& run : file.line_stages) {
    stages.push_back(Json::array({run.lines.first, run.lines.last, run.stage}));
  }
  const LineKinds kinds = count_line_kinds(file);
  return {{"path", file.path},
          {"language", to_string(file.language)},
          {"sha256", file.sha256},
          {"bytes", file.byte_count},
          {"line_count", file.text.line_count()},
          {"text", file.text.view()},
          {"encoding", file.encoding},
          {"masked", std::move(masked)},
          {"unparsed", std::move(unparsed)},
          {"line_stages", std::move(stages)},
          {"line_kinds",
           {{"code", kinds.code},
            {"comment", kinds.comment},
            {"blank", kinds.blank},
            {"preprocessor", kinds.preprocessor}}}};
}

Json mechanisms(const std::vector<Mechanism>& list) {
  Json names = Json::array();
  for (const Mechanism mechanism : list) {
    names.push_back(info(mechanism).name);
  }
  return names;
}

Json segment_json(const Function& function, std::size_t number) {
  const Segment& segment = function.segments[number];
  Json note = nullptr;
  if (!segment.note_title.empty() || !segment.note_text.empty()) {
    note = {{"title", segment.note_title}, {"text", segment.note_text}};
  }
  return {{"id", fmt::format("{}/{}", function.id, number + 1)},
          {"lines", range(segment.lines)},
          {"mechanism", info(segment.mechanism).name},
          {"also", mechanisms(segment.also)},
          {"head", segment.head},
          {"depth", segment.depth},
          {"reads", segment.reads},
          {"writes", segment.writes},
          {"edges", segment.edges},
          {"external_calls", segment.external_calls},
          {"spaces", segment.spaces.has_value()
                         ? Json::array({segment.spaces->first, segment.spaces->second})
                         : Json(nullptr)},
          {"note", std::move(note)}};
}

Json parameters_json(const Function& function) {
  Json parameters = Json::array();
  for (const Parameter& parameter : function.parameters) {
    parameters.push_back(
        {{"name", parameter.name},
         {"type", parameter.type},
         {"read", parameter.read.has_value() ? Json(*parameter.read) : Json(nullptr)}});
  }
  return parameters;
}

Json function_json(const Project& project, const Function& function) {
  Json declarations = Json::array();
  for (const Place& place : function.declarations) {
    declarations.push_back({{"file", place.file}, {"line", place.line}});
  }
  Json segments = Json::array();
  for (std::size_t number = 0; number < function.segments.size(); ++number) {
    segments.push_back(segment_json(function, number));
  }
  Json json = {{"id", function.id},
               {"name", function.name},
               {"qualified", function.qualified},
               {"signature", function.signature},
               {"kind", to_string(function.kind)},
               {"language", to_string(project.file_of(function).language)},
               {"execution", function.execution},
               {"template", function.is_template},
               {"file", function.file},
               {"lines", range(function.lines)},
               {"name_line", function.name_line},
               {"signature_lines", range(function.signature_lines)},
               {"body_lines", range(function.body_lines)},
               {"parent", or_null(function.parent)},
               {"parameters", parameters_json(function)},
               {"conditions", function.conditions},
               {"compiled_out", function.compiled_out},
               {"body_hash", fmt::format("{:016x}", function.body_hash)},
               {"found_by", function.found_by},
               {"declarations", std::move(declarations)},
               {"reach", to_string(function.reach)},
               {"roots", function.roots},
               {"roots_left_out", function.roots_left_out},
               {"roles", function.roles},
               {"stage", or_null(function.stage)},
               {"segments", std::move(segments)},
               {"note", or_null(function.note)}};
  if (function.note_is_stale) {
    json["stale"] = true;
  }
  return json;
}

Json glossary_json() {
  Json glossary = Json::array();
  for (int index = 0; index < kMechanismCount; ++index) {
    const MechanismInfo& entry = info(static_cast<Mechanism>(index));
    glossary.push_back({{"kind", entry.name},
                        {"title", entry.title},
                        {"plane", entry.plane},
                        {"meaning", entry.meaning}});
  }
  return glossary;
}

Json overlay_json(const Project& project) {
  if (!project.overlay.has_value()) {
    return nullptr;
  }
  Json unmatched = Json::array();
  for (const UnmatchedNote& note : project.overlay->unmatched) {
    unmatched.push_back({{"section", note.section}, {"id", note.id}, {"reason", note.reason}});
  }
  return {{"path", project.overlay->path},
          {"sha256", project.overlay->sha256},
          {"applied", project.overlay->applied},
          {"unmatched", std::move(unmatched)}};
}

}  // namespace

Json provenance_json(const Provenance& provenance) {
  return {{"name", provenance.name},
          {"paths", provenance.paths},
          {"command", provenance.command},
          {"commit", or_null(provenance.commit)},
          {"dirty", provenance.dirty.has_value() ? Json(*provenance.dirty) : Json(nullptr)},
          {"sha256", provenance.sha256}};
}

Json to_json(const Project& project) {
  Json json;
  json["schema"] = kSchema;
  json["generator"] = {{"program", "crossdock"}, {"version", version()}};
  json["provenance"] = provenance_json(project.provenance);
  json["analysers"] = Json::array();
  for (const Analyser& analyser : project.analysers) {
    json["analysers"].push_back({{"name", analyser.name},
                                 {"used", analyser.used},
                                 {"version", analyser.version},
                                 {"reason", analyser.reason}});
  }
  json["files"] = Json::array();
  for (const auto& file : project.files) {
    json["files"].push_back(file_json(*file));
  }
  json["functions"] = Json::array();
  for (const Function& function : project.functions) {
    json["functions"].push_back(function_json(project, function));
  }
  json.update(graph_json(project));
  json.update(facts_json(project));
  json["ledger"] = ledger_json(project);
  json["glossary"] = glossary_json();
  json["overlay"] = overlay_json(project);
  json["warnings"] = Json::array();
  for (const Warning& warning : project.warnings) {
    json["warnings"].push_back({{"kind", warning.kind},
                                {"path", warning.path},
                                {"line", warning.line == 0 ? Json(nullptr) : Json(warning.line)},
                                {"text", warning.text}});
  }
  return json;
}

}  // namespace crossdock::explore
