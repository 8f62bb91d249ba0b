// SPDX-License-Identifier: Apache-2.0
// What the preprocessor lines of a file say, without running them: macros, and the conditions under
// which each line is compiled. Thread rule: plain values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "explore/source/lexer.h"
#include "explore/source/text.h"

namespace crossdock::explore {

struct Macro {
  std::string name;
  bool is_function_like = false;
  std::vector<std::string> parameters;
  ByteRange body;
  int line = 0;
};

/// One part of an #if group, between two of its directives.
struct ConditionalBranch {
  std::string condition;  // "defined(A)", "!(defined(A)) && (B)"
  bool never = false;     // "#if 0" and what follows "#if 1"
  ByteRange bytes;        // without the directives
};
struct ConditionalGroup {
  std::vector<ConditionalBranch> branches;
};

/// The conditions around a run of lines, outermost first.
struct ConditionedLines {
  LineRange lines;
  std::vector<std::string> conditions;
  bool never = false;
};

struct Preprocessed {
  std::vector<Macro> macros;
  std::vector<ConditionalGroup> groups;
  std::vector<ConditionedLines> regions;  // innermost ones, in order; lines outside are in none
  std::vector<int> unbalanced;  // lines of an #endif without #if, or an #if without #endif

  /// Null for a line that is compiled always.
  [[nodiscard]] const ConditionedLines* at(int line) const;
};

[[nodiscard]] Preprocessed read_directives(const SourceText& text, const Tokens& tokens);

}  // namespace crossdock::explore
