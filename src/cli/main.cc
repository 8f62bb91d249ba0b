// SPDX-License-Identifier: Apache-2.0
// The `crossdock` program: reads the command line and runs one command.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "base/parse.h"
#include "cli/bench_command.h"
#include "cli/command_line.h"
#include "cli/console.h"
#include "cli/demo_command.h"
#include "cli/exit_code.h"
#include "cli/explore_command.h"
#include "cli/info_command.h"
#include "cli/launch_command.h"
#include "crossdock/version.h"

namespace crossdock::cli {
namespace {

/// The command that the line got to, for the first words of an error: "bench dispatch".
const CLI::App* innermost(const CLI::App& program) {
  const CLI::App* app = &program;
  while (!app->get_subcommands().empty()) {
    app = app->get_subcommands().front();
  }
  return app;
}

std::string path_of(const CLI::App* app) {
  std::string path;
  for (; app->get_parent() != nullptr; app = app->get_parent()) {
    path.insert(0, path.empty() ? app->get_name() : app->get_name() + " ");
  }
  return path;
}

std::vector<std::string_view> command_names(const CLI::App& app) {
  std::vector<std::string_view> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.emplace_back(command->get_name());
  }
  return names;
}

std::string suggestion(std::string_view name, const std::vector<std::string_view>& known) {
  const std::string_view nearest = nearest_name(name, known);
  return nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest);
}

/// One line for words that no option and no command took.
std::string unexpected_text(const CLI::App& app) {
  const std::string word = app.remaining(true).empty() ? "" : app.remaining(true).front();
  const std::vector<std::string_view> commands = command_names(app);
  if (!word.starts_with("-") && !commands.empty()) {
    return fmt::format("unknown command {}; allowed: {}{}", quote(word), fmt::join(commands, ", "),
                       suggestion(word, commands));
  }
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      names.push_back("--" + name);
    }
  }
  const std::string_view kind = word.starts_with("-") ? "option" : "argument";
  return fmt::format("unknown {} {}{}; see --help", kind, quote(word),
                     suggestion(word.substr(0, word.find('=')), {names.begin(), names.end()}));
}

std::string error_text(const CLI::App& app, const CLI::ParseError& error) {
  const auto kind = static_cast<CLI::ExitCodes>(error.get_exit_code());
  // A word that is no command is also a missing command.
  if (kind == CLI::ExitCodes::ExtrasError || !app.remaining(true).empty()) {
    return unexpected_text(app);
  }
  if (kind == CLI::ExitCodes::RequiredError && app.get_require_subcommand_min() > 0) {
    return fmt::format("a command is needed; allowed: {}", fmt::join(command_names(app), ", "));
  }
  return error.what();
}

void add_commands(CLI::App& program, CommandContext& context) {
  program.require_subcommand(1);
  program.set_version_flag("--version", fmt::format("crossdock {}", version()));
  program.footer("Each command has --help with an example.\n\nExample:\n  crossdock demo\n");
  add_demo_command(program, context);
  add_launch_command(program, context);
  add_bench_command(program, context);
  add_info_command(program, context);
  add_explore_command(program, context);
}

int run_program(std::vector<std::string> arguments) {
  CommandContext context;
  const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
  if (dashes != arguments.end()) {
    context.after_dashes.assign(dashes + 1, arguments.end());
    arguments.erase(dashes, arguments.end());
  }
  context.arguments = arguments;
  CLI::App program("Expert-parallel dispatch and combine for mixture-of-experts layers",
                   "crossdock");
  add_commands(program, context);
  try {
    std::reverse(arguments.begin(), arguments.end());  // As CLI11 wants them.
    program.parse(std::move(arguments));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {
      return program.exit(error);  // --help and --version
    }
    const CLI::App* const app = innermost(program);
    print_error(path_of(app), error_text(*app, error));
    return kExitUsage;
  }
  return context.chosen();
}

}  // namespace
}  // namespace crossdock::cli

int main(int argc, char** argv) {
  try {
    return crossdock::cli::run_program({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    crossdock::cli::print_error("", error.what());
    return crossdock::cli::kExitOperating;
  }
}
