// SPDX-License-Identifier: Apache-2.0
// `crossdock info`: versions, this host, fabric, protocols, settings, memory of a shape.
#pragma once

#include "cli/command_line.h"

namespace crossdock::cli {

void add_info_command(CLI::App& program, CommandContext& context);

}  // namespace crossdock::cli
