// SPDX-License-Identifier: Apache-2.0
#include "explore/explore.h"

#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/parse.h"
#include "base/status_macros.h"
#include "explore/facts/marks.h"
#include "explore/facts/mechanisms.h"
#include "explore/facts/memory.h"
#include "explore/facts/roles.h"
#include "explore/facts/segments.h"
#include "explore/facts/stages.h"
#include "explore/facts/sync_pairs.h"
#include "explore/graph/edges.h"
#include "explore/graph/reach.h"
#include "explore/graph/symbols.h"
#include "explore/output/overlay.h"
#include "explore/parse/function_table.h"
#include "explore/parse/macro_table.h"
#include "explore/source/provenance.h"

namespace crossdock::explore {
namespace {

Result<std::string> read_text(std::string_view option, const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) {
    return Status(StatusKind::kInvalidArgument, Scope::kOperation,
                  fmt::format("{} {}: cannot be read", option, quote(path)));
  }
  return std::string(std::istreambuf_iterator<char>(stream), {});
}

Result<Rules> load_rules(const std::string& path) {
  Rules rules = default_rules();
  if (path.empty()) {
    return rules;
  }
  CROSSDOCK_ASSIGN_OR_RETURN(const std::string text, read_text("--rules", path));
  CROSSDOCK_RETURN_IF_ERROR(rules.add(text, path));
  return rules;
}

Result<std::optional<Overlay>> load_overlay(const std::string& path) {
  if (path.empty()) {
    return std::optional<Overlay>();
  }
  CROSSDOCK_ASSIGN_OR_RETURN(const std::string text, read_text("--overlay", path));
  CROSSDOCK_ASSIGN_OR_RETURN(Overlay overlay, Overlay::parse(text, path));
  return std::optional<Overlay>(std::move(overlay));
}

void ask_ctags(const ExploreOptions& options, Project& project) {
  Analyser ctags{"ctags", false, {}, options.ctags_absent};
  if (options.run_ctags) {
    const Status status = add_ctags_votes(project, options.run_ctags);
    ctags.used = status.ok();
    ctags.reason = status.ok() ? "" : std::string(status.message());
  }
  project.analysers.push_back(std::move(ctags));
}

}  // namespace

Result<std::unique_ptr<Project>> explore(const ExploreOptions& options) {
  const auto tell = [&](std::string_view what) {
    if (options.tell) {
      options.tell(what);
    }
  };
  auto project = std::make_unique<Project>();
  CROSSDOCK_ASSIGN_OR_RETURN(const Rules rules, load_rules(options.rules));
  CROSSDOCK_ASSIGN_OR_RETURN(std::optional<Overlay> overlay, load_overlay(options.overlay));
  tell("reading files");
  CROSSDOCK_RETURN_IF_ERROR(load_files(options.paths, options.limits, *project));
  set_provenance(*project, options.command, options.run_git);
  read_tokens(*project, rules);
  const MacroTable macros(*project, rules);
  project->analysers.push_back({"tree-sitter", true, "0.20", ""});
  project->analysers.push_back({"scanner", true, "1", ""});
  build_functions(*project, rules, macros, {options.parse_time_max, options.tell});
  ask_ctags(options, *project);
  tell("resolving calls");
  const Symbols symbols(*project);
  build_edges(*project, rules, macros, symbols);
  std::vector<std::string> roots = options.roots;
  if (overlay.has_value()) {
    overlay->apply_to_edges(*project);
    const std::vector<std::string> more = overlay->roots();
    roots.insert(roots.end(), more.begin(), more.end());
  }
  CROSSDOCK_RETURN_IF_ERROR(find_roots(*project, roots));
  find_reach(*project);
  find_paths(*project);
  tell("cutting segments");
  FileMechanisms mechanisms;
  for (const auto& file : project->files) {
    mechanisms.push_back(find_mechanisms(*project, *file, rules, symbols));
  }
  cut_segments(*project, symbols, mechanisms);
  find_roles(*project, rules, mechanisms);
  find_sync_pairs(*project, symbols, mechanisms);
  find_memory(*project, rules, symbols, mechanisms);
  tell("proposing stages");
  propose_stages(*project);
  if (overlay.has_value()) {
    overlay->apply_to_stages(*project);
  }
  find_marks(*project, rules, symbols, mechanisms);
  if (overlay.has_value()) {
    overlay->apply_notes(*project);
  }
  return project;
}

}  // namespace crossdock::explore
