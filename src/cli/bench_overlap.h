// SPDX-License-Identifier: Apache-2.0
// `crossdock bench overlap`.
#pragma once

#include "cli/command_line.h"

namespace crossdock::cli {

void add_overlap_command(CLI::App& bench, CommandContext& context);

}  // namespace crossdock::cli
