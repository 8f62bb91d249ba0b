// SPDX-License-Identifier: Apache-2.0
#include "cli/launch_command.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/parse.h"
#include "base/settings.h"
#include "base/status_macros.h"
#include "cli/command_line.h"
#include "cli/console.h"
#include "cli/launch.h"
#include "crossdock/status.h"

namespace crossdock::cli {
namespace {

struct LaunchLine {
  std::int64_t ranks = 1;
  std::string bind = "auto";
  std::string output = "prefixed";
  std::string grace;
  std::string timeout;
  bool verbose = false;
  std::vector<std::string> environment;
  std::string json;
};

Result<Duration> seconds_option(const std::string& name, const std::string& text) {
  Result<Duration> seconds = parse_seconds(text);
  if (!seconds.ok()) {
    return Status(StatusKind::kInvalidArgument, Scope::kProcess,
                  name + ": " + std::string(seconds.status().message()));
  }
  return seconds;
}

Result<LaunchOptions> check(const LaunchLine& line, const std::vector<std::string>& argv) {
  LaunchOptions options;
  options.argv = argv;
  if (argv.empty()) {
    return Status(StatusKind::kInvalidArgument, Scope::kProcess,
                  "no program; allowed: crossdock launch -n RANKS -- PROGRAM ARGUMENTS");
  }
  options.rank_count = static_cast<int>(line.ranks);
  options.binding = line.bind == "none"   ? Binding::kNone
                    : line.bind == "core" ? Binding::kCore
                    : line.bind == "numa" ? Binding::kNuma
                                          : Binding::kAuto;
  options.output = line.output == "lines"       ? RankOutput::kLines
                   : line.output == "inherited" ? RankOutput::kInherited
                                                : RankOutput::kPrefixed;
  options.verbosity = line.verbose ? Verbosity::kVerbose : Verbosity::kQuiet;
  options.grace = settings().grace;
  if (!line.grace.empty()) {
    CROSSDOCK_ASSIGN_OR_RETURN(options.grace, seconds_option("--grace", line.grace));
  }
  if (!line.timeout.empty()) {
    CROSSDOCK_ASSIGN_OR_RETURN(options.timeout, seconds_option("--timeout", line.timeout));
  }
  for (const std::string& variable : line.environment) {
    const std::size_t equals = variable.find('=');
    if (equals == 0 || equals == std::string::npos) {
      return Status(StatusKind::kInvalidArgument, Scope::kProcess,
                    "--env: " + quote(variable) + " is no variable; allowed: NAME=VALUE");
    }
    options.environment.emplace_back(variable.substr(0, equals), variable.substr(equals + 1));
  }
  return options;
}

/// "prog a -- b" or "-- prog a": what is not an option of ours.
std::vector<std::string> program_line(const CLI::App& app, const CommandContext& context) {
  std::vector<std::string> argv = app.remaining();
  if (argv.empty()) {
    return context.after_dashes;
  }
  if (!context.after_dashes.empty()) {
    argv.emplace_back("--");
    argv.insert(argv.end(), context.after_dashes.begin(), context.after_dashes.end());
  }
  return argv;
}

Result<int> run(const LaunchLine& line, const std::vector<std::string>& argv) {
  CROSSDOCK_RETURN_IF_ERROR(settings_status());
  if (!argv.empty() && argv.front().starts_with("-")) {
    return Status(StatusKind::kInvalidArgument, Scope::kProcess,
                  "unknown option " + quote(argv.front()) + "; see --help");
  }
  CROSSDOCK_ASSIGN_OR_RETURN(const LaunchOptions options, check(line, argv));
  const Instant begin = monotonic_clock().now();
  CROSSDOCK_ASSIGN_OR_RETURN(const int code, launch(options));
  if (!line.json.empty()) {
    const Duration wall = monotonic_clock().now() - begin;
    CROSSDOCK_RETURN_IF_ERROR(write_json(line.json, {{"schema", "crossdock.launch/1"},
                                                     {"ranks", options.rank_count},
                                                     {"program", argv.front()},
                                                     {"exit_code", code},
                                                     {"wall_us", wall.count() / 1000},
                                                     {"origin", "measured"}}));
  }
  return code;
}

}  // namespace

void add_launch_command(CLI::App& program, CommandContext& context) {
  CLI::App* const app = program.add_subcommand(
      "launch", "Start the ranks of a program on this host and see them through");
  const auto line = std::make_shared<LaunchLine>();
  add_integer(*app, {"-n,--ranks", "how many", {1, kRankCountMax}}, line->ranks)->required();
  add_choice(*app, {"--bind", "where ranks may run", {"auto", "none", "core", "numa"}}, line->bind);
  add_choice(
      *app,
      {"--output", "prefixed: \"[rank] \" before each line", {"prefixed", "lines", "inherited"}},
      line->output);
  add_text(*app, "--grace",
           "seconds that other ranks have to report after one failed; CROSSDOCK_GRACE",
           line->grace);
  add_text(*app, "--timeout", "seconds until all are ended; exit code 124", line->timeout);
  app->add_option("--env", line->environment, "NAME=VALUE for every rank; may be repeated")
      ->type_name("TEXT")
      ->expected(1)
      ->take_all();
  add_text(*app, "--json", "write exit code and wall time there as JSON; -: stdout", line->json);
  app->add_flag("-v,--verbose", line->verbose, "say what is started, and where it is bound");
  app->footer(
      "The exit code is 0, or that of the first rank that failed (128 + signal).\n\n"
      "Example:\n  crossdock launch -n 8 -- crossdock demo\n");
  app->prefix_command();
  app->callback([&context, line, app] {
    context.chosen = [argv = program_line(*app, context), line] {
      return finish("launch", run(*line, argv));
    };
  });
}

}  // namespace crossdock::cli
