// SPDX-License-Identifier: Apache-2.0
// Flags without partner and stores without release; see marks.h.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "explore/facts/marks.h"
#include "explore/graph/reach.h"

namespace crossdock::explore {
namespace {

bool releases(Mechanism mechanism) {
  return mechanism == Mechanism::kBarrier || mechanism == Mechanism::kFence ||
         mechanism == Mechanism::kFlagWrite || mechanism == Mechanism::kDoorbell;
}

/// Which functions release somewhere in their own body. What lies deeper releases something of its
/// own, mostly.
class Releases {
 public:
  explicit Releases(const MarkContext& context)
      : context_(context),
        project_(context.project),
        out_(edges_out(project_)),
        in_(edges_in(project_)),
        ever_(project_.functions.size(), false) {
    for (std::size_t file = 0; file < context.mechanisms.size(); ++file) {
      for (const MechanismAt& entry : context.mechanisms[file]) {
        if (releases(entry.mechanism)) {
          ever_[static_cast<std::size_t>(project_.files[file]->owners[entry.token])] = true;
        }
      }
    }
  }

  /// Whether something releases behind `line` of a function, or behind the calls of it.
  [[nodiscard]] bool after(int function, int line, int depth) const {
    const Function& where = project_.function(function);
    const SourceFile& file = project_.file_of(where);
    const auto& mechanisms = context_.mechanisms[static_cast<std::size_t>(where.file)];
    auto entry = std::lower_bound(
        mechanisms.begin(), mechanisms.end(), where.first_token,
        [](const MechanismAt& known, std::size_t token) { return known.token < token; });
    for (; entry != mechanisms.end() && entry->token < where.last_token; ++entry) {
      const int at = static_cast<int>(file.code[entry->token].line);
      if (at > line && releases(entry->mechanism) && !is_other_branch(function, line, at)) {
        return true;
      }
    }
    for (const int index : out_[static_cast<std::size_t>(function)]) {
      const Edge& edge = project_.edges[static_cast<std::size_t>(index)];
      const int at = edge.sites.back().line;
      const bool is_behind = at > line && !is_other_branch(function, line, at);
      if (is_control(edge) && is_behind && ever_[static_cast<std::size_t>(edge.to)]) {
        return true;
      }
    }
    return depth > 0 && after_callers(function, depth - 1);
  }

 private:
  /// Whether two lines lie in different roles of one fork: the one never runs after the other.
  [[nodiscard]] bool is_other_branch(int function, int line, int other) const {
    for (const Fork& fork : project_.forks) {
      int of_line = kNone;
      int of_other = kNone;
      for (const int role : fork.roles) {
        const LineRange lines = project_.roles[static_cast<std::size_t>(role)].lines;
        of_line = lines.contains(line) ? role : of_line;
        of_other = lines.contains(other) ? role : of_other;
      }
      if (fork.function == function && of_line != kNone && of_other != kNone &&
          of_line != of_other) {
        return true;
      }
    }
    return false;
  }

  [[nodiscard]] bool after_callers(int function, int depth) const {
    if (const int parent = project_.function(function).parent; parent != kNone) {
      return after(parent, project_.function(function).lines.last, depth);
    }
    return std::any_of(in_[static_cast<std::size_t>(function)].begin(),
                       in_[static_cast<std::size_t>(function)].end(), [&](int index) {
                         const Edge& edge = project_.edges[static_cast<std::size_t>(index)];
                         return is_control(edge) && edge.from != function &&
                                after(edge.from, edge.sites.back().line, depth);
                       });
  }

  const MarkContext& context_;
  const Project& project_;
  std::vector<std::vector<int>> out_;
  std::vector<std::vector<int>> in_;
  std::vector<bool> ever_;
};

std::vector<int> functions_of(const std::vector<SyncPoint>& points) {
  std::vector<int> functions;
  for (const SyncPoint& point : points) {
    functions.push_back(point.function);
  }
  std::sort(functions.begin(), functions.end());
  functions.erase(std::unique(functions.begin(), functions.end()), functions.end());
  return functions;
}

}  // namespace

void mark_lonely_sync(const MarkContext& context) {
  for (const SyncPair& pair : context.project.sync) {
    if (pair.kind == "barrier" || (!pair.publishers.empty() && !pair.waiters.empty())) {
      continue;
    }
    const bool is_published = pair.waiters.empty();
    const std::vector<SyncPoint>& points = is_published ? pair.publishers : pair.waiters;
    const SyncPoint& first = points.front();
    context.add(is_published ? "publisher-without-waiter" : "waiter-without-publisher",
                first.function, first.file, {{first.line, first.line}},
                fmt::format("suspect: {} is {}", pair.key,
                            is_published ? "published and never waited for"
                                         : "waited for and never published"),
                functions_of(points));
  }
}

void mark_unreleased_stores(const MarkContext& context) {
  constexpr int kCallersMax = 3;
  const Releases releases_table(context);
  for (const Transfer& transfer : context.project.transfers) {
    const bool is_shared = transfer.target.space == "window";
    const bool on_device = context.project.function(transfer.function).execution != "host";
    if (is_shared && on_device &&
        !releases_table.after(transfer.function, transfer.line, kCallersMax)) {
      context.add(
          "store-without-release", transfer.function, transfer.file,
          {{transfer.line, transfer.line}},
          fmt::format("suspect: nothing releases what is stored to {}", transfer.target.text));
    }
  }
}

}  // namespace crossdock::explore
