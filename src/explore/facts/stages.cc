// SPDX-License-Identifier: Apache-2.0
#include "explore/facts/stages.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "explore/facts/dominators.h"
#include "explore/graph/reach.h"

namespace crossdock::explore {
namespace {

constexpr int kStagesMax = 24;
constexpr int kStageLinesMin = 40;
constexpr int kStagesOfLargest = 12;  // A stage is split above this part of all lines.

/// Node 0 is the entry, then come functions, then roles.
class Graph {
 public:
  explicit Graph(const Project& project) : project_(project) {
    out_.resize(1 + project.functions.size() + project.roles.size());
    weight_.assign(out_.size(), 0);
    for (const Root& root : project.roots) {
      out_[0].push_back(node_of_function(root.function));
    }
    add_calls();
    add_nesting();
    add_weights();
  }

  [[nodiscard]] const std::vector<std::vector<int>>& out() const { return out_; }
  [[nodiscard]] int weight(int node) const { return weight_[static_cast<std::size_t>(node)]; }
  [[nodiscard]] static int node_of_function(int function) { return 1 + function; }
  [[nodiscard]] int node_of_role(int role) const {
    return 1 + static_cast<int>(project_.functions.size()) + role;
  }
  [[nodiscard]] int function_of(int node) const {
    return node >= 1 && node <= static_cast<int>(project_.functions.size()) ? node - 1 : kNone;
  }
  [[nodiscard]] int role_of(int node) const {
    return node - 1 - static_cast<int>(project_.functions.size());
  }
  /// The innermost role around a line of a function, else the function.
  [[nodiscard]] int node_at(int function, int line) const {
    int innermost = kNone;
    for (std::size_t index = 0; index < project_.roles.size(); ++index) {
      const Role& role = project_.roles[index];
      if (role.function == function && role.lines.contains(line) &&
          (innermost == kNone ||
           role.lines.count() <=
               project_.roles[static_cast<std::size_t>(innermost)].lines.count())) {
        innermost = static_cast<int>(index);
      }
    }
    return innermost == kNone ? node_of_function(function) : node_of_role(innermost);
  }

 private:
  void add_calls() {
    std::vector<bool> has_roles(project_.functions.size(), false);
    for (const Role& role : project_.roles) {
      has_roles[static_cast<std::size_t>(role.function)] = true;
    }
    for (const Edge& edge : project_.edges) {
      if (!is_control(edge) || project_.function(edge.from).reach == Reach::kUnreachable) {
        continue;
      }
      for (const Site& site : edge.sites) {
        const int from = has_roles[static_cast<std::size_t>(edge.from)]
                             ? node_at(edge.from, site.line)
                             : node_of_function(edge.from);
        out_[static_cast<std::size_t>(from)].push_back(node_of_function(edge.to));
      }
    }
  }

  void add_nesting() {
    for (std::size_t index = 0; index < project_.roles.size(); ++index) {
      const Role& role = project_.roles[index];
      const int outer =
          role.parent == kNone ? node_of_function(role.function) : node_of_role(role.parent);
      out_[static_cast<std::size_t>(outer)].push_back(node_of_role(static_cast<int>(index)));
    }
    for (std::size_t index = 0; index < project_.functions.size(); ++index) {
      const Function& function = project_.functions[index];
      if (function.parent != kNone) {
        out_[static_cast<std::size_t>(node_of_function(function.parent))].push_back(
            node_of_function(static_cast<int>(index)));
      }
      // What runs without being named hangs on the entry when nothing else leads to it.
      if (function.is_implicit && function.reach != Reach::kUnreachable) {
        out_[0].push_back(node_of_function(static_cast<int>(index)));
      }
    }
  }

  void add_weights() {
    for (std::size_t index = 0; index < project_.functions.size(); ++index) {
      const Function& function = project_.functions[index];
      weight_[index + 1] += function.lines.count();
      if (function.parent != kNone) {
        weight_[static_cast<std::size_t>(node_of_function(function.parent))] -=
            function.lines.count();
      }
    }
    for (std::size_t index = 0; index < project_.roles.size(); ++index) {
      const Role& role = project_.roles[index];
      const int outer =
          role.parent == kNone ? node_of_function(role.function) : node_of_role(role.parent);
      weight_[static_cast<std::size_t>(node_of_role(static_cast<int>(index)))] +=
          role.lines.count();
      weight_[static_cast<std::size_t>(outer)] -= role.lines.count();
    }
  }

