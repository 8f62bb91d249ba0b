// SPDX-License-Identifier: Apache-2.0
// Tokens of C, C++, CUDA, Ascend C and Python, read without any grammar: every byte belongs to one
// token or to white space, and nothing is refused. Thread rule: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "explore/source/text.h"

namespace crossdock::explore {

enum class TokenKind : std::uint8_t {
  kName,
  kNumber,
  kString,  // with prefix and quotes; raw and triple-quoted ones, too
  kChar,
  kPunct,  // "::", "->" and the operators as one; '>' always alone
  kComment,
  kDirective,  // a whole preprocessor line with its continuations
};

struct Token {
  TokenKind kind = TokenKind::kPunct;
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  std::uint32_t line = 0;  // of the first byte

  [[nodiscard]] ByteRange bytes() const { return {begin, end}; }
};

enum class LexerMode : std::uint8_t { kCpp, kPython };

/// `text` begins at byte `offset` and on line `line` of its file; positions are those in the file.
[[nodiscard]] std::vector<Token> lex(std::string_view text, LexerMode mode, std::size_t offset = 0,
                                     int line = 1);

/// A file's tokens with the text that they view.
class Tokens {
 public:
  Tokens() = default;
  Tokens(std::string_view text, std::vector<Token> tokens);

  [[nodiscard]] std::size_t size() const { return tokens_.size(); }
  [[nodiscard]] const Token& operator[](std::size_t index) const { return tokens_[index]; }
  [[nodiscard]] std::span<const Token> all() const { return tokens_; }
  /// Empty when `index` is past the end.
  [[nodiscard]] std::string_view text(std::size_t index) const;
  [[nodiscard]] std::string_view text(const Token& token) const {
    return text_.substr(token.begin, token.end - token.begin);
  }
  [[nodiscard]] bool is_name(std::size_t index) const {
    return index < size() && tokens_[index].kind == TokenKind::kName;
  }
  /// The index of the first token at or after `offset`.
  [[nodiscard]] std::size_t at_or_after(std::size_t offset) const;
  /// The token that closes the bracket at `open` ((), [], {}), or size(). A '}' closes whatever was
  /// left open since its '{'; a ')' never reaches over a '{'.
  [[nodiscard]] std::size_t match(std::size_t open) const {
    return open < size() ? matches_[open] : size();
  }
  /// The same for a template's '<'; size() when it is no bracket.
  [[nodiscard]] std::size_t match_angle(std::size_t open) const;

 private:
  std::string_view text_;
  std::vector<Token> tokens_;
  std::vector<std::uint32_t> matches_;
};

/// Without comments and directives.
[[nodiscard]] std::vector<Token> code_tokens(std::span<const Token> tokens);

/// The characters between the quotes, escapes as they are.
[[nodiscard]] std::string_view string_content(std::string_view token);

}  // namespace crossdock::explore
