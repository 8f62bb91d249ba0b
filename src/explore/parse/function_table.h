// SPDX-License-Identifier: Apache-2.0
// From files to functions: every analyser reads every file, and what they agree and disagree about
// becomes the project's inventory. Thread rule: one thread.
#pragma once

#include <functional>
#include <string_view>

#include "base/clock.h"
#include "explore/model.h"
#include "explore/parse/ctags.h"
#include "explore/parse/macro_table.h"

namespace crossdock::explore {

/// Tokens, directives and masking of every file.
void read_tokens(Project& project, const Rules& rules);

struct InventoryOptions {
  Duration parse_time_max;                     // of one file
  std::function<void(std::string_view)> tell;  // progress; may be empty
};

/// Fills functions, disagreements, and inventories of the files.
void build_functions(Project& project, const Rules& rules, const MacroTable& macros,
                     const InventoryOptions& options);

/// Adds the third analyser's voice to found_by and disagreements.
Status add_ctags_votes(Project& project, const RunProgram& run);

}  // namespace crossdock::explore
