// SPDX-License-Identifier: Apache-2.0
// Equal-width masking: what a C++ grammar cannot read (device qualifiers, launch brackets, inline
// assembly, bare macros, preprocessor lines) becomes blanks, so that every other byte keeps its
// offset. Invariants: the masked text has the size and the newlines of the original, and each of
// its bytes is the original one or a blank. Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "explore/source/lexer.h"
#include "explore/source/preprocessor.h"
#include "explore/source/rules.h"
#include "explore/source/text.h"

namespace crossdock::explore {

enum class MaskKind : std::uint8_t {
  kQualifier,
  kAttribute,
  kAssembly,
  kLaunch,
  kMacro,
  kConditional,
};
[[nodiscard]] std::string_view to_string(MaskKind kind);

struct Masked {
  MaskKind kind = MaskKind::kQualifier;
  ByteRange bytes;
};

struct MaskedText {
  std::string text;
  std::vector<Masked> masked;  // by offset; preprocessor lines are not listed
};

[[nodiscard]] MaskedText mask(const SourceText& text, const Tokens& tokens,
                              const Preprocessed& directives, const Rules& rules);

/// Upper-case letters, digits and '_', at least three, at least one letter.
[[nodiscard]] bool looks_like_macro(std::string_view name);

}  // namespace crossdock::explore
