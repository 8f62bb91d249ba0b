// SPDX-License-Identifier: Apache-2.0
#include "explore/graph/reach.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/parse.h"

namespace crossdock::explore {
namespace {

/// Roots that the source itself makes plain.
std::string guess(const Project& project, const Function& function, bool is_bound) {
  const SourceFile& file = project.file_of(function);
  if (function.name == "main" && function.kind == FunctionKind::kFunction) {
    return "a main function";
  }
  if (function.name == "LLVMFuzzerTestOneInput") {
    return "what a fuzzer runs";
  }
  if (is_bound) {
    return "bound for Python";
  }
  if (function.kind == FunctionKind::kLambda && function.parent == kNone) {
    return "runs when the program starts";
  }
  if (function.kind == FunctionKind::kMacro && function.execution == "host" &&
      function.name.starts_with("PYBIND11_MODULE")) {
    return "a module of Python";
  }
  if (function.kind == FunctionKind::kMacro && function.name.find('(') != std::string::npos) {
    return "made by a macro that registers it";
  }
  if (file.is_python() && function.parent == kNone) {
    const bool is_public = !function.name.starts_with("_") || function.name == "__init__";
    const bool in_public_class =
        function.found.scope.empty() || !function.found.scope.starts_with("_");
    if (is_public && in_public_class) {
      return "a public name of Python";
    }
  }
  for (const Place& declaration : function.declarations) {
    const std::string& path = project.file(declaration.file).path;
    if (path.starts_with("include/") || path.find("/include/") != std::string::npos) {
      return "declared in a public header";
    }
  }
  const bool in_public_header =
      file.path.starts_with("include/") && function.execution == "host" && !function.is_internal;
  return in_public_header && function.kind != FunctionKind::kLambda ? "in a public header" : "";
}

std::vector<bool> reached_from(const Project& project, const std::vector<std::vector<int>>& out,
                               int root) {
  std::vector<bool> seen(project.functions.size(), false);
  std::deque<int> queue = {root};
  seen[static_cast<std::size_t>(root)] = true;
  while (!queue.empty()) {
    const int at = queue.front();
    queue.pop_front();
    for (const int index : out[static_cast<std::size_t>(at)]) {
      const Edge& edge = project.edges[static_cast<std::size_t>(index)];
      const auto to = static_cast<std::size_t>(edge.to);
      if (is_control(edge) && !seen[to]) {
        seen[to] = true;
        queue.push_back(edge.to);
      }
    }
  }
  return seen;
}

/// A header without any caller: what nobody calls and reaches most is where it starts.
void guess_by_coverage(Project& project) {
  const auto in = edges_in(project);
  const auto out = edges_out(project);
  struct Candidate {
    int function;
    long reached;
  };
  std::vector<Candidate> candidates;
  for (std::size_t index = 0; index < project.functions.size(); ++index) {
    const Function& function = project.functions[index];
    const bool is_called = std::any_of(in[index].begin(), in[index].end(), [&](int edge) {
      return project.edges[static_cast<std::size_t>(edge)].from != static_cast<int>(index);
    });
    if (!is_called && function.parent == kNone) {
      const std::vector<bool> seen = reached_from(project, out, static_cast<int>(index));
      candidates.push_back({static_cast<int>(index), std::count(seen.begin(), seen.end(), true)});
    }
  }
  long most = 0;
  for (const Candidate& candidate : candidates) {
    most = std::max(most, candidate.reached);
  }
  for (const Candidate& candidate : candidates) {
    const Function& function = project.function(candidate.function);
    const bool is_entry = function.name == "Process" || function.name == "Init" ||
                          function.name == function.found.scope;
    if (candidate.reached * 4 >= most || is_entry) {
      project.roots.push_back(
          {candidate.function, false,
           fmt::format("nobody calls it, and it reaches {} functions", candidate.reached - 1)});
    }
  }
}

/// Kernels that no function of the tree launches are started from outside it.
void guess_kernels(Project& project) {
  const auto in = edges_in(project);
  for (std::size_t index = 0; index < project.functions.size(); ++index) {
    if (project.functions[index].execution == "kernel" && in[index].empty() &&
        project.functions[index].kind != FunctionKind::kLambda) {
      project.roots.push_back({static_cast<int>(index), false, "a kernel nobody launches here"});
    }
  }
}

class Walk {
 public:
  explicit Walk(Project& project) : project_(project), out_(edges_out(project)) {
    for (std::size_t index = 0; index < project.functions.size(); ++index) {
      const Function& function = project.functions[index];
      if (function.is_implicit && !function.found.scope.empty()) {
        implicit_[class_key(function)].push_back(static_cast<int>(index));
      }
      if (function.parent != kNone) {
        nested_[function.parent].push_back(static_cast<int>(index));
      }
    }
  }

