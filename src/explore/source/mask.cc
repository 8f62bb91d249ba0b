// SPDX-License-Identifier: Apache-2.0
#include "explore/source/mask.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace crossdock::explore {
namespace {

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

class Masker {
 public:
  Masker(const SourceText& text, const Tokens& tokens, const Preprocessed& directives,
         const Rules& rules)
      : directives_(directives), rules_(rules), code_(text.view(), code_tokens(tokens.all())) {
    out_.text = text.view();
    for (const Token& token : tokens.all()) {
      if (token.kind == TokenKind::kDirective) {
        blank(token.bytes());
      }
    }
  }

  MaskedText run() {
    mask_branches();
    for (std::size_t index = 0; index < code_.size();) {
      index = std::max(index + 1, mask_at(index));
    }
    std::sort(out_.masked.begin(), out_.masked.end(),
              [](const Masked& a, const Masked& b) { return a.bytes.begin < b.bytes.begin; });
    return std::move(out_);
  }

 private:
  void blank(ByteRange bytes) {
    for (std::size_t at = bytes.begin; at < bytes.end; ++at) {
      if (out_.text[at] != '\n') {
        out_.text[at] = ' ';
      }
    }
  }
  void blank(MaskKind kind, ByteRange bytes) {
    blank(bytes);
    out_.masked.push_back({kind, bytes});
  }

  /// Two branches that open the same brace, or that both begin a statement which goes on after
  /// #endif, cannot stand one after the other: the first that may be compiled stays.
  void mask_branches() {
    for (const ConditionalGroup& group : directives_.groups) {
      const bool is_whole = std::all_of(group.branches.begin(), group.branches.end(),
                                        [&](const auto& branch) { return is_complete(branch); });
      if (group.branches.size() < 2 || is_whole) {
        continue;
      }
      const auto kept = std::find_if(group.branches.begin(), group.branches.end(),
                                     [](const auto& branch) { return !branch.never; });
      for (auto branch = group.branches.begin(); branch != group.branches.end(); ++branch) {
        if (branch != kept) {
          blank(MaskKind::kConditional, branch->bytes);
        }
      }
    }
  }

  [[nodiscard]] bool is_complete(const ConditionalBranch& branch) const {
    int depth = 0;
    const std::size_t first = code_.at_or_after(branch.bytes.begin);
    const std::size_t last = code_.at_or_after(branch.bytes.end);
    for (std::size_t index = first; index < last; ++index) {
      const std::string_view word = code_.text(index);
      depth += word == "{" || word == "(" ? 1 : word == "}" || word == ")" ? -1 : 0;
    }
    return first == last ||
           (depth == 0 && is_one_of(code_.text(last - 1), {";", "}", ",", ":", "&&", "||"})) ||
           (depth == 0 && looks_like_macro(code_.text(first)));
  }

  /// Masks what begins at `index`, and returns the first token after it.
  std::size_t mask_at(std::size_t index) {
    if (code_.text(index) == "<<<") {
      return mask_launch(index);
    }
    if (!code_.is_name(index)) {
      return index + 1;
    }
    if (const std::optional<MaskForm> form = rules_.mask(code_.text(index))) {
      return mask_word(index, *form);
    }
    if (looks_like_macro(code_.text(index)) && stands_bare(index)) {
      const std::size_t end = after_parentheses(index + 1);
      blank(MaskKind::kMacro, {code_[index].begin, code_[end - 1].end});
      return end;
    }
    return index + 1;
  }

  std::size_t mask_word(std::size_t index, MaskForm form) {
    std::size_t end = index + 1;
    MaskKind kind = MaskKind::kQualifier;
    if (form == MaskForm::kCall) {
      const bool is_assembly = code_.text(index).find("asm") != std::string_view::npos;
      kind = is_assembly ? MaskKind::kAssembly : MaskKind::kAttribute;
      while (is_one_of(code_.text(end), {"volatile", "__volatile__", "goto"})) {
        ++end;
      }
      end = after_parentheses(end);
    } else if (form == MaskForm::kStatement) {
      while (end < code_.size() && !is_one_of(code_.text(end), {";", "{", "}"})) {
        ++end;
      }
    }
    blank(kind, {code_[index].begin, code_[end - 1].end});
    return end;
  }

  [[nodiscard]] std::size_t after_parentheses(std::size_t open) const {
    if (code_.text(open) != "(") {
      return open;
    }
    const std::size_t close = code_.match(open);
    return close < code_.size() ? close + 1 : open;
  }

