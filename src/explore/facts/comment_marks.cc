// SPDX-License-Identifier: Apache-2.0
// Code that stands in comments; see marks.h.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "explore/facts/marks.h"
#include "explore/parse/cpp_words.h"

namespace crossdock::explore {
namespace {

/// The callee of a comment line that is a statement: "barrier(x);", "auto n = f(a);".
/// Of "apply<f>(x);" both, the callee first.
std::vector<std::string> commented_calls(std::string_view line, bool is_python) {
  line = trimmed(line);
  while (!line.empty() && std::string_view("/*#!<").find(line.front()) != std::string_view::npos) {
    line = trimmed(line.substr(1));
  }
  if (line.ends_with("*/")) {
    line = trimmed(line.substr(0, line.size() - 2));
  }
  const LexerMode mode = is_python ? LexerMode::kPython : LexerMode::kCpp;
  const Tokens words(line, code_tokens(lex(line, mode)));
  const std::size_t count = words.size();
  if (count < 3 || (!is_python && words.text(count - 1) != ";")) {
    return {};
  }
  for (std::size_t index = 0; index + 1 < count; ++index) {
    if (!words.is_name(index)) {
      continue;
    }
    std::size_t open = index + 1;
    if (words.text(open) == "<") {
      const std::size_t close = words.match_angle(open);
      open = close < count ? close + 1 : open;
    }
    const bool closes = words.text(open) == "(" && words.match(open) < count;
    const std::string_view name = words.text(index);
    if (closes && !is_cpp_keyword(name) && name != "if" && name != "print") {
      // Prose has words side by side ("see f(x);"); a declaration has at most a few.
      const bool is_statement = index == 0 || !words.is_name(index - 1) || index == 1;
      const bool ends = !is_python || words.match(open) + 1 == count;
      std::vector<std::string> called = {std::string(name)};
      for (std::size_t at = index + 1; at < open; ++at) {
        if (words.is_name(at)) {
          called.emplace_back(words.text(at));
        }
      }
      return is_statement && ends ? called : std::vector<std::string>{};
    }
  }
  return {};
}

bool is_synchronising(const Rules& rules, std::string_view name) {
  const auto mechanism = rules.mechanism(name);
  return mechanism == Mechanism::kBarrier || mechanism == Mechanism::kFence ||
         mechanism == Mechanism::kFlagPoll;
}

}  // namespace

void mark_comments(const MarkContext& context) {
  const Project& project = context.project;
  for (std::size_t index = 0; index < project.files.size(); ++index) {
    const SourceFile& file = *project.files[index];
    for (const Token& token : file.tokens.all()) {
      if (token.kind != TokenKind::kComment) {
        continue;
      }
      const SourceText lines{std::string(file.tokens.text(token))};
      for (int line = 1; line <= lines.line_count(); ++line) {
        const std::vector<std::string> called = commented_calls(lines.line(line), file.is_python());
        const auto callee = std::find_if(called.begin(), called.end(), [&](const auto& name) {
          return is_synchronising(context.rules, name) || !context.symbols.functions(name).empty();
        });
        if (callee == called.end()) {
          continue;
        }
        const int at = static_cast<int>(token.line) + line - 1;
        const int function = project.function_at(static_cast<int>(index), token.begin);
        if (is_synchronising(context.rules, *callee)) {
          context.add("commented-out/barrier", function, static_cast<int>(index), {{at, at}},
                      fmt::format("suspect: {} stands in a comment", *callee));
        } else if (!context.symbols.functions(*callee).empty()) {
          context.add("commented-out/call", function, static_cast<int>(index), {{at, at}},
                      fmt::format("suspect: a call of {} stands in a comment", *callee),
                      context.symbols.functions(*callee));
        }
      }
    }
  }
}

}  // namespace crossdock::explore
