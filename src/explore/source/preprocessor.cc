// SPDX-License-Identifier: Apache-2.0
#include "explore/source/preprocessor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace crossdock::explore {
namespace {

struct Directive {
  std::string_view word;  // "if", "define", ...
  ByteRange rest;         // what follows the word
};

constexpr std::string_view kBlank = " \t\v\f\\\n";

Directive split(std::string_view text, const Token& token) {
  std::size_t at = token.begin + 1;
  at = std::min<std::size_t>(text.find_first_not_of(kBlank, at), token.end);
  std::size_t end = at;
  while (end < token.end && ((text[end] >= 'a' && text[end] <= 'z') || text[end] == '_')) {
    ++end;
  }
  return {text.substr(at, end - at), {end, token.end}};
}

/// A condition on one line, without comments and continuations.
std::string condition_text(std::string_view text) {
  std::string out;
  for (const Token& token : code_tokens(lex(text, LexerMode::kCpp))) {
    if (!out.empty() && token.begin > 0 && kBlank.find(text[token.begin - 1]) != kBlank.npos) {
      out += ' ';
    }
    out += text.substr(token.begin, token.end - token.begin);
  }
  return out;
}

class Reader {
 public:
  Reader(const SourceText& text, const Tokens& tokens) : text_(text), tokens_(tokens) {}

  Preprocessed run() {
    for (std::size_t index = 0; index < tokens_.size(); ++index) {
      if (tokens_[index].kind == TokenKind::kDirective) {
        read(tokens_[index]);
      }
    }
    close_region(text_.line_count());
    for (Open& open : stack_) {
      out_.unbalanced.push_back(open.line);
      end_branch(open, text_.size());
      out_.groups.push_back(std::move(open.group));
    }
    return std::move(out_);
  }

 private:
  struct Open {
    ConditionalGroup group;
    int line = 0;
    bool always_taken = false;  // by a branch "#if 1": the later ones never are
  };

  void read(const Token& token) {
    const Directive directive = split(text_.view(), token);
    const std::string_view rest =
        text_.view().substr(directive.rest.begin, directive.rest.end - directive.rest.begin);
    if (directive.word == "define") {
      define(token, directive.rest);
    } else if (directive.word == "if" || directive.word == "ifdef" || directive.word == "ifndef") {
      change_branch(token, [&] {
        const std::string condition = condition_text(rest);
        stack_.push_back({.group = {}, .line = static_cast<int>(token.line)});
        begin_branch(token, directive.word == "if"      ? condition
                            : directive.word == "ifdef" ? fmt::format("defined({})", condition)
                                                        : fmt::format("!defined({})", condition));
      });
    } else if (directive.word.starts_with("el") || directive.word == "endif") {
      if (stack_.empty()) {
        out_.unbalanced.push_back(static_cast<int>(token.line));
        return;
      }
      change_branch(token, [&] { next_branch(token, directive.word, condition_text(rest)); });
    }
  }

  template <typename Change>
  void change_branch(const Token& token, const Change& change) {
    close_region(static_cast<int>(token.line));
    change();
    region_first_ = text_.line_at(token.end > token.begin ? token.end - 1 : token.begin) + 1;
  }

  void next_branch(const Token& token, std::string_view word, const std::string& condition) {
    Open& open = stack_.back();
    std::string negated;
    for (const ConditionalBranch& branch : open.group.branches) {
      const std::size_t own = branch.condition.rfind(") && (");
      const std::string last =
          own == std::string::npos
              ? branch.condition
              : branch.condition.substr(own + 6, branch.condition.size() - own - 7);
      negated += (negated.empty() ? "" : " && ") + fmt::format("!({})", last);
    }
    end_branch(open, token.begin);
    if (word == "endif") {
      out_.groups.push_back(std::move(open.group));
      stack_.pop_back();
    } else if (word == "else") {
      begin_branch(token, negated);
    } else {
      const std::string own = word == "elifdef"    ? fmt::format("defined({})", condition)
                              : word == "elifndef" ? fmt::format("!defined({})", condition)
                                                   : condition;
      begin_branch(token, fmt::format("{} && ({})", negated, own));
    }
  }

  void begin_branch(const Token& token, std::string condition) {
    Open& open = stack_.back();
    const bool never = open.always_taken || condition == "0" || condition == "false";
    open.always_taken = open.always_taken || condition == "1" || condition == "true";
    open.group.branches.push_back({std::move(condition), never, {token.end, token.end}});
  }

  static void end_branch(Open& open, std::size_t end) {
    if (!open.group.branches.empty()) {
      open.group.branches.back().bytes.end = end;
    }
  }

  /// The lines since the last directive, up to the one before `line`.
  void close_region(int line) {
    if (stack_.empty() || line - 1 < region_first_) {
      return;
    }
    ConditionedLines region{{region_first_, line - 1}, {}, false};
    for (const Open& open : stack_) {
      region.conditions.push_back(open.group.branches.back().condition);
      region.never = region.never || open.group.branches.back().never;
    }
    out_.regions.push_back(std::move(region));
  }

  void define(const Token& token, ByteRange rest) {
    const Tokens words(text_.view(),
                       lex(text_.view().substr(rest.begin, rest.end - rest.begin), LexerMode::kCpp,
                           rest.begin, static_cast<int>(token.line)));
    if (!words.is_name(0)) {
      return;
    }
    Macro macro;
    macro.name = words.text(0);
    macro.line = static_cast<int>(token.line);
    macro.body = {words[0].end, rest.end};
    macro.is_function_like = words.text(1) == "(" && words[1].begin == words[0].end;
    if (macro.is_function_like) {
      const std::size_t close = words.match(1);
      for (std::size_t index = 2; index < close; ++index) {
        if (words.is_name(index) || words.text(index) == "...") {
          macro.parameters.emplace_back(words.text(index));
        }
      }
      macro.body.begin = close < words.size() ? words[close].end : rest.end;
    }
    out_.macros.push_back(std::move(macro));
  }

  const SourceText& text_;
  const Tokens& tokens_;
  Preprocessed out_;
  std::vector<Open> stack_;
  int region_first_ = 1;
};

}  // namespace

const ConditionedLines* Preprocessed::at(int line) const {
  const auto after = std::upper_bound(
      regions.begin(), regions.end(), line,
      [](int value, const ConditionedLines& region) { return value < region.lines.first; });
  if (after == regions.begin() || !std::prev(after)->lines.contains(line)) {
    return nullptr;
  }
  return &*std::prev(after);
}

Preprocessed read_directives(const SourceText& text, const Tokens& tokens) {
  return Reader(text, tokens).run();
}

}  // namespace crossdock::explore
