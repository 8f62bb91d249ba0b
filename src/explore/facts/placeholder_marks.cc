// SPDX-License-Identifier: Apache-2.0
// Functions that only look as if they did something; see marks.h.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "explore/facts/marks.h"
#include "explore/facts/statements.h"

namespace crossdock::explore {
namespace {

constexpr int kFirstLines = 5;

bool contains_word(std::string_view text, std::string_view lower_word) {
  const auto equal = [](char a, char b) {
    return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
  };
  return std::search(text.begin(), text.end(), lower_word.begin(), lower_word.end(), equal) !=
         text.end();
}

bool says_not_implemented(std::string_view text) {
  constexpr std::array<std::string_view, 5> kWords = {"notimplemented", "not_implemented",
                                                      "not implemented", "unimplemented",
                                                      "not yet implemented"};
  return std::any_of(kWords.begin(), kWords.end(),
                     [&](std::string_view word) { return contains_word(text, word); });
}

class Body {
 public:
  Body(const SourceFile& file, const Function& function)
      : file_(file), code_(file.code), function_(function) {
    for (Statement& statement : read_statements(file, function)) {
      if (!is_docstring(statement) && text(statement) != ";" && text(statement) != "pass") {
        statements_.push_back(std::move(statement));
      }
    }
  }

  [[nodiscard]] bool is_empty() const { return statements_.empty(); }

  [[nodiscard]] bool returns_constant() const {
    if (statements_.size() != 1 || code_.text(statements_[0].first) != "return") {
      return false;
    }
    std::size_t first = statements_[0].first + 1;
    std::size_t last = statements_[0].last;
    last -= last > first && code_.text(last - 1) == ";" ? 1 : 0;
    first += code_.text(first) == "-" ? 1 : 0;
    return last == first + 1 ? is_constant(first)
                             : last == first + 2 && code_.text(first) == "{";  // {}
  }

  /// One of its own statements, not one in a branch.
  [[nodiscard]] const Statement* not_implemented() const {
    for (const Statement& statement : statements_) {
      const bool is_plain = statement.children.empty();
      const std::string words = text(statement);
      const bool fails = words.starts_with("throw") || words.starts_with("raise") ||
                         words.starts_with("assert(") || words.starts_with("assert ") ||
                         words.starts_with("static_assert") ||
                         looks_like_macro(code_.text(statement.first)) ||
                         contains_word(words, "abort(") || contains_word(words, "trap(") ||
                         contains_word(words, "unimplemented(");
      if (is_plain && fails && says_not_implemented(words)) {
        return &statement;
      }
      const bool stops = words.starts_with("assert(false") || words.starts_with("assert(0") ||
                         words.starts_with("__trap()") || words.starts_with("trap()") ||
                         words.starts_with("assert False");
      if (is_plain && stops && &statement == &statements_.front()) {
        return &statement;
      }
    }
    return nullptr;
  }

  /// "(void)x;" for all that it does, but for a constant at the end.
  [[nodiscard]] bool voids_arguments() const {
    std::size_t voided = 0;
    for (const Statement& statement : statements_) {
      const std::string words = text(statement);
      const bool is_last = &statement == &statements_.back();
      if (words.starts_with("(void)") || words.starts_with("static_cast<void>(") ||
          words.starts_with("UNUSED(") || words.starts_with("std::ignore =")) {
        ++voided;
      } else if (!is_last || statement.kind != StatementKind::kExit ||
                 statement.last > statement.first + 3) {
        return false;
      }
    }
    return voided > 0;
  }

  [[nodiscard]] LineRange lines(const Statement& statement) const {
    return file_.text.lines_of({code_[statement.first].begin, code_[statement.last - 1].end});
  }

 private:
  [[nodiscard]] std::string text(const Statement& statement) const {
    const ByteRange bytes{code_[statement.first].begin, code_[statement.last - 1].end};
    return one_line(file_.text.view().substr(bytes.begin, bytes.end - bytes.begin), 400);
  }

  [[nodiscard]] bool is_docstring(const Statement& statement) const {
    const bool is_string =
        code_[statement.first].kind == TokenKind::kString && statement.last == statement.first + 1;
    return file_.is_python() && (is_string || code_.text(statement.first) == "...");
  }

  [[nodiscard]] bool is_constant(std::size_t token) const {
    constexpr std::array<std::string_view, 7> kWords = {"true", "false", "nullptr", "NULL",
                                                        "True", "False", "None"};
    const TokenKind kind = code_[token].kind;
    return kind == TokenKind::kNumber || kind == TokenKind::kString || kind == TokenKind::kChar ||
           std::find(kWords.begin(), kWords.end(), code_.text(token)) != kWords.end();
  }

  const SourceFile& file_;
  const Tokens& code_;
  const Function& function_;
  std::vector<Statement> statements_;
};

/// A comment among the first lines that promises the rest. Its line, or 0.
int promised_line(const SourceFile& file, const Function& function) {
  constexpr std::array<std::string_view, 6> kWords = {
      "to"
      "do",
      "fix"
      "me",
      "placeholder",
      "not yet",
      "stub",
      "for now"};
  const int last = std::min(function.body_lines.first + kFirstLines, function.body_lines.last);
  for (std::size_t index = file.tokens.at_or_after(function.found.whole.begin);
       index < file.tokens.size(); ++index) {
    const Token& token = file.tokens[index];
    if (static_cast<int>(token.line) > last) {
      break;
    }
    if (token.kind != TokenKind::kComment) {
      continue;
    }
    for (const std::string_view word : kWords) {
      if (contains_word(file.tokens.text(token), word)) {
        return static_cast<int>(token.line);
      }
    }
  }
  return 0;
}

bool returns_nothing(const Function& function) {
  return trimmed(function.found.return_type).ends_with("void");
}

}  // namespace

void mark_placeholders(const MarkContext& context) {
  const Project& project = context.project;
  for (std::size_t index = 0; index < project.functions.size(); ++index) {
    const Function& function = project.functions[index];
    const SourceFile& file = project.file_of(function);
    const std::string_view scope = last_part(function.found.scope);
    const bool is_special = function.kind == FunctionKind::kLambda ||
                            function.kind == FunctionKind::kMacro || function.is_implicit ||
                            (!scope.empty() && function.name == scope);
    if (is_special) {
      continue;
    }
    const auto add = [&](std::string_view rule, LineRange lines, std::string_view what) {
      context.add(rule, static_cast<int>(index), function.file, {lines},
                  fmt::format("suspect: {} {}", function.name, what));
    };
    const Body body(file, function);
    if (body.is_empty()) {
      add("placeholder/empty", function.lines, "has an empty body");
    } else if (const Statement* const statement = body.not_implemented()) {
      add("placeholder/not-implemented", body.lines(*statement), "says that it is not implemented");
    } else if (body.voids_arguments()) {
      add("placeholder/arguments-voided", function.lines, "only voids its arguments");
    } else if (body.returns_constant() && !returns_nothing(function)) {
      add("placeholder/constant", function.lines, "only returns a constant");
    }
    if (const int line = promised_line(file, function); line > 0) {
      add("placeholder/later", {line, line}, "leaves work for later");
    }
  }
}

}  // namespace crossdock::explore