  std::size_t mask_launch(std::size_t open) {
    int depth = 0;
    for (std::size_t index = open + 1; index + 2 < code_.size(); ++index) {
      const std::string_view word = code_.text(index);
      depth += is_one_of(word, {"(", "[", "{"}) ? 1 : is_one_of(word, {")", "]", "}"}) ? -1 : 0;
      if (depth < 0 || word == ";") {
        break;
      }
      if (depth == 0 && word == ">" && code_.text(index + 1) == ">" &&
          code_.text(index + 2) == ">" && code_[index + 2].end == code_[index].begin + 3) {
        blank(MaskKind::kLaunch, {code_[open].begin, code_[index + 2].end});
        return index + 3;
      }
    }
    return open + 1;
  }

  /// A macro's name where a grammar expects none: a row of its own, before a declaration, after
  /// "class", or between a parameter list and its body.
  [[nodiscard]] bool stands_bare(std::size_t index) const {
    const std::string_view before = index == 0 ? ";" : code_.text(index - 1);
    const std::size_t end = after_parentheses(index + 1);
    const std::string_view after = code_.text(end);
    if (is_one_of(before, {"class", "struct"})) {
      return end == index + 1 && code_.is_name(end) && !is_one_of(after, {"final"});
    }
    if (before == ")" && (after == "{" || after == ";") && !is_control_head(index - 1)) {
      return true;
    }
    if (!is_one_of(before, {";", "{", "}", ">", ":"}) && !masked_before(index)) {
      return false;
    }
    if (end != index + 1) {  // A call alone on its line, without ';': the macro has it.
      return end < code_.size() && code_[end].line > code_[end - 1].line && code_.is_name(end);
    }
    const bool on_own_line = end >= code_.size() || code_[end].line > code_[index].line;
    if (after == "}" || end >= code_.size()) {
      return on_own_line;
    }
    const std::string_view second = code_.text(end + 1);
    if (!code_.is_name(end)) {
      return after == "[" && code_.text(end + 1) == "[";
    }
    return on_own_line ? !is_one_of(second, {"("}) || is_type_word(after)
                       : !is_one_of(second, {"(", ";", "=", ",", "[", "{", ")", ":"});
  }

  [[nodiscard]] static bool is_type_word(std::string_view word) {
    return is_one_of(word, {"void", "int", "bool", "auto", "static", "inline", "template", "if",
                            "for", "while", "return", "switch"});
  }

  /// "if (x) MACRO;": the macro is the statement.
  [[nodiscard]] bool is_control_head(std::size_t close) const {
    int depth = 0;
    for (std::size_t index = close + 1; index-- > 0;) {
      depth += code_.text(index) == ")" ? 1 : code_.text(index) == "(" ? -1 : 0;
      if (depth == 0) {
        return index > 0 &&
               is_one_of(code_.text(index - 1), {"if", "for", "while", "switch", "constexpr"});
      }
      if (close - index > kHeadTokensMax) {
        break;
      }
    }
    return false;
  }

  [[nodiscard]] bool masked_before(std::size_t index) const {
    return !out_.masked.empty() && index > 0 &&
           out_.masked.back().bytes.end == code_[index - 1].end;
  }

  static constexpr std::size_t kHeadTokensMax = 400;

  const Preprocessed& directives_;
  const Rules& rules_;
  Tokens code_;
  MaskedText out_;
};

}  // namespace

std::string_view to_string(MaskKind kind) {
  switch (kind) {
    case MaskKind::kQualifier:
      return "qualifier";
    case MaskKind::kAttribute:
      return "attribute";
    case MaskKind::kAssembly:
      return "asm";
    case MaskKind::kLaunch:
      return "launch";
    case MaskKind::kMacro:
      return "macro";
    case MaskKind::kConditional:
      return "conditional";
  }
  return "?";
}

bool looks_like_macro(std::string_view name) {
  bool has_letter = false;
  for (const char c : name) {
    const bool is_upper = c >= 'A' && c <= 'Z';
    if (!is_upper && c != '_' && !(c >= '0' && c <= '9')) {
      return false;
    }
    has_letter = has_letter || is_upper;
  }
  return has_letter && name.size() >= 3;
}

MaskedText mask(const SourceText& text, const Tokens& tokens, const Preprocessed& directives,
                const Rules& rules) {
  return Masker(text, tokens, directives, rules).run();
}

}  // namespace crossdock::explore
