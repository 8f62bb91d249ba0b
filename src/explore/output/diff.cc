// SPDX-License-Identifier: Apache-2.0
#include "explore/output/diff.h"

#include <fmt/format.h>

#include <array>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/parse.h"
#include "base/status_macros.h"
#include "explore/output/json.h"

namespace crossdock::explore {
namespace {

using Json = nlohmann::ordered_json;

/// What is compared of one thing: where it is, and what makes it another when it differs.
struct Item {
  std::string file;
  int line = 0;
  std::vector<std::pair<std::string, std::string>> facets;  // name, value
};
using Items = std::map<std::string, Item>;

/// Ids name the path and the signature; what people follow across edits is the qualified name.
std::string name_of(const Json& document, std::size_t function) {
  return document.at("functions").at(function).at("id").get<std::string>();
}

std::string path_of(const Json& document, const Json& file) {
  return document.at("files").at(file.get<std::size_t>()).at("path").get<std::string>();
}

Items functions_of(const Json& document) {
  Items items;
  for (const Json& function : document.at("functions")) {
    Item item{path_of(document, function.at("file")), function.at("name_line").get<int>(), {}};
    item.facets = {{"body", function.at("body_hash").get<std::string>()},
                   {"signature", function.at("signature").get<std::string>()},
                   {"conditions", function.at("conditions").dump()},
                   {"execution", function.at("execution").get<std::string>()},
                   {"reach", function.at("reach").get<std::string>()}};
    items.emplace(function.at("id").get<std::string>(), std::move(item));
  }
  return items;
}

Items edges_of(const Json& document) {
  Items items;
  for (const Json& edge : document.at("edges")) {
    const auto from = edge.at("from").get<std::size_t>();
    const auto to = edge.at("to").get<std::size_t>();
    const Json& caller = document.at("functions").at(from);
    Item item{path_of(document, caller.at("file")), edge.at("sites").at(0).at(0).get<int>(), {}};
    item.facets = {{"form", edge.at("form").get<std::string>()},
                   {"sites", fmt::format("{}", edge.at("sites").size())}};
    items.emplace(fmt::format("{} -> {} ({})", name_of(document, from), name_of(document, to),
                              edge.at("class").get<std::string>()),
                  std::move(item));
  }
  return items;
}

Items stages_of(const Json& document) {
  Items items;
  for (const Json& stage : document.at("stages")) {
    Item item;
    std::string functions;
    for (const Json& function : stage.at("functions")) {
      const auto index = function.get<std::size_t>();
      functions += name_of(document, index) + "\n";
      if (item.file.empty()) {
        const Json& first = document.at("functions").at(index);
        item.file = path_of(document, first.at("file"));
        item.line = first.at("name_line").get<int>();
      }
    }
    item.facets = {{"functions", std::move(functions)},
                   {"name", stage.at("name").get<std::string>()}};
    items.emplace(stage.at("id").get<std::string>(), std::move(item));
  }
  return items;
}

Items marks_of(const Json& document) {
  Items items;
  for (const Json& mark : document.at("marks")) {
    Item item{path_of(document, mark.at("file")), mark.at("lines").at(0).at(0).get<int>(), {}};
    item.facets = {{"text", mark.at("text").get<std::string>()}};
    items.emplace(mark.at("id").get<std::string>(), std::move(item));
  }
  return items;
}

Json entry(const std::string& id, const Item& item, std::string_view what) {
  return {{"id", id}, {"file", item.file}, {"line", item.line}, {"what", what}};
}

Json compare(const Items& before, const Items& after) {
  Json came = Json::array();
  Json went = Json::array();
  Json changed = Json::array();
  for (const auto& [id, item] : before) {
    if (!after.contains(id)) {
      went.push_back(entry(id, item, "went"));
    }
  }
  for (const auto& [id, item] : after) {
    const auto old = before.find(id);
    if (old == before.end()) {
      came.push_back(entry(id, item, "came"));
      continue;
    }
    std::string what;
    for (std::size_t index = 0; index < item.facets.size(); ++index) {
      if (item.facets[index].second != old->second.facets[index].second) {
        what += (what.empty() ? "" : ", ") + item.facets[index].first;
      }
    }
    if (!what.empty()) {
      changed.push_back(entry(id, item, what));
    }
  }
  return {{"came", std::move(came)}, {"went", std::move(went)}, {"changed", std::move(changed)}};
}

Status check(const Json& document, std::string_view which) {
  const bool fits = document.is_object() && document.value("schema", "") == kSchema;
  return fits ? Status()
              : Status(
                    StatusKind::kInvalidArgument, Scope::kOperation,
                    fmt::format("the {} document has another schema; allowed: {}", which, kSchema));
}

constexpr std::array<std::string_view, 4> kSections = {"functions", "edges", "stages", "marks"};

}  // namespace

Result<Json> make_diff(const Json& old_document, const Json& new_document) {
  CROSSDOCK_RETURN_IF_ERROR(check(old_document, "old"));
  CROSSDOCK_RETURN_IF_ERROR(check(new_document, "new"));
  try {
    Json diff;
    diff["schema"] = "crossdock.explore.diff/1";
    diff["old"] = old_document.at("provenance");
    diff["new"] = new_document.at("provenance");
    diff["functions"] = compare(functions_of(old_document), functions_of(new_document));
    diff["edges"] = compare(edges_of(old_document), edges_of(new_document));
    diff["stages"] = compare(stages_of(old_document), stages_of(new_document));
    diff["marks"] = compare(marks_of(old_document), marks_of(new_document));
    return diff;
  } catch (const Json::exception& error) {  // A document that somebody edited.
    return Status(StatusKind::kInvalidArgument, Scope::kOperation,
                  fmt::format("a document is damaged: {}", one_line(error.what())));
  }
}

std::string diff_text(const Json& diff) {
  std::string text;
  for (const std::string_view section : kSections) {
    const Json& part = diff.at(std::string(section));
    const std::string_view noun = section.substr(0, section.size() - 1);
    for (const auto& [list, sign] : {std::pair{"came", '+'}, {"went", '-'}, {"changed", '~'}}) {
      for (const Json& item : part.at(list)) {
        text += fmt::format("{} {} {} ({}:{}){}\n", sign, noun, item.at("id").get<std::string>(),
                            item.at("file").get<std::string>(), item.at("line").get<int>(),
                            sign == '~' ? ": " + item.at("what").get<std::string>() : "");
      }
    }
  }
  return text.empty() ? "no differences\n" : text;
}

}  // namespace crossdock::explore
