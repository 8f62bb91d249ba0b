// SPDX-License-Identifier: Apache-2.0
#include "explore/source/text.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace crossdock::explore {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

void append_code_point(std::string& out, std::uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0 | (code >> 6));
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xE0 | (code >> 12));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | (code >> 18));
    out += static_cast<char>(0x80 | ((code >> 12) & 0x3F));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  }
}

/// Length of the well-formed UTF-8 sequence at `at`, or 0.
std::size_t sequence_length(std::string_view bytes, std::size_t at) {
  const auto byte = [&](std::size_t index) {
    return index < bytes.size() ? static_cast<unsigned char>(bytes[index]) : 0U;
  };
  const auto continues = [&](std::size_t index) { return (byte(index) & 0xC0U) == 0x80U; };
  const unsigned first = byte(at);
  if (first < 0x80) {
    return first == 0 ? 0 : 1;
  }
  if (first >= 0xC2 && first <= 0xDF) {
    return continues(at + 1) ? 2 : 0;
  }
  const unsigned second = byte(at + 1);
  if (first >= 0xE0 && first <= 0xEF) {
    const bool fits = (first != 0xE0 || second >= 0xA0) && (first != 0xED || second < 0xA0);
    return fits && continues(at + 1) && continues(at + 2) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const bool fits = (first != 0xF0 || second >= 0x90) && (first != 0xF4 || second < 0x90);
    return fits && continues(at + 1) && continues(at + 2) && continues(at + 3) ? 4 : 0;
  }
  return 0;
}

std::string from_utf16(std::string_view bytes, bool big_endian) {
  std::string out;
  const auto unit = [&](std::size_t at) {
    const auto low = static_cast<unsigned char>(bytes[at + (big_endian ? 1 : 0)]);
    const auto high = static_cast<unsigned char>(bytes[at + (big_endian ? 0 : 1)]);
    return static_cast<std::uint32_t>(low | (high << 8));
  };
  for (std::size_t at = 2; at + 1 < bytes.size(); at += 2) {
    const std::uint32_t first = unit(at);
    if (first >= 0xD800 && first < 0xDC00 && at + 3 < bytes.size() && unit(at + 2) >= 0xDC00 &&
        unit(at + 2) < 0xE000) {
      append_code_point(out, 0x10000 + ((first - 0xD800) << 10) + (unit(at + 2) - 0xDC00));
      at += 2;
    } else if ((first >= 0xD800 && first < 0xE000) || first == 0) {
      out += kReplacement;
    } else {
      append_code_point(out, first);
    }
  }
  return out;
}

std::string with_newlines(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\r') {
      out += text[at];
    } else if (at + 1 == text.size() || text[at + 1] != '\n') {
      out += '\n';
    }
  }
  return out;
}

}  // namespace

SourceText::SourceText(std::string text) : text_(std::move(text)) {
  line_begins_.push_back(0);
  for (std::size_t at = 0; at < text_.size(); ++at) {
    if (text_[at] == '\n' && at + 1 < text_.size()) {
      line_begins_.push_back(at + 1);
    }
  }
  if (text_.empty()) {
    line_begins_.clear();
  }
}

int SourceText::line_count() const { return static_cast<int>(line_begins_.size()); }

int SourceText::line_at(std::size_t offset) const {
  const auto after = std::upper_bound(line_begins_.begin(), line_begins_.end(), offset);
  return std::max(1, static_cast<int>(after - line_begins_.begin()));
}

std::size_t SourceText::line_begin(int line) const {
  return line > line_count() || line < 1 ? text_.size()
                                         : line_begins_[static_cast<std::size_t>(line - 1)];
}

std::string_view SourceText::line(int line) const {
  if (line < 1 || line > line_count()) {
    return {};
  }
  const std::size_t begin = line_begin(line);
  std::string_view content = view().substr(begin, line_begin(line + 1) - begin);
  if (content.ends_with('\n')) {
    content.remove_suffix(1);
  }
  return content;
}

LineRange SourceText::lines_of(ByteRange bytes) const {
  return {line_at(bytes.begin), line_at(bytes.end > bytes.begin ? bytes.end - 1 : bytes.begin)};
}

Site SourceText::site(ByteRange bytes) const {
  const int line = line_at(bytes.begin);
  const std::size_t begin = std::min(line_begin(line), bytes.begin);
  // Of a megabyte line the column is not worth counting for every site.
  constexpr std::size_t kColumnBytesMax = 1 << 14;
  const std::size_t prefix = bytes.begin - begin;
  const int column = prefix > kColumnBytesMax ? static_cast<int>(prefix)
                                              : utf16_length(view().substr(begin, prefix));
  return {line, column, utf16_length(view().substr(bytes.begin, bytes.end - bytes.begin))};
}

DecodedText decode_text(std::string_view bytes) {
  if (bytes.starts_with("\xFF\xFE") || bytes.starts_with("\xFE\xFF")) {
    return {with_newlines(from_utf16(bytes, bytes.starts_with("\xFE\xFF"))), "utf-16"};
  }
  if (bytes.starts_with("\xEF\xBB\xBF")) {
    bytes.remove_prefix(3);
  }
  std::string repaired;
  repaired.reserve(bytes.size());
  bool is_valid = true;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t length = sequence_length(bytes, at);
    if (length == 0) {
      is_valid = false;
      repaired += kReplacement;
    } else {
      repaired += bytes.substr(at, length);
    }
    at += std::max<std::size_t>(length, 1);
  }
  return {with_newlines(repaired), is_valid ? "utf-8" : "repaired"};
}

int utf16_length(std::string_view text) {
  int units = 0;
  for (const char byte : text) {
    const auto value = static_cast<unsigned char>(byte);
    if ((value & 0xC0U) != 0x80U) {
      units += value >= 0xF0 ? 2 : 1;
    }
  }
  return units;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\n\v\f";
  const std::size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) {
    return {};
  }
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

std::string one_line(std::string_view text, std::size_t length_max) {
  std::string out;
  for (const char c : trimmed(text)) {
    const bool is_blank = c == ' ' || c == '\t' || c == '\n' || c == '\v' || c == '\f';
    if (!is_blank) {
      out += c;
    } else if (!out.ends_with(' ')) {
      out += ' ';
    }
    if (out.size() > length_max) {
      while (!out.empty() && (static_cast<unsigned char>(out.back()) & 0xC0U) == 0x80U) {
        out.pop_back();
      }
      out.pop_back();
      return out + "...";
    }
  }
  return out;
}

}  // namespace crossdock::explore
