// SPDX-License-Identifier: Apache-2.0
#include "explore/facts/statements.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "explore/parse/cpp_words.h"

namespace crossdock::explore {
namespace {

constexpr int kDepthMax = 64;

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

class CppReader {
 public:
  explicit CppReader(const Tokens& code) : code_(code) {}

  std::vector<Statement> block(std::size_t first, std::size_t last, int depth) {
    std::vector<Statement> statements;
    for (std::size_t at = first; at < last;) {
      Statement statement = one(at, last, depth);
      at = std::max(statement.last, at + 1);
      if (statement.last > statement.first) {
        statements.push_back(std::move(statement));
      }
    }
    return statements;
  }

 private:
  Statement one(std::size_t at, std::size_t last, int depth) {
    const std::string_view word = code_.text(at);
    if (depth > kDepthMax) {
      return simple(at, last);
    }
    if (word == "{") {
      Statement braces{StatementKind::kBlock, false, at, end_of(at, last), at + 1, {}};
      braces.children = block(at + 1, std::max(braces.last - 1, at + 1), depth + 1);
      return braces;
    }
    if (is_control_word(word)) {
      return control(at, last, depth, false);
    }
    if (word == "else") {
      return code_.text(at + 1) == "if" ? control(at, last, depth, true)
                                        : with_body(StatementKind::kGuard, at, at + 1, last, depth);
    }
    if (word == "do") {
      return do_loop(at, last, depth);
    }
    const std::size_t after_macro =
        looks_like_macro(word) && code_.text(at + 1) == "(" ? end_of(at + 1, last) : last;
    if (after_macro < last && code_.text(after_macro) == "{") {
      return with_body(StatementKind::kLoop, at, after_macro, last, depth);  // FOR_EACH(x) {...}
    }
    if (word == "try") {
      return with_body(StatementKind::kBlock, at, at + 1, last, depth);
    }
    return simple(at, last);
  }

  [[nodiscard]] std::size_t end_of(std::size_t open, std::size_t last) const {
    return std::min(code_.match(open) + 1, last);
  }

  Statement control(std::size_t at, std::size_t last, int depth, bool is_else) {
    const std::size_t word = is_else ? at + 1 : at;
    std::size_t open = word + 1;
    while (open < last && is_one_of(code_.text(open), {"constexpr", "consteval", "!"})) {
      ++open;
    }
    const std::size_t head = code_.text(open) == "(" ? end_of(open, last) : open;
    const bool is_loop = is_one_of(code_.text(word), {"for", "while"});
    Statement statement =
        with_body(is_loop ? StatementKind::kLoop : StatementKind::kGuard, at, head, last, depth);
    statement.is_else = is_else;
    return statement;
  }

  Statement with_body(StatementKind kind, std::size_t at, std::size_t head, std::size_t last,
                      int depth) {
    Statement statement{kind, code_.text(at) == "else", at, head, head, {}};
    if (head >= last || code_.text(head) == ";") {
      statement.last = std::min(head + 1, last);
      return statement;
    }
    if (code_.text(head) == "{") {
      statement.last = end_of(head, last);
      statement.children = block(head + 1, std::max(statement.last - 1, head + 1), depth + 1);
    } else {
      statement.children.push_back(one(head, last, depth + 1));
      statement.last = std::max(statement.children.back().last, head + 1);
    }
    return statement;
  }

  Statement do_loop(std::size_t at, std::size_t last, int depth) {
    Statement statement = with_body(StatementKind::kLoop, at, at + 1, last, depth);
    if (code_.text(statement.last) == "while") {
      std::size_t end = end_of(statement.last + 1, last);
      end += code_.text(end) == ";" ? 1 : 0;
      statement.last = std::min(end, last);
    }
    return statement;
  }

