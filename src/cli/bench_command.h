// SPDX-License-Identifier: Apache-2.0
// `crossdock bench dispatch|combine|roundtrip`.
#pragma once

#include "cli/command_line.h"

namespace crossdock::cli {

void add_bench_command(CLI::App& program, CommandContext& context);

}  // namespace crossdock::cli
