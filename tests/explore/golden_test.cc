// SPDX-License-Identifier: Apache-2.0
// The explorer against inventories that were written by hand from the fixtures alone.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "explore/explore.h"

namespace crossdock::explore {
namespace {

using Json = nlohmann::json;

/// A fixture and what the explorer says about it.
class Fixture {
 public:
  explicit Fixture(const std::string& name) {
    const std::string folder = std::string(CROSSDOCK_FIXTURES) + "/" + name;
    std::ifstream stream(folder + "/golden.json");
    golden_ = Json::parse(stream);
    ExploreOptions options;
    options.paths = {folder};
    auto result = explore(options);
    EXPECT_TRUE(result.ok()) << result.status().to_string();
    project_ = std::move(result).value();
  }

  [[nodiscard]] const Json& golden() const { return golden_; }
  [[nodiscard]] const Project& project() const { return *project_; }
  [[nodiscard]] const std::string& path(int file) const { return project_->file(file).path; }

  [[nodiscard]] const Function* find(const Json& entry) const {
    for (const Function& function : project_->functions) {
      if (function.qualified == entry.at("qualified") && path(function.file) == entry.at("file") &&
          function.name_line == entry.at("line")) {
        return &function;
      }
    }
    return nullptr;
  }

  /// Functions that the inventory lists and the explorer does not, or sees as something else.
  [[nodiscard]] std::vector<std::string> missing_functions() const {
    std::vector<std::string> missing;
    for (const Json& entry : golden_.at("functions")) {
      const Function* const function = find(entry);
      const std::string who =
          fmt::format("{} ({}:{})", entry.at("qualified").get<std::string>(),
                      entry.at("file").get<std::string>(), entry.at("line").get<int>());
      if (function == nullptr) {
        missing.push_back(who);
        continue;
      }
      const LineRange lines{entry.at("lines").at(0), entry.at("lines").at(1)};
      if (to_string(function->kind) != entry.at("kind") ||
          function->execution != entry.at("execution") || function->lines != lines) {
        missing.push_back(fmt::format("{} is {} {} [{}, {}]", who, to_string(function->kind),
                                      function->execution, function->lines.first,
                                      function->lines.last));
      }
    }
    return missing;
  }

  [[nodiscard]] std::vector<std::string> surplus_functions() const {
    std::set<std::tuple<std::string, std::string, int>> known;
    for (const Json& entry : golden_.at("functions")) {
      known.emplace(entry.at("qualified"), entry.at("file"), entry.at("line"));
    }
    std::vector<std::string> surplus;
    for (const Function& function : project_->functions) {
      bool may_be = known.contains({function.qualified, path(function.file), function.name_line});
      for (const Json& name : golden_.value("maybe_functions", Json::array())) {
        may_be = may_be || function.qualified.starts_with(name.get<std::string>());
      }
      if (!may_be) {
        surplus.push_back(
            fmt::format("{} ({}:{})", function.qualified, path(function.file), function.name_line));
      }
    }
    return surplus;
  }

  using EdgeKey = std::tuple<std::string, std::string, int>;  // from, to, line

  /// `exact_only`: those of which the text allows to be sure.
  [[nodiscard]] std::set<EdgeKey> golden_edges(bool exact_only = false) const {
    std::set<EdgeKey> keys;
    for (const Json& entry : golden_.at("edges")) {
      if (exact_only && entry.at("class") != "exact") {
        continue;
      }
      keys.emplace(entry.at("from"), entry.at("to"), entry.at("line"));
    }
    return keys;
  }

  [[nodiscard]] std::set<EdgeKey> edges(bool exact_only) const {
    std::set<EdgeKey> keys;
    for (const Edge& edge : project_->edges) {
      if (edge.kind != EdgeKind::kControl || (exact_only && edge.edge_class != EdgeClass::kExact)) {
        continue;
      }
      for (const Site& site : edge.sites) {
        keys.emplace(project_->function(edge.from).qualified, project_->function(edge.to).qualified,
                     site.line);
      }
    }
    return keys;
  }

  [[nodiscard]] std::vector<std::string> missing_edges() const {
    return difference(golden_edges(), edges(false));
  }
  [[nodiscard]] std::vector<std::string> wrong_exact_edges() const {
    return difference(edges(true), golden_edges(true));
  }

  [[nodiscard]] std::vector<std::string> missing_marks() const {
    std::vector<std::string> missing;
    for (const Json& entry : golden_.at("marks")) {
      const bool found = std::any_of(project_->marks.begin(), project_->marks.end(),
                                     [&](const Mark& mark) { return fits(mark, entry); });
      if (!found) {
        missing.push_back(fmt::format("{} {}:{}", entry.at("rule").get<std::string>(),
                                      entry.at("file").get<std::string>(),
                                      entry.at("line").get<int>()));
      }
    }
    return missing;
  }

  [[nodiscard]] std::vector<std::string> false_marks() const {
    std::vector<std::string> surplus;
    for (const Mark& mark : project_->marks) {
      const bool is_planted = std::any_of(golden_.at("marks").begin(), golden_.at("marks").end(),
                                          [&](const Json& entry) { return fits(mark, entry); });
      if (!is_planted) {
        surplus.push_back(fmt::format("{} {}:{} {}", mark.rule, path(mark.file),
                                      mark.lines.front().first, mark.text));
      }
    }
    return surplus;
  }

