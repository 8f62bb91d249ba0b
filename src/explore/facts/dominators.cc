// SPDX-License-Identifier: Apache-2.0
#include "explore/facts/dominators.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace crossdock::explore {
namespace {

/// Nodes in post-order of a depth-first walk from node 0, without recursion.
std::vector<int> post_order(const std::vector<std::vector<int>>& out) {
  std::vector<int> order;
  std::vector<bool> seen(out.size(), false);
  std::vector<std::pair<int, std::size_t>> open = {{0, 0}};
  seen[0] = true;
  while (!open.empty()) {
    auto& [node, next] = open.back();
    const std::vector<int>& successors = out[static_cast<std::size_t>(node)];
    if (next == successors.size()) {
      order.push_back(node);
      open.pop_back();
      continue;
    }
    const int successor = successors[next++];
    if (!seen[static_cast<std::size_t>(successor)]) {
      seen[static_cast<std::size_t>(successor)] = true;
      open.emplace_back(successor, 0);
    }
  }
  return order;
}

}  // namespace

std::vector<int> immediate_dominators(const std::vector<std::vector<int>>& out) {
  std::vector<int> dominators(out.size(), -1);
  if (out.empty()) {
    return dominators;
  }
  const std::vector<int> order = post_order(out);
  std::vector<int> number(out.size(), -1);
  for (std::size_t index = 0; index < order.size(); ++index) {
    number[static_cast<std::size_t>(order[index])] = static_cast<int>(index);
  }
  std::vector<std::vector<int>> in(out.size());
  for (const int node : order) {
    for (const int successor : out[static_cast<std::size_t>(node)]) {
      in[static_cast<std::size_t>(successor)].push_back(node);
    }
  }
  const auto number_of = [&](int node) { return number[static_cast<std::size_t>(node)]; };
  const auto meet = [&](int a, int b) {
    while (a != b) {
      while (number_of(a) < number_of(b)) {
        a = dominators[static_cast<std::size_t>(a)];
      }
      while (number_of(b) < number_of(a)) {
        b = dominators[static_cast<std::size_t>(b)];
      }
    }
    return a;
  };
  dominators[0] = 0;
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    for (auto node = order.rbegin(); node != order.rend(); ++node) {
      if (*node == 0) {
        continue;
      }
      int best = -1;
      for (const int before : in[static_cast<std::size_t>(*node)]) {
        if (dominators[static_cast<std::size_t>(before)] != -1) {
          best = best == -1 ? before : meet(before, best);
        }
      }
      if (dominators[static_cast<std::size_t>(*node)] != best) {
        dominators[static_cast<std::size_t>(*node)] = best;
        has_changed = true;
      }
    }
  }
  dominators[0] = -1;
  return dominators;
}

}  // namespace crossdock::explore
