// SPDX-License-Identifier: Apache-2.0
// `crossdock launch -n 8 -- program arguments`.
#pragma once

#include "cli/command_line.h"

namespace crossdock::cli {

void add_launch_command(CLI::App& program, CommandContext& context);

}  // namespace crossdock::cli
