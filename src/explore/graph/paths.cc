// SPDX-License-Identifier: Apache-2.0
// From a root to the kernels behind it; see reach.h.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "explore/graph/reach.h"

namespace crossdock::explore {
namespace {

constexpr std::size_t kTargetsMax = 8;   // per root
constexpr std::size_t kPathsMax = 2000;  // of a project

/// A surer edge is a shorter one.
int cost(const Edge& edge) {
  switch (edge.edge_class) {
    case EdgeClass::kExact:
      return 2;
    case EdgeClass::kTextual:
      return 3;
    case EdgeClass::kNameOnly:
      return 4;
    case EdgeClass::kAmbiguous:
      return 8;
  }
  return 8;
}

class Search {
 public:
  explicit Search(const Project& project)
      : project_(project), out_(edges_out(project)), moves_(project.functions.size(), nullptr) {
    for (const ExternalCall& call : project.external_calls) {
      if (call.mechanism == Mechanism::kCopy || call.mechanism == Mechanism::kWorkRequest) {
        moves_[static_cast<std::size_t>(call.from)] = &call;
      }
    }
  }

  void from(int root) {
    constexpr int kFar = std::numeric_limits<int>::max();
    distance_.assign(project_.functions.size(), kFar);
    via_.assign(project_.functions.size(), kNone);
    order_.clear();
    using Entry = std::pair<int, int>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
    distance_[static_cast<std::size_t>(root)] = 0;
    queue.emplace(0, root);
    while (!queue.empty()) {
      const auto [far, at] = queue.top();
      queue.pop();
      if (far > distance_[static_cast<std::size_t>(at)]) {
        continue;
      }
      order_.push_back(at);
      for (const int index : out_[static_cast<std::size_t>(at)]) {
        const Edge& edge = project_.edges[static_cast<std::size_t>(index)];
        const int next = far + cost(edge);
        if (is_control(edge) && next < distance_[static_cast<std::size_t>(edge.to)]) {
          distance_[static_cast<std::size_t>(edge.to)] = next;
          via_[static_cast<std::size_t>(edge.to)] = index;
          queue.emplace(next, edge.to);
        }
      }
    }
  }

  /// Those named like the root first, then the nearest.
  [[nodiscard]] std::vector<int> kernels(const Function& root) const {
    std::vector<int> found;
    std::copy_if(order_.begin(), order_.end(), std::back_inserter(found),
                 [&](int at) { return project_.function(at).execution == "kernel"; });
    std::stable_partition(found.begin(), found.end(), [&](int at) {
      return project_.function(at).name.starts_with(root.name);
    });
    found.resize(std::min(found.size(), kTargetsMax));
    return found;
  }

  /// The nearest function that moves memory itself, with the call that does.
  [[nodiscard]] std::pair<int, const ExternalCall*> mover() const {
    for (const int at : order_) {
      if (const ExternalCall* const call = moves_[static_cast<std::size_t>(at)]) {
        return {at, call};
      }
    }
    return {kNone, nullptr};
  }

  [[nodiscard]] Path to(int root_index, int root, int target) const {
    Path path;
    path.root = root_index;
    path.target = target;
    for (int at = target; at != root;) {
      const int via = via_[static_cast<std::size_t>(at)];
      path.functions.insert(path.functions.begin(), at);
      path.edges.insert(path.edges.begin(), via);
      at = project_.edges[static_cast<std::size_t>(via)].from;
    }
    path.functions.insert(path.functions.begin(), root);
    return path;
  }

 private:
  const Project& project_;
  std::vector<std::vector<int>> out_;
  std::vector<const ExternalCall*> moves_;
  std::vector<int> distance_;
  std::vector<int> via_;
  std::vector<int> order_;  // reached, nearest first
};

}  // namespace

void find_paths(Project& project) {
  Search search(project);
  std::size_t left_out = 0;
  for (std::size_t index = 0; index < project.roots.size(); ++index) {
    const int root = project.roots[index].function;
    if (project.paths.size() >= kPathsMax) {
      ++left_out;
      continue;
    }
    search.from(root);
    const std::vector<int> kernels = search.kernels(project.function(root));
    for (const int kernel : kernels) {
      Path path = search.to(static_cast<int>(index), root, kernel);
      path.reason = "a kernel";
      project.paths.push_back(std::move(path));
    }
    if (!kernels.empty()) {
      continue;
    }
    const auto [mover, call] = search.mover();
    Path path = mover == kNone ? Path{static_cast<int>(index), kNone, {root}, {}, {}}
                               : search.to(static_cast<int>(index), root, mover);
    path.reason = mover == kNone
                      ? "no kernel, and nothing that moves memory, is reached from here"
                      : fmt::format("no kernel is reached; memory is moved by {}", call->name);
    project.paths.push_back(std::move(path));
  }
  if (left_out > 0) {
    project.warnings.push_back({"too-many", project.provenance.name, 0,
                                fmt::format("paths of {} roots were not searched", left_out)});
  }
}

}  // namespace crossdock::explore
