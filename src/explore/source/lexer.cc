// SPDX-License-Identifier: Apache-2.0
#include "explore/source/lexer.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace crossdock::explore {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool starts_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}
bool continues_name(char c) { return starts_name(c) || is_digit(c); }

constexpr std::array<std::string_view, 28> kOperators = {
    "<<<", "<<=", "...", "->*", "<=>", "::", "->", "++", "--", "<<", "<=", ">=", "==", "!=",
    "&&",  "||",  "+=",  "-=",  "*=",  "/=", "%=", "&=", "|=", "^=", "##", ".*", ":=", "**"};

class Lexer {
 public:
  Lexer(std::string_view text, LexerMode mode, std::size_t offset, int line)
      : text_(text), mode_(mode), offset_(offset), line_(static_cast<std::uint32_t>(line)) {}

  std::vector<Token> run() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\n') {
        line_begins_ = true;
        ++line_;
        ++at_;
      } else if (c == ' ' || c == '\t' || c == '\v' || c == '\f' || c == '\\') {
        ++at_;
      } else {
        const bool is_first = line_begins_;
        line_begins_ = false;
        next(c, is_first);
      }
    }
    return std::move(tokens_);
  }

 private:
  void next(char c, bool is_first) {
    if (mode_ == LexerMode::kCpp ? starts_cpp_comment() : c == '#') {
      const bool is_block = c == '/' && text_[at_ + 1] == '*';
      take(TokenKind::kComment, is_block ? block_end() : line_end(mode_ == LexerMode::kCpp));
      line_begins_ = is_first && is_block;  // "/* */ #if" is still a directive.
    } else if (c == '#' && is_first) {
      take(TokenKind::kDirective, directive_end());
    } else if (starts_name(c)) {
      name();
    } else if (is_digit(c) || (c == '.' && is_digit(peek(1)))) {
      take(TokenKind::kNumber, number_end());
    } else if (c == '"' || c == '\'') {
      quoted(at_);
    } else {
      take(TokenKind::kPunct, at_ + operator_length());
    }
  }

  [[nodiscard]] char peek(std::size_t ahead) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  [[nodiscard]] bool starts_cpp_comment() const {
    return text_[at_] == '/' && (peek(1) == '/' || peek(1) == '*');
  }

  void take(TokenKind kind, std::size_t end) {
    end = std::min(std::max(end, at_ + 1), text_.size());
    tokens_.push_back({kind, static_cast<std::uint32_t>(offset_ + at_),
                       static_cast<std::uint32_t>(offset_ + end), line_});
    line_ += static_cast<std::uint32_t>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(at_),
                                                   text_.begin() + static_cast<std::ptrdiff_t>(end),
                                                   '\n'));
    at_ = end;
  }

  [[nodiscard]] std::size_t block_end() const {
    const std::size_t close = text_.find("*/", at_ + 2);
    return close == std::string_view::npos ? text_.size() : close + 2;
  }

  /// Before the '\n' that ends this line; with `joins` a backslash goes on to the next.
  [[nodiscard]] std::size_t line_end(bool joins) const {
    std::size_t end = at_;
    do {
      end = text_.find('\n', end + 1);
    } while (joins && end != std::string_view::npos && text_[end - 1] == '\\');
    return std::min(end, text_.size());
  }

  /// A line comment ends the directive before it; a block comment inside may span lines.
  [[nodiscard]] std::size_t directive_end() const {
    for (std::size_t at = at_ + 1; at < text_.size(); ++at) {
      if (text_[at] == '\n' && text_[at - 1] != '\\') {
        return at;
      }
      if (text_[at] == '/' && at + 1 < text_.size() && text_[at + 1] == '/') {
        return at;
      }
      if (text_[at] == '/' && at + 1 < text_.size() && text_[at + 1] == '*') {
        const std::size_t close = text_.find("*/", at + 2);
        at = close == std::string_view::npos ? text_.size() : close + 1;
      }
    }
    return text_.size();
  }

  void name() {
    std::size_t end = at_ + 1;
    while (end < text_.size() && continues_name(text_[end])) {
      ++end;
    }
    const bool quote_follows = end < text_.size() && (text_[end] == '"' || text_[end] == '\'');
    if (quote_follows && end - at_ <= 3 && is_string_prefix(text_.substr(at_, end - at_))) {
      quoted(end);
    } else {
      take(TokenKind::kName, end);
    }
  }

  [[nodiscard]] bool is_string_prefix(std::string_view word) const {
    constexpr std::array<std::string_view, 9> kCpp = {"R",  "u",  "U",  "L",  "u8",
                                                      "uR", "UR", "LR", "u8R"};
    if (mode_ == LexerMode::kCpp) {
      return std::find(kCpp.begin(), kCpp.end(), word) != kCpp.end();
    }
    return word.find_first_not_of("rRbBfFuU") == std::string_view::npos;
  }

  void quoted(std::size_t quote) {
    if (mode_ == LexerMode::kPython) {
      take(TokenKind::kString, python_string_end(quote));
    } else if (quote > at_ && text_[quote - 1] == 'R' && text_[quote] == '"') {
      take(TokenKind::kString, raw_string_end(quote));
    } else {
      take(text_[quote] == '"' ? TokenKind::kString : TokenKind::kChar, plain_string_end(quote));
    }
  }

  /// An unclosed one ends with its line, so that it hides nothing else.
  [[nodiscard]] std::size_t plain_string_end(std::size_t quote) const {
    for (std::size_t at = quote + 1; at < text_.size(); ++at) {
      if (text_[at] == '\\') {
        ++at;
      } else if (text_[at] == text_[quote]) {
        return at + 1;
      } else if (text_[at] == '\n') {
        return at;
      }
    }
    return text_.size();
  }

  [[nodiscard]] std::size_t raw_string_end(std::size_t quote) const {
    constexpr std::size_t kDelimiterMax = 16;
    const std::size_t open = text_.find('(', quote);
    if (open == std::string_view::npos || open - quote - 1 > kDelimiterMax) {
      return plain_string_end(quote);
    }
    std::string close = ")";
    close += text_.substr(quote + 1, open - quote - 1);
    close += '"';
    const std::size_t end = text_.find(close, open);
    return end == std::string_view::npos ? plain_string_end(quote) : end + close.size();
  }

  [[nodiscard]] std::size_t python_string_end(std::size_t quote) const {
    const std::string triple(3, text_[quote]);
    if (text_.substr(quote, 3) != triple) {
      return plain_string_end(quote);
    }
    for (std::size_t at = quote + 3; at < text_.size(); ++at) {
      if (text_[at] == '\\') {
        ++at;
      } else if (text_.substr(at, 3) == triple) {
        return at + 3;
      }
    }
    return text_.size();
  }

  [[nodiscard]] std::size_t number_end() const {
    std::size_t end = at_ + 1;
    while (end < text_.size()) {
      const char c = text_[end];
      const char before = text_[end - 1];
      const bool is_exponent_sign =
          (c == '+' || c == '-') && (before == 'e' || before == 'E' || before == 'p');
      const bool is_separator =
          c == '\'' && end + 1 < text_.size() && continues_name(text_[end + 1]);
      if (!continues_name(c) && c != '.' && !is_exponent_sign && !is_separator) {
        break;
      }
      ++end;
    }
    return end;
  }

  [[nodiscard]] std::size_t operator_length() const {
    for (const std::string_view candidate : kOperators) {
      if (text_.substr(at_, candidate.size()) == candidate) {
        return candidate.size();
      }
    }
    return 1;
  }

  std::string_view text_;
  LexerMode mode_;
  std::size_t offset_;
  std::uint32_t line_;
  std::size_t at_ = 0;
  bool line_begins_ = true;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> lex(std::string_view text, LexerMode mode, std::size_t offset, int line) {
  return Lexer(text, mode, offset, line).run();
}

