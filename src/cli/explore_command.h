// SPDX-License-Identifier: Apache-2.0
// `crossdock explore`. Thread rule: the main thread.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/command_line.h"

namespace crossdock::cli {

void add_explore_command(CLI::App& program, CommandContext& context);

}  // namespace crossdock::cli
