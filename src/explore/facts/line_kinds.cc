// SPDX-License-Identifier: Apache-2.0
#include "explore/facts/line_kinds.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace crossdock::explore {

LineKinds count_line_kinds(const SourceFile& file) {
  enum Kind : std::uint8_t { kBlank, kComment, kPreprocessor, kCode };
  std::vector<std::uint8_t> kinds(static_cast<std::size_t>(file.text.line_count()) + 1, kBlank);
  const auto set = [&](LineRange lines, Kind kind) {
    for (int line = lines.first; line <= lines.last; ++line) {
      std::uint8_t& known = kinds[static_cast<std::size_t>(line)];
      known = std::max<std::uint8_t>(known, kind);
    }
  };
  for (const Token& token : file.tokens.all()) {
    const Kind kind = token.kind == TokenKind::kComment     ? kComment
                      : token.kind == TokenKind::kDirective ? kPreprocessor
                                                            : kCode;
    set(file.text.lines_of(token.bytes()), kind);
  }
  LineKinds counts;
  for (int line = 1; line <= file.text.line_count(); ++line) {
    std::uint8_t kind = kinds[static_cast<std::size_t>(line)];
    if (file.language == Language::kText && !trimmed(file.text.line(line)).empty()) {
      kind = kCode;
    }
    ++(kind == kCode           ? counts.code
       : kind == kPreprocessor ? counts.preprocessor
       : kind == kComment      ? counts.comment
                               : counts.blank);
  }
  return counts;
}

int count_lines(const SourceText& text, std::span<const ByteRange> ranges) {
  int count = 0;
  int counted_to = 0;
  for (const ByteRange bytes : ranges) {
    const LineRange lines = text.lines_of(bytes);
    count += std::max(0, lines.last - std::max(lines.first - 1, counted_to));
    counted_to = std::max(counted_to, lines.last);
  }
  return count;
}

int count_lines(const SourceText& text, std::span<const Masked> ranges) {
  std::vector<ByteRange> bytes;
  for (const Masked& entry : ranges) {
    bytes.push_back(entry.bytes);
  }
  return count_lines(text, bytes);
}

}  // namespace crossdock::explore
