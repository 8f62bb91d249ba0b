// SPDX-License-Identifier: Apache-2.0
#include "explore/output/overlay.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/parse.h"
#include "explore/facts/stages.h"
#include "explore/source/sha256.h"

namespace crossdock::explore {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kOverlaySchema = "crossdock.explore.overlay/1";

std::string text_of(const Json& entry, const char* key) {
  const auto found = entry.find(key);
  return found != entry.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace

struct Overlay::Content {
  Json json;
  OverlayResult result;

  [[nodiscard]] std::vector<Json> section(const char* name) const {
    const auto found = json.find(name);
    return found != json.end() && found->is_array() ? found->get<std::vector<Json>>()
                                                    : std::vector<Json>{};
  }
  void unmatched(std::string section_name, std::string id, std::string reason) {
    result.unmatched.push_back({std::move(section_name), std::move(id), std::move(reason)});
  }
};

Overlay::Overlay(std::unique_ptr<Content> content) : content_(std::move(content)) {}
Overlay::~Overlay() = default;
Overlay::Overlay(Overlay&&) noexcept = default;
Overlay& Overlay::operator=(Overlay&&) noexcept = default;

Result<Overlay> Overlay::parse(std::string_view text, const std::string& path) {
  const auto refused = [&](std::string_view what) {
    return Status(StatusKind::kInvalidArgument, Scope::kOperation,
                  fmt::format("--overlay {}: {}", quote(path), what));
  };
  auto content = std::make_unique<Content>();
  content->json = Json::parse(text, nullptr, false);
  if (!content->json.is_object()) {
    return refused("is no JSON object; allowed: see docs/explorer-schema.md");
  }
  if (text_of(content->json, "schema") != kOverlaySchema) {
    return refused(fmt::format("schema is {}; allowed: {}", quote(text_of(content->json, "schema")),
                               kOverlaySchema));
  }
  for (const char* const name : {"functions", "segments", "stages", "edges", "marks"}) {
    const std::vector<Json> entries = content->section(name);
    const bool are_objects = std::all_of(entries.begin(), entries.end(),
                                         [](const Json& entry) { return entry.is_object(); });
    if (!are_objects || (content->json.contains(name) && !content->json[name].is_array())) {
      return refused(fmt::format("{} is no list of objects", name));
    }
  }
  content->result.path = path;
  content->result.sha256 = sha256_hex(text);
  return Overlay(std::move(content));
}

std::vector<std::string> Overlay::roots() const {
  std::vector<std::string> names;
  for (const Json& name : content_->section("roots")) {
    if (name.is_string()) {
      names.push_back(name.get<std::string>());
    }
  }
  return names;
}

void Overlay::apply_to_edges(Project& project) {
  for (const Json& entry : content_->section("edges")) {
    const std::string from = text_of(entry, "from");
    const std::string to = text_of(entry, "to");
    const std::string verdict = text_of(entry, "verdict");
    bool found = false;
    for (Edge& edge : project.edges) {
      if (project.function(edge.from).qualified != from ||
          project.function(edge.to).qualified != to) {
        continue;
      }
      found = true;
      edge.is_wrong = verdict == "wrong";
      if (verdict == "confirmed") {
        edge.edge_class = EdgeClass::kExact;
        edge.alternatives.clear();
      }
    }
    if (found) {
      ++content_->result.applied;
    } else {
      content_->unmatched("edges", fmt::format("{} -> {}", from, to), "no such edge");
    }
  }
}

void Overlay::apply_to_stages(Project& project) {
  for (const Json& entry : content_->section("stages")) {
    const std::string name = text_of(entry, "name");
    int target = kNone;
    const auto merge = entry.find("merge");
    for (const Json& part : merge != entry.end() && merge->is_array() ? *merge : Json::array()) {
      const std::string id = part.is_string() ? part.get<std::string>() : std::string();
      int stage = kNone;
      for (std::size_t index = 0; index < project.stages.size(); ++index) {
        stage = project.stages[index].id == id ? static_cast<int>(index) : stage;
      }
      int function_index = kNone;
      for (std::size_t index = 0; index < project.functions.size() && stage == kNone; ++index) {
        const Function& function = project.functions[index];
        if (function.qualified == id || function.id == id) {
          function_index = static_cast<int>(index);
        }
      }
      if (stage == kNone && function_index == kNone) {
        content_->unmatched("stages", id, "no such stage or function");
        continue;
      }
      if (target == kNone) {
        target = static_cast<int>(project.stages.size());
        Stage made;
        made.id = "stage:" + name;
        made.name = name;
        made.from_overlay = true;
        made.summary = text_of(entry, "summary");
        project.stages.push_back(std::move(made));
        ++content_->result.applied;
      }
      if (function_index != kNone) {
        project.function(function_index).stage = target;
        continue;
      }
      Stage& old = project.stages[static_cast<std::size_t>(stage)];
      Stage& made = project.stages[static_cast<std::size_t>(target)];
      made.own_roles.insert(made.own_roles.end(), old.own_roles.begin(), old.own_roles.end());
      old.own_roles.clear();
      for (Function& function : project.functions) {
        function.stage = function.stage == stage ? target : function.stage;
      }
    }
  }
  finish_stages(project);
  // A stage without lines was merged away.
  std::vector<int> renamed(project.stages.size(), kNone);
  std::vector<Stage> kept;
  for (std::size_t index = 0; index < project.stages.size(); ++index) {
    if (project.stages[index].line_count > 0) {
      renamed[index] = static_cast<int>(kept.size());
      kept.push_back(std::move(project.stages[index]));
    }
  }
  project.stages = std::move(kept);
  for (Function& function : project.functions) {
    function.stage =
        function.stage == kNone ? kNone : renamed[static_cast<std::size_t>(function.stage)];
  }
  finish_stages(project);
}

void Overlay::apply_notes(Project& project) {
  std::map<std::string, int> by_id;
  for (std::size_t index = 0; index < project.functions.size(); ++index) {
    by_id.emplace(project.functions[index].id, static_cast<int>(index));
  }
  const auto find = [&](const char* section, const std::string& id,
                        const Json& entry) -> Function* {
    const auto found = by_id.find(id);
    if (found == by_id.end()) {
      content_->unmatched(section, id, "the function is gone");
      return nullptr;
    }
    Function& function = project.function(found->second);
    const std::string hash = text_of(entry, "body_hash");
    if (!hash.empty() && hash != fmt::format("{:016x}", function.body_hash)) {
      content_->unmatched(section, id, "its body changed since the note was written");
      function.note_is_stale = true;
    }
    ++content_->result.applied;
    return &function;
  };
  for (const Json& entry : content_->section("functions")) {
    if (Function* const function = find("functions", text_of(entry, "id"), entry)) {
      function->note = text_of(entry, "note");
    }
  }
  for (const Json& entry : content_->section("segments")) {
    Function* const function = find("segments", text_of(entry, "function"), entry);
    const auto number = entry.find("number");
    const std::size_t at =
        number != entry.end() && number->is_number_unsigned() ? number->get<std::size_t>() : 0;
    if (function == nullptr) {
      continue;
    }
    if (at < 1 || at > function->segments.size()) {
      content_->unmatched("segments", fmt::format("{}/{}", function->id, at), "no such segment");
      continue;
    }
    function->segments[at - 1].note_title = text_of(entry, "title");
    function->segments[at - 1].note_text = text_of(entry, "text");
  }
  for (const Json& entry : content_->section("marks")) {
    const std::string id = text_of(entry, "id");
    const auto mark = std::find_if(project.marks.begin(), project.marks.end(),
                                   [&](const Mark& known) { return known.id == id; });
    if (mark == project.marks.end()) {
      content_->unmatched("marks", id, "no such mark");
      continue;
    }
    mark->verdict = text_of(entry, "verdict");
    mark->note = text_of(entry, "note");
    ++content_->result.applied;
  }
  project.overlay = content_->result;
}

}  // namespace crossdock::explore
