// SPDX-License-Identifier: Apache-2.0
// A source tree of a test: files in a folder of their own, removed at the end.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "explore/explore.h"

namespace crossdock::explore {

class Tree {
 public:
  Tree() {
    std::string pattern = testing::TempDir() + "explore-XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
  }
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;
  ~Tree() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }

  Tree& add(const std::string& path, std::string_view text) {
    const std::filesystem::path file = folder_ / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
    return *this;
  }

  [[nodiscard]] std::unique_ptr<Project> explore(ExploreOptions options = {}) const {
    options.paths = {folder_.string()};
    auto result = explore::explore(options);
    EXPECT_TRUE(result.ok()) << result.status().to_string();
    return result.ok() ? std::move(result).value() : std::make_unique<Project>();
  }

 private:
  std::filesystem::path folder_;
};

/// The function of that qualified name, or null.
inline const Function* find_function(const Project& project, std::string_view qualified) {
  const auto found =
      std::find_if(project.functions.begin(), project.functions.end(),
                   [&](const Function& function) { return function.qualified == qualified; });
  return found == project.functions.end() ? nullptr : &*found;
}

/// The edge between two functions by qualified name, or null.
inline const Edge* find_edge(const Project& project, std::string_view from, std::string_view to) {
  const auto found =
      std::find_if(project.edges.begin(), project.edges.end(), [&](const Edge& edge) {
        return project.function(edge.from).qualified == from &&
               project.function(edge.to).qualified == to;
      });
  return found == project.edges.end() ? nullptr : &*found;
}

inline bool has_mark(const Project& project, std::string_view rule, int line) {
  return std::any_of(project.marks.begin(), project.marks.end(), [&](const Mark& mark) {
    return mark.rule == rule && mark.lines.front().contains(line);
  });
}

inline std::vector<std::string> names_of_functions(const Project& project) {
  std::vector<std::string> names;
  for (const Function& function : project.functions) {
    names.push_back(function.qualified);
  }
  return names;
}

}  // namespace crossdock::explore
