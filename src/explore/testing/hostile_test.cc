// SPDX-License-Identifier: Apache-2.0
// Trees that nobody wrote for the explorer: bounded time, one warning each, no crash.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/clock.h"
#include "explore/output/json.h"
#include "explore/testing/tree.h"

namespace crossdock::explore {
namespace {

int count_warnings(const Project& project, std::string_view kind) {
  return static_cast<int>(
      std::count_if(project.warnings.begin(), project.warnings.end(),
                    [&](const Warning& warning) { return warning.kind == kind; }));
}

std::string repeated(std::string_view part, int count) {
  std::string all;
  for (int index = 0; index < count; ++index) {
    all += part;
  }
  return all;
}

TEST(Hostile, DeepNestingEndsInTime) {
  Tree tree;
  tree.add("braces.cc", "void f() " + repeated("{", 100000) + repeated("}", 100000));
  tree.add("parentheses.cc",
           "int x = " + repeated("(", 100000) + "1" + repeated(")", 100000) + ";");
  tree.add("ifs.cc", "void g() {" + repeated("if (a) ", 20000) + ";}");
  tree.add("angles.cc", "void h() {" + repeated("a<", 50000) + "}");
  tree.add("open.cc", repeated("namespace n {\n", 20000));
  tree.add("python.py",
           "def f(x):\n    return " + repeated("[", 5000) + repeated("]", 5000) + "\n");
  tree.add("conditions.cc", repeated("#if A\n", 5000) + "int a;\n");
  ExploreOptions options;
  options.parse_time_max = std::chrono::seconds(2);
  const auto project = tree.explore(options);
  EXPECT_EQ(project->files.size(), 7U);
  EXPECT_GT(to_json(*project).dump().size(), 1000U);
}

TEST(Hostile, LinksInCirclesAreFollowedOnce) {
  Tree tree;
  tree.add("a/b/c.cc", "void f() {}\n");
  std::filesystem::create_directory_symlink("..", tree.folder() / "a/b/up");
  std::filesystem::create_symlink("nowhere.cc", tree.folder() / "a/dangling.cc");
  std::filesystem::create_symlink("b/c.cc", tree.folder() / "a/again.cc");
  const auto project = tree.explore();
  EXPECT_EQ(project->files.size(), 1U);
  EXPECT_EQ(count_warnings(*project, "link"), 1);
  EXPECT_EQ(count_warnings(*project, "unreadable"), 1);
}

TEST(Hostile, OddBytesAreRepairedWithOneWarning) {
  Tree tree;
  tree.add("latin.cc", "// caf\xE9\nvoid f() {}\n");
  tree.add("zero.cc", std::string("void g() {}\0\0\n", 14));
  tree.add("wide.cc", std::string("\xFF\xFEv\0o\0i\0d\0 \0h\0(\0)\0{\0}\0", 22));
  tree.add("no_newline.cc", "void last() {}");
  tree.add("empty.cc", "");
  tree.add("returns.cc", "void mac() {}\rvoid mac2() {}\r\n");
  const auto project = tree.explore();
  EXPECT_EQ(count_warnings(*project, "encoding"), 2);
  for (const char* const name : {"f", "g", "h", "last", "mac", "mac2"}) {
    EXPECT_NE(find_function(*project, name), nullptr) << name;
  }
  const std::string json = to_json(*project).dump();  // Throws when something is no UTF-8.
  EXPECT_NE(json.find("caf\xEF\xBF\xBD"), std::string::npos);
}

TEST(Hostile, AMegabyteLineAndAnEndlessFileAreBounded) {
  Tree tree;
  tree.add("a_line.cc", "int a[] = {" + repeated("1234567, ", 150000) + "};\nvoid after() {}\n");
  tree.add("b_calls.cc", "void f() {" + repeated("g(1); ", 100000) + "}\nvoid g(int a) { a++; }\n");
  tree.add("z_large.cc", repeated("// padding\n", 10000));
  ExploreOptions options;
  options.limits.file_bytes_max = 3'000'000;
  options.limits.tree_bytes_max = 2'000'000;
  const auto project = tree.explore(options);
  EXPECT_EQ(count_warnings(*project, "too-large"), 1);
  EXPECT_EQ(project->files_skipped, 1);
  EXPECT_NE(find_function(*project, "after"), nullptr);
}

TEST(Hostile, AParserThatRunsOutOfTimeLeavesTheScanner) {
  Tree tree;
  tree.add("a.cc", repeated("int f(int a) { return a ? g(a) : 1; }\n", 20000));
  ExploreOptions options;
  options.parse_time_max = std::chrono::microseconds(1);
  const auto project = tree.explore(options);
  EXPECT_EQ(count_warnings(*project, "parser-gave-up"), 1);
  EXPECT_EQ(project->functions.size(), 20000U);
}

TEST(Hostile, ATreeWithoutSourcesIsRefused) {
  Tree tree;
  tree.add("notes.txt", "hello\n");
  ExploreOptions options;
  options.paths = {tree.folder().string()};
  EXPECT_EQ(explore(options).status().kind(), StatusKind::kInvalidArgument);
  options.paths = {(tree.folder() / "nowhere").string()};
  EXPECT_EQ(explore(options).status().kind(), StatusKind::kInvalidArgument);
}

}  // namespace
}  // namespace crossdock::explore
