// SPDX-License-Identifier: Apache-2.0
// What the lines of a file are. Thread rule: pure functions.
#pragma once

#include <span>
#include <vector>

#include "explore/model.h"

namespace crossdock::explore {

struct LineKinds {
  int code = 0;
  int comment = 0;
  int blank = 0;
  int preprocessor = 0;
};

/// Every line counts once: code before preprocessor before comment.
[[nodiscard]] LineKinds count_line_kinds(const SourceFile& file);

/// Lines that some of the ranges touch, each once; ranges in order.
[[nodiscard]] int count_lines(const SourceText& text, std::span<const ByteRange> ranges);
[[nodiscard]] int count_lines(const SourceText& text, std::span<const Masked> ranges);

}  // namespace crossdock::explore
