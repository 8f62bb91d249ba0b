// SPDX-License-Identifier: Apache-2.0
// A file's text as the explorer knows it: UTF-8, lines end with '\n'. All offsets of the room count
// bytes of this text, lines count from 1, columns count UTF-16 code units from 0.
// Thread rule: plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace crossdock::explore {

/// Both ends belong to the range; first > last means none.
struct LineRange {
  int first = 1;
  int last = 0;

  [[nodiscard]] bool contains(int line) const { return first <= line && line <= last; }
  [[nodiscard]] int count() const { return last < first ? 0 : last - first + 1; }
  bool operator==(const LineRange&) const = default;
};

/// Offsets [begin, end).
struct ByteRange {
  std::size_t begin = 0;
  std::size_t end = 0;

  [[nodiscard]] bool contains(std::size_t offset) const { return begin <= offset && offset < end; }
  bool operator==(const ByteRange&) const = default;
};

/// Where a name stands.
struct Site {
  int line = 0;
  int column = 0;
  int length = 0;

  auto operator<=>(const Site&) const = default;
};

class SourceText {
 public:
  SourceText() = default;
  explicit SourceText(std::string text);

  [[nodiscard]] std::string_view view() const { return text_; }
  [[nodiscard]] std::size_t size() const { return text_.size(); }
  /// A last line without '\n' counts; the empty text has no line.
  [[nodiscard]] int line_count() const;
  /// Of the byte at `offset`; offsets past the end belong to the last line.
  [[nodiscard]] int line_at(std::size_t offset) const;
  /// Of a line's first byte; `line` in 1..line_count(), or one more for the end.
  [[nodiscard]] std::size_t line_begin(int line) const;
  /// Without its '\n'.
  [[nodiscard]] std::string_view line(int line) const;
  [[nodiscard]] LineRange lines_of(ByteRange bytes) const;
  [[nodiscard]] Site site(ByteRange bytes) const;

 private:
  std::string text_;
  std::vector<std::size_t> line_begins_;
};

/// What became of the bytes of a file.
struct DecodedText {
  std::string text;
  std::string_view encoding;  // "utf-8", "utf-16" or "repaired"
};

/// UTF-8 and UTF-16 with a byte order mark; bytes that are neither become U+FFFD, NUL too.
[[nodiscard]] DecodedText decode_text(std::string_view bytes);

/// UTF-16 code units of a UTF-8 text.
[[nodiscard]] int utf16_length(std::string_view text);

/// Without white space at both ends.
[[nodiscard]] std::string_view trimmed(std::string_view text);

/// Runs of white space become one blank; cut after `length_max` bytes with "...".
[[nodiscard]] std::string one_line(std::string_view text, std::size_t length_max = 200);

}  // namespace crossdock::explore