  const Project& project_;
  std::vector<std::vector<int>> out_;
  std::vector<int> weight_;
};

/// A stage to be: the nodes that `head` dominates, or its own lines alone.
struct Piece {
  int head = 0;
  bool alone = false;
};

class Proposer {
 public:
  explicit Proposer(Project& project)
      : project_(project), graph_(project), dominators_(immediate_dominators(graph_.out())) {
    children_.resize(dominators_.size());
    for (std::size_t node = 1; node < dominators_.size(); ++node) {
      if (dominators_[node] >= 0) {
        children_[static_cast<std::size_t>(dominators_[node])].push_back(static_cast<int>(node));
      }
    }
    sums_.assign(dominators_.size(), 0);
    std::vector<int> order = {0};
    for (std::size_t at = 0; at < order.size(); ++at) {
      const auto& children = children_[static_cast<std::size_t>(order[at])];
      order.insert(order.end(), children.begin(), children.end());
    }
    for (auto node = order.rbegin(); node != order.rend(); ++node) {
      const auto at = static_cast<std::size_t>(*node);
      sums_[at] += graph_.weight(*node);
      if (*node != 0) {
        sums_[static_cast<std::size_t>(dominators_[at])] += sums_[at];
      }
    }
  }

  void run() {
    std::vector<Piece> pieces;
    for (const int head : children_[0]) {
      pieces.push_back({head, false});
    }
    split(pieces);
    std::map<std::string, int> helpers;
    for (const Piece& piece : pieces) {
      const bool is_small = !piece.alone && sums_[static_cast<std::size_t>(piece.head)] < least();
      add(piece, is_small && graph_.function_of(piece.head) != kNone
                     ? helper_stage(piece.head, helpers)
                     : new_stage(piece));
    }
  }

 private:
  [[nodiscard]] int most() const { return std::max(kStageLinesMin, sums_[0] / kStagesOfLargest); }
  [[nodiscard]] int least() const { return std::max(kStageLinesMin / 2, most() / 6); }

  /// The largest piece gives way to what it dominates, until all are small enough.
  void split(std::vector<Piece>& pieces) const {
    while (true) {
      int large = 0;
      for (const Piece& piece : pieces) {
        large += sums_[static_cast<std::size_t>(piece.head)] >= least() ? 1 : 0;
      }
      const auto largest = std::max_element(
          pieces.begin(), pieces.end(),
          [&](const Piece& a, const Piece& b) { return splittable(a) < splittable(b); });
      if (large >= kStagesMax || largest == pieces.end() || splittable(*largest) <= most()) {
        return;
      }
      largest->alone = true;
      const int head = largest->head;
      for (const int child : children_[static_cast<std::size_t>(head)]) {
        pieces.push_back({child, false});
      }
    }
  }

  [[nodiscard]] int splittable(const Piece& piece) const {
    const auto at = static_cast<std::size_t>(piece.head);
    return piece.alone || children_[at].empty() ? 0 : sums_[at];
  }

  int new_stage(const Piece& piece) {
    Stage stage;
    const int function = graph_.function_of(piece.head);
    if (function != kNone) {
      stage.id = "stage:" + project_.function(function).id;
      stage.name = project_.function(function).name;
    } else {
      const Role& role = project_.roles[static_cast<std::size_t>(graph_.role_of(piece.head))];
      stage.id = "stage:" + role.id;
      stage.name = role.name;
    }
    project_.stages.push_back(std::move(stage));
    return static_cast<int>(project_.stages.size()) - 1;
  }

  /// Small pieces of one file are one stage.
  int helper_stage(int head, std::map<std::string, int>& helpers) {
    const Function& function = project_.function(graph_.function_of(head));
    const std::string& path = project_.file_of(function).path;
    const auto [entry, is_new] = helpers.try_emplace(path, kNone);
    if (is_new) {
      entry->second = static_cast<int>(project_.stages.size());
      Stage stage;
      stage.id = "stage:helpers:" + path;
      stage.name = "helpers of " + path;
      project_.stages.push_back(std::move(stage));
    }
    return entry->second;
  }

  void add(const Piece& piece, int stage) {
    std::vector<int> nodes = {piece.head};
    for (std::size_t at = 0; at < nodes.size(); ++at) {
      const int function = graph_.function_of(nodes[at]);
      if (function != kNone) {
        project_.function(function).stage = stage;
      } else {
        project_.stages[static_cast<std::size_t>(stage)].own_roles.push_back(
            graph_.role_of(nodes[at]));
      }
      if (!piece.alone) {
        const auto& children = children_[static_cast<std::size_t>(nodes[at])];
        nodes.insert(nodes.end(), children.begin(), children.end());
      }
    }
  }

  Project& project_;
  Graph graph_;
  std::vector<int> dominators_;
  std::vector<std::vector<int>> children_;
  std::vector<int> sums_;  // lines of all that a node dominates
};

}  // namespace

void propose_stages(Project& project) {
  Proposer(project).run();
  finish_stages(project);
}

}  // namespace crossdock::explore
