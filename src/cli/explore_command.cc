// SPDX-License-Identifier: Apache-2.0
#include "cli/explore_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/parse.h"
#include "base/settings.h"
#include "base/status_macros.h"
#include "cli/console.h"
#include "cli/exit_code.h"
#include "cli/explore_page.h"
#include "cli/explore_serve.h"
#include "cli/subprocess.h"
#include "explore/explore.h"
#include "explore/output/diff.h"
#include "explore/output/json.h"
#include "explore/output/page.h"

namespace crossdock::cli {
namespace {

struct ExploreLine {
  std::vector<std::string> paths;
  std::vector<std::string> roots;
  std::vector<std::string> diff;
  std::string json;
  std::string out;
  std::string overlay;
  std::string rules;
  std::string serve;  // a port; empty: do not
  bool no_ctags = false;
  bool print_rules = false;
};

Result<std::string> run_quietly(const std::vector<std::string>& argv) {
  CROSSDOCK_ASSIGN_OR_RETURN(Captured captured, run_captured(argv, std::chrono::seconds(120)));
  if (captured.exit_code != 0) {
    return Status(StatusKind::kIo, Scope::kOperation,
                  fmt::format("{} ended with {}", argv.front(), captured.exit_code));
  }
  return std::move(captured.out);
}

explore::ExploreOptions options_of(const ExploreLine& line, const CommandContext& context) {
  explore::ExploreOptions options;
  options.paths = line.paths;
  options.roots = line.roots;
  options.rules = line.rules;
  options.overlay = line.overlay;
  options.command = fmt::format("crossdock {}", fmt::join(context.arguments, " "));
  if (!find_in_path("git").empty()) {
    options.run_git = run_quietly;
  }
  if (!line.no_ctags && !find_in_path("ctags").empty()) {
    options.run_ctags = run_quietly;
  } else if (!line.no_ctags) {
    options.ctags_absent = "not installed";
  }
  return options;
}

std::string summary(const explore::Project& project) {
  std::size_t lines = 0;
  for (const auto& file : project.files) {
    lines += static_cast<std::size_t>(file->text.line_count());
  }
  std::map<std::string_view, int> classes;
  for (const explore::Edge& edge : project.edges) {
    ++classes[explore::to_string(edge.edge_class)];
  }
  std::string text = fmt::format(
      "{}: {} files, {} lines\n"
      "  functions              {}\n"
      "  edges                  {} ({} exact, {} name-only, {} ambiguous, {} textual)\n"
      "  calls out of the tree  {}\n"
      "  roots                  {} ({})\n",
      project.provenance.name, project.files.size(), lines, project.functions.size(),
      project.edges.size(), classes["exact"], classes["name-only"], classes["ambiguous"],
      classes["textual"], project.external_calls.size(), project.roots.size(),
      !project.roots.empty() && project.roots.front().is_declared ? "declared" : "guessed");
  text += fmt::format(
      "  roles, stages          {}, {}\n  synchronisation pairs  {}\n"
      "  regions, transfers     {}, {}\n",
      project.roles.size(), project.stages.size(), project.sync.size(), project.regions.size(),
      project.transfers.size());
  std::map<std::string_view, int> rules;
  for (const explore::Mark& mark : project.marks) {
    ++rules[mark.rule];
  }
  text += fmt::format("  suspects               {}\n", project.marks.size());
  for (const auto& [rule, count] : rules) {
    text += fmt::format("    {:<38} {}\n", rule, count);
  }
  text += fmt::format("  disagreements          {}\n  warnings               {}\n",
                      project.disagreements.size(), project.warnings.size());
  return text;
}

/// A document that was written before, or that of a path.
Result<Json> document_of(const std::string& path, explore::ExploreOptions options) {
  if (path.ends_with(".json")) {
    CROSSDOCK_ASSIGN_OR_RETURN(const std::string text, read_whole_file(path));
    Json document = Json::parse(text, nullptr, false);
    if (!document.is_object()) {
      return Status(StatusKind::kInvalidArgument, Scope::kOperation,
                    fmt::format("--diff {}: no JSON document", quote(path)));
    }
    return document;
  }
  options.paths = {path};
  CROSSDOCK_ASSIGN_OR_RETURN(const auto project, explore::explore(options));
  return explore::to_json(*project);
}

Result<int> run_diff(const ExploreLine& line, const explore::ExploreOptions& options) {
  CROSSDOCK_ASSIGN_OR_RETURN(const Json old_document, document_of(line.diff[0], options));
  CROSSDOCK_ASSIGN_OR_RETURN(const Json new_document, document_of(line.diff[1], options));
  CROSSDOCK_ASSIGN_OR_RETURN(const Json diff, explore::make_diff(old_document, new_document));
  if (line.json != "-") {
    fmt::print("{}", explore::diff_text(diff));
  }
  if (!line.json.empty()) {
    CROSSDOCK_RETURN_IF_ERROR(write_json(line.json, diff));
  }
  return kExitOk;
}

Status write_page(const std::string& path, const explore::Project& project) {
  CROSSDOCK_ASSIGN_OR_RETURN(const std::string page_template, read_page_template());
  CROSSDOCK_ASSIGN_OR_RETURN(const std::string page,
                             explore::make_page(page_template, explore::to_json(project).dump()));
  return write_whole_file(path, page);
}

Result<int> run_server(const ExploreLine& line, const explore::ExploreOptions& options) {
  const Result<std::int64_t> port = parse_int64(line.serve, {0, 65535});
  if (!port.ok()) {
    return Status(StatusKind::kInvalidArgument, Scope::kOperation,
                  fmt::format("--serve: {}", port.status().message()));
  }
  CROSSDOCK_ASSIGN_OR_RETURN(const std::string page_template, read_page_template());
  CROSSDOCK_RETURN_IF_ERROR(serve([&] { return explore::explore(options); }, page_template,
                                  static_cast<std::uint16_t>(*port)));
  return kExitOk;
}

Result<int> run(const ExploreLine& line, const CommandContext& context) {
  CROSSDOCK_RETURN_IF_ERROR(settings_status());
  if (line.print_rules) {
    fmt::print("{}", explore::default_rules_text());
    return kExitOk;
  }
  if (line.paths.empty() && line.diff.empty()) {
    return Status(StatusKind::kInvalidArgument, Scope::kProcess,
                  "no path; allowed: files and folders of C, C++, CUDA, Ascend C or Python");
  }
  Progress progress("explore");
  explore::ExploreOptions options = options_of(line, context);
  options.tell = [&](std::string_view what) { progress.tell(what); };
  if (!line.diff.empty()) {
    return run_diff(line, options);
  }
  if (!line.serve.empty()) {
    return run_server(line, options);
  }
  CROSSDOCK_ASSIGN_OR_RETURN(const auto project, explore::explore(options));
  if (line.json != "-") {
    fmt::print("{}", summary(*project));
  }
  if (!line.json.empty()) {
    progress.tell("writing JSON");
    CROSSDOCK_RETURN_IF_ERROR(write_json(line.json, explore::to_json(*project)));
  }
  if (!line.out.empty()) {
    progress.tell("writing the page");
    CROSSDOCK_RETURN_IF_ERROR(write_page(line.out, *project));
  }
  return kExitOk;
}

}  // namespace

void add_explore_command(CLI::App& program, CommandContext& context) {
  CLI::App* const app = program.add_subcommand(
      "explore", "Read source that cannot be compiled as stages, calls and lines");
  const auto line = std::make_shared<ExploreLine>();
  app->add_option("path", line->paths, "files and folders")->type_name("PATH...");
  app->add_option("--root", line->roots, "where execution starts: a name, qualified name or id")
      ->type_name("NAME")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  add_text(*app, "--json", "write the document there; -: stdout (docs/explorer-schema.md)",
           line->json);
  add_text(*app, "--out", "write a page there that needs nothing else", line->out);
  add_text(*app, "--overlay", "a file with notes, names and merges", line->overlay);
  app->add_option("--diff", line->diff, "what came, went and changed; each a path or a document")
      ->type_name("OLD NEW")
      ->expected(2);
  app->add_option("--serve", line->serve, "serve the page to this machine; without a port: any")
      ->type_name("[PORT]")
      ->expected(0, 1)
      ->default_str("0");
  add_text(*app, "--rules", "a file that adds to what is known about names", line->rules);
  app->add_flag("--print-rules", line->print_rules, "print the built-in rules");
  app->add_flag("--no-ctags", line->no_ctags, "do not ask ctags, even if it is installed");
  app->footer(
      "Example:\n  crossdock explore src --root dispatch --json explore.json --out explore.html\n");
  app->callback([&context, line] {
    context.chosen = [&context, line] { return finish("explore", run(*line, context)); };
  });
}

}  // namespace crossdock::cli