Tokens::Tokens(std::string_view text, std::vector<Token> tokens)
    : text_(text), tokens_(std::move(tokens)), matches_(tokens_.size(), 0) {
  std::fill(matches_.begin(), matches_.end(), static_cast<std::uint32_t>(tokens_.size()));
  std::vector<std::size_t> open;
  const auto opener_of = [](char c) { return c == ')' ? '(' : c == ']' ? '[' : '{'; };
  for (std::size_t index = 0; index < tokens_.size(); ++index) {
    if (tokens_[index].kind != TokenKind::kPunct ||
        tokens_[index].end != tokens_[index].begin + 1) {
      continue;
    }
    const char c = text_[tokens_[index].begin];
    if (c == '(' || c == '[' || c == '{') {
      open.push_back(index);
    } else if (c == ')' || c == ']' || c == '}') {
      const auto is_partner = [&](std::size_t candidate) {
        const char o = text_[tokens_[candidate].begin];
        return o == opener_of(c) || (o == '{' && c != '}');
      };
      const auto found = std::find_if(open.rbegin(), open.rend(), is_partner);
      if (found != open.rend() && text_[tokens_[*found].begin] == opener_of(c)) {
        matches_[*found] = static_cast<std::uint32_t>(index);
        open.erase(std::prev(found.base()), open.end());
      }
    }
  }
}

std::string_view Tokens::text(std::size_t index) const {
  return index < size() ? text(tokens_[index]) : std::string_view{};
}

std::size_t Tokens::at_or_after(std::size_t offset) const {
  const auto found =
      std::lower_bound(tokens_.begin(), tokens_.end(), offset,
                       [](const Token& token, std::size_t value) { return token.begin < value; });
  return static_cast<std::size_t>(found - tokens_.begin());
}

std::size_t Tokens::match_angle(std::size_t open) const {
  constexpr std::size_t kTokensMax = 400;
  int depth = 0;
  for (std::size_t index = open; index < size() && index - open < kTokensMax; ++index) {
    const std::string_view word = text(index);
    if (tokens_[index].kind != TokenKind::kPunct) {
      continue;
    }
    if (word == "(" || word == "[" || word == "{") {
      index = match(index);
    } else if (word == "<") {
      ++depth;
    } else if (word == ">" && --depth == 0) {
      return index;
    } else if (word == ";" || word == ")" || word == "}" || word == "]" || word == "||" ||
               (word == "&&" && index > open && is_name(index + 1) && text(index - 1) == ")")) {
      return size();
    }
  }
  return size();
}

std::vector<Token> code_tokens(std::span<const Token> tokens) {
  std::vector<Token> code;
  code.reserve(tokens.size());
  std::copy_if(tokens.begin(), tokens.end(), std::back_inserter(code), [](const Token& token) {
    return token.kind != TokenKind::kComment && token.kind != TokenKind::kDirective;
  });
  return code;
}

std::string_view string_content(std::string_view token) {
  const std::size_t quote = token.find_first_of("\"'");
  if (quote == std::string_view::npos) {
    return token;
  }
  const bool is_raw = quote > 0 && token[quote - 1] == 'R' && token.find('(') != token.npos;
  if (is_raw) {
    const std::size_t open = token.find('(');
    const std::size_t close = token.rfind(')');
    return close > open && close != token.npos ? token.substr(open + 1, close - open - 1) : "";
  }
  token.remove_prefix(quote);
  const std::size_t width =
      token.size() >= 6 && token[1] == token[0] && token[2] == token[0] ? 3 : 1;
  return token.size() >= 2 * width ? token.substr(width, token.size() - 2 * width) : "";
}

}  // namespace crossdock::explore
