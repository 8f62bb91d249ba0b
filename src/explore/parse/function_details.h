// SPDX-License-Identifier: Apache-2.0
// What the tokens of a definition say: signature, parameters, where it runs, a hash of its body.
// Thread rule: pure functions.
#pragma once

#include <string>

#include "explore/model.h"
#include "explore/parse/macro_table.h"

namespace crossdock::explore {

/// Fills everything that follows from `found` and the file; not id, parent, kind of lambdas.
[[nodiscard]] Function describe_cpp_function(const SourceFile& file, const FoundFunction& found,
                                             const Rules& rules, const MacroTable& macros);
[[nodiscard]] Function describe_python_function(const SourceFile& file, const FoundFunction& found);

}  // namespace crossdock::explore
