// SPDX-License-Identifier: Apache-2.0
// Edges, roots, paths, roles and stages; see json.h.
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "explore/output/json.h"

namespace crossdock::explore {
namespace {

using Json = nlohmann::ordered_json;

Json or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }
Json or_null(int index) { return index == kNone ? Json(nullptr) : Json(index); }

Json sites(const std::vector<Site>& list) {
  Json json = Json::array();
  for (const Site& site : list) {
    json.push_back(Json::array({site.line, site.column, site.length}));
  }
  return json;
}

Json edges_json(const Project& project) {
  Json edges = Json::array();
  for (const Edge& edge : project.edges) {
    Json json = {{"from", edge.from},
                 {"to", edge.to},
                 {"class", to_string(edge.edge_class)},
                 {"kind", to_string(edge.kind)},
                 {"form", to_string(edge.form)},
                 {"sites", sites(edge.sites)},
                 {"alternatives", edge.alternatives},
                 {"conditions", edge.conditions},
                 {"sync", or_null(edge.sync)}};
    if (edge.is_wrong) {
      json["verdict"] = "wrong";
    }
    edges.push_back(std::move(json));
  }
  return edges;
}

Json external_json(const Project& project) {
  Json calls = Json::array();
  for (const ExternalCall& call : project.external_calls) {
    calls.push_back({{"from", call.from},
                     {"name", call.name},
                     {"sites", sites(call.sites)},
                     {"mechanism", call.mechanism.has_value() ? Json(info(*call.mechanism).name)
                                                              : Json(nullptr)},
                     {"reason", call.reason}});
  }
  return calls;
}

Json bindings_json(const Project& project) {
  Json bindings = Json::array();
  for (const Binding& binding : project.bindings) {
    bindings.push_back({{"name", binding.name},
                        {"owner", or_null(binding.owner)},
                        {"mechanism", binding.mechanism},
                        {"file", binding.file},
                        {"line", binding.line},
                        {"function", or_null(binding.function)},
                        {"class", to_string(binding.edge_class)}});
  }
  return bindings;
}

Json roots_json(const Project& project) {
  Json roots = Json::array();
  for (const Root& root : project.roots) {
    roots.push_back({{"function", root.function},
                     {"source", root.is_declared ? "declared" : "guessed"},
                     {"reason", root.reason}});
  }
  return roots;
}

Json paths_json(const Project& project) {
  Json paths = Json::array();
  for (const Path& path : project.paths) {
    paths.push_back({{"root", path.root},
                     {"target", or_null(path.target)},
                     {"functions", path.functions},
                     {"edges", path.edges},
                     {"reason", path.reason}});
  }
  return paths;
}

Json roles_json(const Project& project) {
  Json roles = Json::array();
  for (const Role& role : project.roles) {
    roles.push_back({{"id", role.id},
                     {"name", role.name},
                     {"function", role.function},
                     {"condition", role.condition},
                     {"axis", role.axis},
                     {"lines", Json::array({role.lines.first, role.lines.last})},
                     {"entry", role.lines.first},
                     {"functions", role.functions},
                     {"parent", or_null(role.parent)},
                     {"class", "name-only"}});
  }
  return roles;
}

Json forks_json(const Project& project) {
  Json forks = Json::array();
  for (const Fork& fork : project.forks) {
    forks.push_back({{"function", fork.function},
                     {"line", fork.line},
                     {"join_line", fork.join_line == 0 ? Json(nullptr) : Json(fork.join_line)},
                     {"join", fork.join},
                     {"roles", fork.roles}});
  }
  return forks;
}

Json stages_json(const Project& project) {
  Json stages = Json::array();
  for (std::size_t index = 0; index < project.stages.size(); ++index) {
    const Stage& stage = project.stages[index];
    Json mechanisms = Json::array();
    for (const Mechanism mechanism : stage.mechanisms) {
      mechanisms.push_back(info(mechanism).name);
    }
    stages.push_back({{"id", stage.id},
                      {"name", stage.name},
                      {"source", stage.from_overlay ? "overlay" : "proposed"},
                      {"order", index},
                      {"functions", stage.functions},
                      {"roles", stage.roles},
                      {"lines", stage.line_count},
                      {"mechanisms", std::move(mechanisms)},
                      {"summary", or_null(stage.summary)}});
  }
  return stages;
}

Json stage_edges_json(const Project& project) {
  Json edges = Json::array();
  for (const StageEdge& edge : project.stage_edges) {
    edges.push_back({{"from", edge.from},
                     {"to", edge.to},
                     {"kind", to_string(edge.kind)},
                     {"class", to_string(edge.edge_class)},
                     {"edges", edge.edges}});
  }
  return edges;
}

}  // namespace

Json graph_json(const Project& project) {
  Json json;
  json["edges"] = edges_json(project);
  json["external_calls"] = external_json(project);
  json["bindings"] = bindings_json(project);
  json["roots"] = roots_json(project);
  json["paths"] = paths_json(project);
  json["roles"] = roles_json(project);
  json["forks"] = forks_json(project);
  json["stages"] = stages_json(project);
  json["stage_edges"] = stage_edges_json(project);
  json["layouts"] = Json::array();
  return json;
}

}  // namespace crossdock::explore