  [[nodiscard]] std::vector<std::string> missing_roles() const {
    std::vector<std::string> missing;
    for (const Json& entry : golden_.at("roles")) {
      const bool found =
          std::any_of(project_->roles.begin(), project_->roles.end(), [&](const Role& role) {
            return project_->function(role.function).qualified == entry.at("function") &&
                   role.lines.first == entry.at("line") && role.axis == entry.at("axis");
          });
      if (!found) {
        missing.push_back(entry.dump());
      }
    }
    return missing;
  }

  [[nodiscard]] std::vector<std::string> missing_sync() const {
    std::vector<std::string> missing;
    for (const Json& entry : golden_.at("sync")) {
      const bool found =
          std::any_of(project_->sync.begin(), project_->sync.end(), [&](const SyncPair& pair) {
            return pair.key == entry.at("key") && names_all(pair.publishers, entry["publishers"]) &&
                   names_all(pair.waiters, entry["waiters"]);
          });
      if (!found) {
        missing.push_back(entry.dump());
      }
    }
    return missing;
  }

 private:
  static std::vector<std::string> difference(const std::set<EdgeKey>& a,
                                             const std::set<EdgeKey>& b) {
    std::vector<EdgeKey> keys;
    std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(keys));
    std::vector<std::string> texts;
    for (const auto& [from, to, line] : keys) {
      texts.push_back(fmt::format("{} -> {} at {}", from, to, line));
    }
    return texts;
  }

  [[nodiscard]] bool fits(const Mark& mark, const Json& entry) const {
    if (mark.rule != entry.at("rule") || path(mark.file) != entry.at("file")) {
      return false;
    }
    // A mark of a whole function is planted at the line of its name.
    const int line = entry.at("line");
    const bool in_lines = std::any_of(mark.lines.begin(), mark.lines.end(),
                                      [&](LineRange range) { return range.contains(line); });
    const bool names_function =
        mark.function != kNone && project_->function(mark.function).name_line == line;
    return in_lines || names_function;
  }

  [[nodiscard]] bool names_all(const std::vector<SyncPoint>& points, const Json& names) const {
    return std::all_of(names.begin(), names.end(), [&](const Json& name) {
      return std::any_of(points.begin(), points.end(), [&](const SyncPoint& point) {
        return project_->function(point.function).qualified == name;
      });
    });
  }

  Json golden_;
  std::unique_ptr<Project> project_;
};

std::string listed(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) {
    text += "\n  " + line;
  }
  return text;
}

class Golden : public testing::TestWithParam<std::string> {
 protected:
  Golden() : fixture_(GetParam()) {}
  Fixture fixture_;
};

TEST_P(Golden, EveryFunctionIsFoundAndNothingElse) {
  EXPECT_TRUE(fixture_.missing_functions().empty()) << listed(fixture_.missing_functions());
  EXPECT_TRUE(fixture_.surplus_functions().empty()) << listed(fixture_.surplus_functions());
}

TEST_P(Golden, NearlyEveryEdgeIsFoundAndNoExactOneIsWrong) {
  const auto missing = fixture_.missing_edges();
  const auto count = fixture_.golden_edges().size();
  EXPECT_LE(missing.size() * 50, count) << listed(missing);
  EXPECT_TRUE(fixture_.wrong_exact_edges().empty()) << listed(fixture_.wrong_exact_edges());
}

TEST_P(Golden, EveryPlantedMarkIsFoundWithinTheBudgetOfFalseOnes) {
  EXPECT_TRUE(fixture_.missing_marks().empty()) << listed(fixture_.missing_marks());
  EXPECT_LE(fixture_.false_marks().size(), fixture_.golden().at("false_marks_max"))
      << listed(fixture_.false_marks());
}

TEST_P(Golden, RolesAndSynchronisationAreFound) {
  EXPECT_TRUE(fixture_.missing_roles().empty()) << listed(fixture_.missing_roles());
  EXPECT_TRUE(fixture_.missing_sync().empty()) << listed(fixture_.missing_sync());
}

INSTANTIATE_TEST_SUITE_P(Fixtures, Golden, testing::Values("mesh_kernel", "layered_tree"),
                         [](const auto& fixture) { return fixture.param; });

/// Nothing is tuned on this one: its result is printed, and only wrong certainty fails.
TEST(SecondTree, IsReported) {
  const Fixture fixture("second_tree");
  fmt::print("functions: {} of {} differ, {} too many{}{}\n", fixture.missing_functions().size(),
             fixture.golden().at("functions").size(), fixture.surplus_functions().size(),
             listed(fixture.missing_functions()), listed(fixture.surplus_functions()));
  fmt::print("edges: {} of {} missing{}\n", fixture.missing_edges().size(),
             fixture.golden_edges().size(), listed(fixture.missing_edges()));
  fmt::print("marks: {} of {} missing, {} false{}{}\n", fixture.missing_marks().size(),
             fixture.golden().at("marks").size(), fixture.false_marks().size(),
             listed(fixture.missing_marks()), listed(fixture.false_marks()));
  fmt::print("sync: {} missing{}\n", fixture.missing_sync().size(), listed(fixture.missing_sync()));
  EXPECT_TRUE(fixture.wrong_exact_edges().empty()) << listed(fixture.wrong_exact_edges());
}

}  // namespace
}  // namespace crossdock::explore
