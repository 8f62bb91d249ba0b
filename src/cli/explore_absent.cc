// SPDX-License-Identifier: Apache-2.0
// `crossdock explore` of a build that could not make it: says what was missing.
#include <fmt/format.h>

#include "cli/command_line.h"
#include "cli/explore_command.h"
#include "crossdock/status.h"

namespace crossdock::cli {

void add_explore_command(CLI::App& program, CommandContext& context) {
  CLI::App* const app =
      program.add_subcommand("explore", "Read source as stages, calls and lines (not built)");
  app->allow_extras();
  app->footer("Example:\n  crossdock explore src --out explore.html\n");
  app->callback([&context] {
    context.chosen = [] {
      return finish("explore", Status(StatusKind::kUnsupported, Scope::kProcess,
                                      fmt::format("not built: {}; install it and build again",
                                                  CROSSDOCK_EXPLORE_MISSING)));
    };
  });
}

}  // namespace crossdock::cli
