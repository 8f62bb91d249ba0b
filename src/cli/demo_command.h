// SPDX-License-Identifier: Apache-2.0
// `crossdock demo`: a real mixture-of-experts layer over several ranks, checked bit by bit.
#pragma once

#include "cli/command_line.h"

namespace crossdock::cli {

void add_demo_command(CLI::App& program, CommandContext& context);

}  // namespace crossdock::cli