  /// Up to its ';'. A control word ends it, too: before it stood a macro without one.
  Statement simple(std::size_t at, std::size_t last) {
    const bool is_exit = is_one_of(code_.text(at), {"return", "throw", "co_return", "goto"});
    Statement statement{
        is_exit ? StatementKind::kExit : StatementKind::kSimple, false, at, at, at, {}};
    const bool is_label = is_one_of(code_.text(at), {"case", "default"});
    std::size_t index = at;
    while (index < last) {
      const std::string_view word = code_.text(index);
      if (word == ";" || (is_label && word == ":")) {
        ++index;
        break;
      }
      const bool begins_another =
          index > at && (is_control_word(word) || is_one_of(word, {"do", "return", "case"})) &&
          !is_one_of(code_.text(index - 1), {"::", ".", "->"});
      if (begins_another) {
        break;
      }
      index =
          is_one_of(word, {"(", "[", "{"}) ? std::max(end_of(index, last), index + 1) : index + 1;
    }
    statement.last = statement.head_last = std::min(std::max(index, at + 1), last);
    return statement;
  }

  const Tokens& code_;
};

class PythonReader {
 public:
  PythonReader(const SourceFile& file, std::size_t last)
      : text_(file.text), code_(file.code), last_(last) {}

  /// Statements from `at` on that are indented as the first of them; `at` ends behind them.
  std::vector<Statement> block(std::size_t& at, int depth) {
    std::vector<Statement> statements;
    const std::size_t indent = at < last_ ? column(at) : 0;
    while (at < last_ && column(at) >= indent) {
      Statement statement = one(at, depth);
      at = statement.last;
      statements.push_back(std::move(statement));
    }
    return statements;
  }

 private:
  [[nodiscard]] std::size_t column(std::size_t token) const {
    return code_[token].begin - text_.line_begin(static_cast<int>(code_[token].line));
  }

  /// The end of the logical line: brackets join lines.
  [[nodiscard]] std::size_t line_end(std::size_t at) const {
    std::size_t index = at;
    std::uint32_t line = code_[at].line;
    while (index < last_ && code_[index].line == line) {
      const std::string_view word = code_.text(index);
      if (is_one_of(word, {"(", "[", "{"}) && code_.match(index) < last_) {
        index = code_.match(index);
        line = code_[index].line;
      } else if (code_[index].kind == TokenKind::kString) {
        line = static_cast<std::uint32_t>(text_.line_at(code_[index].end - 1));
      }
      ++index;
    }
    return std::max(index, at + 1);
  }

  Statement one(std::size_t at, int depth) {
    const std::string_view word = code_.text(at);
    const std::size_t head = std::min(line_end(at), last_);
    Statement statement{StatementKind::kSimple, false, at, head, head, {}};
    if (is_one_of(word, {"for", "while"})) {
      statement.kind = StatementKind::kLoop;
    } else if (is_one_of(word, {"if", "elif", "else", "except"})) {
      statement.kind = StatementKind::kGuard;
      statement.is_else = word != "if";
    } else if (is_one_of(word, {"return", "raise"})) {
      statement.kind = StatementKind::kExit;
    } else if (is_one_of(word, {"with", "try", "finally", "async"})) {
      statement.kind = StatementKind::kBlock;
    }
    const bool opens = code_.text(head - 1) == ":" && head < last_ && column(head) > column(at);
    if (opens && depth < kDepthMax) {
      std::size_t next = head;
      statement.children = block(next, depth + 1);
      statement.last = next;
    } else if (opens) {
      while (statement.last < last_ && column(statement.last) > column(at)) {
        statement.last = line_end(statement.last);
      }
    }
    return statement;
  }

  const SourceText& text_;
  const Tokens& code_;
  std::size_t last_;
};

}  // namespace

std::vector<Statement> read_statements(const SourceFile& file, const Function& function) {
  const std::size_t last = std::min(function.last_token, file.code.size());
  std::size_t first = function.first_token;
  if (file.is_python()) {
    return PythonReader(file, last).block(first, 0);
  }
  if (file.code.text(first) == "try") {
    ++first;
  }
  if (file.code.text(first) != "{" || last <= first) {
    return {};
  }
  const std::size_t end = file.code.text(last - 1) == "}" ? last - 1 : last;
  return CppReader(file.code).block(first + 1, std::max(end, first + 1), 0);
}

}  // namespace crossdock::explore