  void run() {
    for (std::size_t root = 0; root < project_.roots.size(); ++root) {
      seen_.assign(project_.functions.size(), false);
      queue_.clear();
      push(project_.roots[root].function);
      while (!queue_.empty()) {
        const int at = queue_.front();
        queue_.pop_front();
        visit(at, static_cast<int>(root));
      }
    }
    for (const Root& root : project_.roots) {
      project_.function(root.function).reach = Reach::kRoot;
    }
  }

 private:
  static constexpr std::size_t kRootsMax = 16;  // Of a library everything is reached from much.

  [[nodiscard]] std::string class_key(const Function& function) const {
    return fmt::format("{} {}", project_.file_of(function).is_python(), function.found.scope);
  }

  void push(int function) {
    if (!seen_[static_cast<std::size_t>(function)]) {
      seen_[static_cast<std::size_t>(function)] = true;
      queue_.push_back(function);
    }
  }

  void visit(int at, int root) {
    Function& function = project_.function(at);
    function.reach = Reach::kReachable;
    if (function.roots.size() < kRootsMax) {
      function.roots.push_back(root);
    } else {
      ++function.roots_left_out;
    }
    for (const int index : out_[static_cast<std::size_t>(at)]) {
      const Edge& edge = project_.edges[static_cast<std::size_t>(index)];
      if (is_control(edge)) {
        push(edge.to);
      }
    }
    // Lambdas run where they are made, or where they are handed to; virtual functions, operators
    // and destructors run with their class.
    for (const int inner : nested_[at]) {
      if (project_.function(inner).kind == FunctionKind::kLambda ||
          project_.file_of(function).is_python()) {
        push(inner);
      }
    }
    if (!function.found.scope.empty()) {
      for (const int implicit : implicit_[class_key(function)]) {
        push(implicit);
      }
    }
  }

  Project& project_;
  std::vector<std::vector<int>> out_;
  std::map<std::string, std::vector<int>> implicit_;
  std::map<int, std::vector<int>> nested_;
  std::vector<bool> seen_;
  std::deque<int> queue_;
};

}  // namespace

std::vector<std::vector<int>> edges_out(const Project& project) {
  std::vector<std::vector<int>> out(project.functions.size());
  for (std::size_t index = 0; index < project.edges.size(); ++index) {
    out[static_cast<std::size_t>(project.edges[index].from)].push_back(static_cast<int>(index));
  }
  return out;
}

std::vector<std::vector<int>> edges_in(const Project& project) {
  std::vector<std::vector<int>> in(project.functions.size());
  for (std::size_t index = 0; index < project.edges.size(); ++index) {
    in[static_cast<std::size_t>(project.edges[index].to)].push_back(static_cast<int>(index));
  }
  return in;
}

Status find_roots(Project& project, const std::vector<std::string>& declared) {
  for (const std::string& name : declared) {
    bool found = false;
    std::vector<std::string_view> known;
    for (std::size_t index = 0; index < project.functions.size(); ++index) {
      const Function& function = project.functions[index];
      known.push_back(function.name);
      if (function.name == name || function.qualified == name || function.id == name) {
        project.roots.push_back({static_cast<int>(index), true, "declared"});
        found = true;
      }
    }
    if (!found) {
      const std::string_view nearest = nearest_name(name, known);
      return {StatusKind::kInvalidArgument, Scope::kOperation,
              fmt::format("--root {}: no such function; allowed: a name, qualified name or id of "
                          "one in the source{}",
                          quote(name),
                          nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest))};
    }
  }
  if (!declared.empty()) {
    return {};
  }
  std::vector<bool> is_bound(project.functions.size(), false);
  for (const Binding& binding : project.bindings) {
    if (binding.function != kNone) {
      is_bound[static_cast<std::size_t>(binding.function)] = true;
    }
  }
  for (std::size_t index = 0; index < project.functions.size(); ++index) {
    const Function& function = project.functions[index];
    const std::string reason = guess(project, function, is_bound[index]);
    if (!reason.empty() && !function.compiled_out) {
      project.roots.push_back({static_cast<int>(index), false, reason});
    }
  }
  guess_kernels(project);
  if (project.roots.empty()) {
    guess_by_coverage(project);
  }
  return {};
}

void find_reach(Project& project) { Walk(project).run(); }

}  // namespace crossdock::explore
