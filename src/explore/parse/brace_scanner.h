// SPDX-License-Identifier: Apache-2.0
// Second analyser: finds definitions by brackets and indentation alone, so that it does not lose
// its place where a grammar does. It knows no types, and it does not look inside functions. Thread
// rule: pure functions.
#pragma once

#include "explore/parse/found.h"
#include "explore/source/lexer.h"

namespace crossdock::explore {

/// `code`: tokens of a masked text, without comments and directives.
[[nodiscard]] Inventory scan_cpp(const Tokens& code);

/// `code`: tokens of a Python file without comments.
[[nodiscard]] Inventory scan_python(const SourceText& text, const Tokens& code);

}  // namespace crossdock::explore
