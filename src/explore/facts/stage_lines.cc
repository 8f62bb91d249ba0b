// SPDX-License-Identifier: Apache-2.0
// What follows from a choice of stages; see stages.h.
#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "explore/facts/stages.h"
#include "explore/graph/reach.h"

namespace crossdock::explore {
namespace {

struct Paint {
  LineRange lines;
  int stage = kNone;
};

/// Lines of functions and roles, the outer before the inner.
void set_line_stages(Project& project) {
  std::vector<std::vector<Paint>> paints(project.files.size());
  for (const Function& function : project.functions) {
    paints[static_cast<std::size_t>(function.file)].push_back({function.lines, function.stage});
  }
  for (std::size_t stage = 0; stage < project.stages.size(); ++stage) {
    for (const int index : project.stages[stage].own_roles) {
      const Role& role = project.roles[static_cast<std::size_t>(index)];
      paints[static_cast<std::size_t>(project.function(role.function).file)].push_back(
          {role.lines, static_cast<int>(stage)});
    }
  }
  for (std::size_t index = 0; index < project.files.size(); ++index) {
    SourceFile& file = *project.files[index];
    std::stable_sort(paints[index].begin(), paints[index].end(),
                     [](const Paint& a, const Paint& b) {
                       return std::make_tuple(a.lines.first, -a.lines.last) <
                              std::make_tuple(b.lines.first, -b.lines.last);
                     });
    std::vector<int> stages(static_cast<std::size_t>(file.text.line_count()) + 1, kNone);
    for (const Paint& paint : paints[index]) {
      for (int line = paint.lines.first; line <= paint.lines.last; ++line) {
        stages[static_cast<std::size_t>(line)] = paint.stage;
      }
    }
    file.line_stages.clear();
    for (int line = 1; line <= file.text.line_count(); ++line) {
      const int stage = stages[static_cast<std::size_t>(line)];
      if (file.line_stages.empty() || file.line_stages.back().stage != stage) {
        file.line_stages.push_back({{line, line}, stage});
      }
      file.line_stages.back().lines.last = line;
    }
  }
}

int stage_at(const Project& project, int file, int line) {
  const std::vector<LineStage>& runs = project.file(file).line_stages;
  const auto after =
      std::upper_bound(runs.begin(), runs.end(), line,
                       [](int value, const LineStage& run) { return value < run.lines.first; });
  return after == runs.begin() ? kNone : std::prev(after)->stage;
}

void set_counts(Project& project) {
  for (Stage& stage : project.stages) {
    stage.line_count = 0;
    stage.functions.clear();
    stage.roles.clear();
    stage.mechanisms.clear();
  }
  for (const auto& file : project.files) {
    for (const LineStage& run : file->line_stages) {
      if (run.stage != kNone) {
        project.stages[static_cast<std::size_t>(run.stage)].line_count += run.lines.count();
      }
    }
  }
  std::vector<std::set<int>> roles(project.stages.size());
  std::vector<std::map<Mechanism, int>> mechanisms(project.stages.size());
  for (std::size_t index = 0; index < project.functions.size(); ++index) {
    const Function& function = project.functions[index];
    if (function.stage != kNone) {
      const auto stage = static_cast<std::size_t>(function.stage);
      project.stages[stage].functions.push_back(static_cast<int>(index));
      roles[stage].insert(function.roles.begin(), function.roles.end());
    }
    for (const Segment& segment : function.segments) {
      const int stage = stage_at(project, function.file, segment.lines.first);
      if (stage != kNone && segment.mechanism != Mechanism::kStraight) {
        ++mechanisms[static_cast<std::size_t>(stage)][segment.mechanism];
      }
    }
  }
  for (std::size_t index = 0; index < project.stages.size(); ++index) {
    Stage& stage = project.stages[index];
    roles[index].insert(stage.own_roles.begin(), stage.own_roles.end());
    stage.roles.assign(roles[index].begin(), roles[index].end());
    std::vector<std::pair<int, Mechanism>> counted;
    for (const auto& [mechanism, count] : mechanisms[index]) {
      counted.emplace_back(-count, mechanism);
    }
    std::sort(counted.begin(), counted.end());
    for (const auto& entry : counted) {
      stage.mechanisms.push_back(entry.second);
    }
  }
}

void set_edges(Project& project) {
  std::map<std::tuple<int, int, EdgeKind>, std::size_t> known;
  project.stage_edges.clear();
  const auto add = [&](int from, int to, EdgeKind kind, EdgeClass edge_class, int edge) {
    if (from == kNone || to == kNone || from == to) {
      return;
    }
    const auto [entry, is_new] = known.try_emplace({from, to, kind}, project.stage_edges.size());
    if (is_new) {
      project.stage_edges.push_back({from, to, kind, edge_class, {}});
    }
    StageEdge& into = project.stage_edges[entry->second];
    into.edge_class = std::min(into.edge_class, edge_class);
    if (edge != kNone && (into.edges.empty() || into.edges.back() != edge)) {
      into.edges.push_back(edge);
    }
  };
  for (std::size_t index = 0; index < project.edges.size(); ++index) {
    const Edge& edge = project.edges[index];
    const int file = project.function(edge.from).file;
    for (const Site& site : edge.sites) {
      const int from = stage_at(project, file, site.line);
      if (edge.sync == kNone) {
        add(from, project.function(edge.to).stage, edge.kind, edge.edge_class,
            static_cast<int>(index));
        continue;
      }
      for (const SyncPoint& waiter : project.sync[static_cast<std::size_t>(edge.sync)].waiters) {
        if (waiter.function == edge.to) {
          add(from, stage_at(project, waiter.file, waiter.line), edge.kind, edge.edge_class,
              static_cast<int>(index));
        }
      }
    }
  }
  for (const Role& role : project.roles) {  // The fork itself has no call.
    const int file = project.function(role.function).file;
    const int outer =
        role.parent == kNone
            ? project.function(role.function).stage
            : stage_at(project, file,
                       project.roles[static_cast<std::size_t>(role.parent)].lines.first);
    add(outer, stage_at(project, file, role.lines.first), EdgeKind::kControl, EdgeClass::kExact,
        kNone);
  }
}

}  // namespace

void finish_stages(Project& project) {
  set_line_stages(project);
  set_counts(project);
  set_edges(project);
}

}  // namespace crossdock::explore
