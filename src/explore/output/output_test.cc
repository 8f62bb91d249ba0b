// SPDX-License-Identifier: Apache-2.0
// The document, the page, overlays and differences.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "explore/output/diff.h"
#include "explore/output/json.h"
#include "explore/output/overlay.h"
#include "explore/output/page.h"
#include "explore/testing/tree.h"

namespace crossdock::explore {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kSource = "void used() {}\nvoid start() { used(); }\nvoid other() {}\n";

TEST(Document, HasWhatTheSchemaPromises) {
  const auto project = Tree().add("a.cc", kSource).explore({.roots = {"start"}});
  const Json json = to_json(*project);
  EXPECT_EQ(json.at("schema"), "crossdock.explore/1");
  for (const char* const key :
       {"generator",      "provenance",    "analysers", "files",    "functions", "edges",
        "external_calls", "bindings",      "roots",     "paths",    "roles",     "forks",
        "stages",         "stage_edges",   "layouts",   "marks",    "rules",     "sync",
        "memory",         "disagreements", "ledger",    "glossary", "overlay",   "warnings"}) {
    EXPECT_TRUE(json.contains(key)) << key;
  }
  int lines = 0;
  for (const Json& stage : json.at("ledger").at("by_stage")) {
    lines += stage.at("lines").get<int>();
  }
  EXPECT_EQ(lines, json.at("ledger").at("lines").get<int>());
  EXPECT_TRUE(json.at("provenance").at("commit").is_null());
}

TEST(Page, DataCannotEndItsElement) {
  const std::string place = R"(<script type="application/json" id="explore-data"></script>)";
  const auto page = make_page("<body>" + place + "</body>", R"({"text":"</script><!-- <b>"})");
  ASSERT_TRUE(page.ok());
  EXPECT_EQ(page->find("</script>"), page->rfind("</script>"));
  EXPECT_NE(page->find(R"(\u003c/script>\u003c!-- )"), std::string::npos);
  EXPECT_FALSE(make_page("<body></body>", "{}").ok());
  EXPECT_FALSE(make_page(place + place, "{}").ok());
}

TEST(OverlayFile, NotesFollowTheirFunctionAndTellWhenTheyNoLongerFit) {
  Tree tree;
  tree.add("a.cc", kSource);
  const auto plain = tree.explore();
  const Function* const used = find_function(*plain, "used");
  const Json notes = {
      {"schema", "crossdock.explore.overlay/1"},
      {"roots", {"start"}},
      {"functions",
       {{{"id", used->id}, {"body_hash", "0000000000000000"}, {"note", "a helper"}},
        {{"id", "gone#12345678"}, {"note", "lost"}}}},
      {"segments", {{{"function", used->id}, {"number", 1}, {"title", "Nothing"}}}},
      {"stages", {{{"name", "All of it"}, {"merge", {"used", "start"}}, {"summary", "why"}}}},
      {"edges", {{{"from", "start"}, {"to", "used"}, {"verdict", "confirmed"}}}}};
  const std::string path = (tree.folder() / "notes.json").string();
  tree.add("notes.json", notes.dump());
  const auto project = tree.explore({.overlay = path});
  const Function* const noted = find_function(*project, "used");
  EXPECT_EQ(noted->note, "a helper");
  EXPECT_TRUE(noted->note_is_stale);
  EXPECT_EQ(noted->segments[0].note_title, "Nothing");
  ASSERT_TRUE(project->overlay.has_value());
  EXPECT_EQ(project->overlay->unmatched.size(), 2U);
  ASSERT_EQ(project->roots.size(), 1U);
  const Stage& stage = project->stages.at(static_cast<std::size_t>(noted->stage));
  EXPECT_EQ(stage.name, "All of it");
  EXPECT_TRUE(stage.from_overlay);
  EXPECT_EQ(stage.functions.size(), 2U);
}

TEST(OverlayFile, WhatIsNoOverlayIsRefused) {
  EXPECT_FALSE(Overlay::parse("[", "x").ok());
  EXPECT_FALSE(Overlay::parse("{}", "x").ok());
  EXPECT_FALSE(Overlay::parse(R"({"schema":"crossdock.explore.overlay/1","marks":[3]})", "x").ok());
}

TEST(Diff, ListsWhatCameWentAndChanged) {
  const Json before = to_json(*Tree().add("a.cc", kSource).explore({.roots = {"start"}}));
  const Json after = to_json(
      *Tree()
           .add("a.cc", "void used() { int a = 1; }\nvoid start() { fresh(); }\nvoid fresh() {}\n")
           .explore({.roots = {"start"}}));
  const auto diff = make_diff(before, after);
  ASSERT_TRUE(diff.ok()) << diff.status().to_string();
  EXPECT_EQ(diff->at("functions").at("came").size(), 1U);
  EXPECT_EQ(diff->at("functions").at("went").size(), 1U);
  EXPECT_EQ(diff->at("functions").at("changed").size(), 2U);
  EXPECT_EQ(diff->at("edges").at("went").size(), 1U);
  EXPECT_EQ(diff_text(*make_diff(before, before)), "no differences\n");
  EXPECT_NE(diff_text(*diff).find("+ function fresh#"), std::string::npos);
  EXPECT_FALSE(make_diff(Json::object(), after).ok());
  Json damaged = after;
  damaged["edges"] = {{{"from", 99}}};
  EXPECT_FALSE(make_diff(before, damaged).ok());
}

}  // namespace
}  // namespace crossdock::explore
