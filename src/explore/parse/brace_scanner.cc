// SPDX-License-Identifier: Apache-2.0
#include "explore/parse/brace_scanner.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "explore/parse/cpp_words.h"

namespace crossdock::explore {
namespace {

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

class CppScanner {
 public:
  explicit CppScanner(const Tokens& code) : code_(code) {}

  Inventory run() {
    std::size_t index = 0;
    begin_ = 0;
    while (index < code_.size()) {
      const std::string_view word = code_.text(index);
      if (word == "{") {
        index = enter_brace(index);
      } else if (word == "}") {
        leave_brace();
        begin_ = ++index;
      } else if (word == ";") {
        begin_ = ++index;
      } else if (word == "(" || word == "[") {
        const std::size_t close = code_.match(index);
        index = close < code_.size() ? close + 1 : index + 1;
      } else if (is_access_label(index)) {
        begin_ = index = index + 2;
      } else {
        ++index;
      }
    }
    return std::move(out_);
  }

 private:
  struct Scope {
    std::string name;
    bool is_class = false;
    bool is_unnamed_namespace = false;
  };

  [[nodiscard]] bool is_access_label(std::size_t index) const {
    return code_.text(index + 1) == ":" &&
           is_one_of(code_.text(index), {"public", "private", "protected"});
  }

  /// What the statement since begin_ opens with the brace at `open`. Returns where to go on.
  std::size_t enter_brace(std::size_t open) {
    std::size_t head = begin_;
    while (code_.text(head) == "template" && code_.text(head + 1) == "<") {
      const std::size_t close = code_.match_angle(head + 1);
      head = close < open ? close + 1 : head + 2;
    }
    const std::optional<Scope> scope = scope_of(head, open);
    if (scope.has_value()) {
      scopes_.push_back(*scope);
      begin_ = open + 1;
      return open + 1;
    }
    const std::optional<std::size_t> parameters = find_parameters(head, open);
    if (parameters.has_value()) {
      const std::size_t body = body_of(*parameters, open);
      if (body < code_.size()) {
        return add_function(head, *parameters, body);
      }
    }
    const std::size_t close = code_.match(open);  // An initialiser, an enumeration, ...
    return close < code_.size() ? close + 1 : open + 1;
  }

  [[nodiscard]] std::optional<Scope> scope_of(std::size_t head, std::size_t open) const {
    for (std::size_t index = head; index < open; ++index) {
      const std::string_view word = code_.text(index);
      if (word == "(" || word == "=") {
        return std::nullopt;
      }
      if (word == "[" || word == "<") {
        const std::size_t close = word == "[" ? code_.match(index) : code_.match_angle(index);
        index = close < open ? close : index;
      } else if (word == "namespace") {
        return namespace_scope(index + 1, open);
      } else if (word == "extern" && index + 2 == open) {
        return Scope{};
      } else if (word == "enum") {
        return std::nullopt;
      } else if (is_one_of(word, {"class", "struct", "union"})) {
        return class_scope(index + 1, open);
      }
    }
    return std::nullopt;
  }

  [[nodiscard]] Scope namespace_scope(std::size_t index, std::size_t open) const {
    std::string name;
    for (; index < open; ++index) {
      name += code_.text(index) == "inline" ? std::string_view{} : code_.text(index);
    }
    return {name, false, name.empty()};
  }

  [[nodiscard]] Scope class_scope(std::size_t index, std::size_t open) const {
    std::string name;
    for (; index < open; ++index) {
      const std::string_view word = code_.text(index);
      if (word == ":" || word == "final") {
        break;
      }
      if (word == "<") {
        const std::size_t close = code_.match_angle(index);
        index = close < open ? close : index;
      } else if (word == "[" || word == "(") {
        const std::size_t close = code_.match(index);
        index = close < open ? close : index;
      } else if (code_.is_name(index)) {
        name = code_.text(index - 1) == "::" ? name + "::" + std::string(word) : word;
      }
    }
    return {name, true, false};
  }

  /// The '(' of a parameter list: the first at the top that has a name before it.
  [[nodiscard]] std::optional<std::size_t> find_parameters(std::size_t head,
                                                           std::size_t open) const {
    for (std::size_t index = head; index < open; ++index) {
      const std::string_view word = code_.text(index);
      if (word == "=" && code_.text(index - 1) != "operator") {
        return std::nullopt;
      }
      if (word == "operator") {
        return operator_parameters(index, open);
      }
      if (word == "[") {
        index = std::min(code_.match(index), open);
      } else if (word == "<" && index > head && code_.is_name(index - 1)) {
        const std::size_t close = code_.match_angle(index);
        index = close < open && code_.text(close + 1) != "(" ? close : index;
      } else if (word == "(") {
        const std::string_view before = index > head ? code_.text(index - 1) : std::string_view{};
        const bool is_name = index > head && code_.is_name(index - 1) && !is_cpp_keyword(before);
        if (is_name || before == ">") {
          return index;
        }
        if (is_control_word(before)) {
          return std::nullopt;
        }
        index = std::min(code_.match(index), open);
      }
    }
    return std::nullopt;
  }

  [[nodiscard]] std::optional<std::size_t> operator_parameters(std::size_t index,
                                                               std::size_t open) const {
    std::size_t at = index + 1;
    if (code_.text(at) == "(" && code_.text(at + 1) == ")") {
      at += 2;
    }
    while (at < open && code_.text(at) != "(") {
      ++at;
    }
    return at < open ? std::optional(at) : std::nullopt;
  }

  /// The brace of the body: braces of a constructor's initialisers come before it.
  [[nodiscard]] std::size_t body_of(std::size_t parameters, std::size_t open) const {
    std::size_t index = code_.match(parameters) + 1;
    bool in_initialisers = false;
    for (; index < code_.size(); ++index) {
      const std::string_view word = code_.text(index);
      if (word == ";" || word == "}" || (word == "=" && !in_initialisers)) {
        return code_.size();
      }
      if (word == ":") {
        in_initialisers = true;
      } else if (word == "(" || word == "[") {
        index = std::min(code_.match(index), code_.size());
      } else if (word == "{") {
        const bool is_initialiser =
            in_initialisers && (code_.is_name(index - 1) || code_.text(index - 1) == ">");
        if (!is_initialiser) {
          return index >= open ? index : code_.size();
        }
        index = std::min(code_.match(index), code_.size());
      }
    }
    return code_.size();
  }

  std::size_t add_function(std::size_t head, std::size_t parameters, std::size_t body) {
    const std::size_t close = code_.match(body);
    const std::size_t end = std::min(close, code_.size() - 1);
    FoundFunction found;
    std::size_t name = name_begin(head, parameters);
    found.name_at = {code_[name].begin, code_[parameters - 1].end};
    for (std::size_t index = name; index < parameters; ++index) {
      const bool is_type =
          found.name.starts_with("operator") && code_.is_name(index) && found.name.size() > 8;
      found.name +=
          (index > name && (is_type || code_.is_name(index)) && found.name.starts_with("operator"))
              ? " " + std::string(code_.text(index))
              : std::string(code_.text(index));
    }
    if (const std::size_t angle = found.name.find('<');
        angle != std::string::npos && !found.name.starts_with("operator")) {
      found.name.resize(angle);
    }
    std::string own_scope;
    while (name > head + 1 && code_.text(name - 1) == "::" && code_.is_name(name - 2)) {
      own_scope = std::string(code_.text(name - 2)) + (own_scope.empty() ? "" : "::") + own_scope;
      name -= 2;
    }
    const bool in_class = !scopes_.empty() && scopes_.back().is_class;
    found.kind = in_class || !own_scope.empty() ? FunctionKind::kMember : FunctionKind::kFunction;
    found.scope = joined_scope(own_scope);
    found.is_internal = std::any_of(scopes_.begin(), scopes_.end(),
                                    [](const Scope& scope) { return scope.is_unnamed_namespace; });
    found.is_template = code_.text(begin_) == "template";
    found.whole = {code_[begin_].begin, code_[end].end};
    found.parameters = {code_[parameters].begin, code_[code_.match(parameters)].end};
    found.body = {code_[body].begin, code_[end].end};
    for (std::size_t index = head; index < name; ++index) {
      found.return_type += std::string(code_.text(index)) + " ";
    }
    out_.functions.push_back(std::move(found));
    begin_ = end + 1;
    return end + 1;
  }

  /// Of "f", "~T", "operator+=" or "f<int>" before the '(' at `parameters`.
  [[nodiscard]] std::size_t name_begin(std::size_t head, std::size_t parameters) const {
    for (std::size_t index = head; index < parameters; ++index) {
      if (code_.text(index) == "operator") {
        return index;
      }
    }
    std::size_t name = parameters - 1;
    if (code_.text(name) == ">") {
      int depth = 0;
      while (name > head) {
        depth += code_.text(name) == ">" ? 1 : code_.text(name) == "<" ? -1 : 0;
        --name;
        if (depth == 0) {
          break;
        }
      }
    }
    return name > head && code_.text(name - 1) == "~" ? name - 1 : name;
  }

  [[nodiscard]] std::string joined_scope(const std::string& own) const {
    std::string joined;
    const auto add = [&](const std::string& part) {
      joined += (joined.empty() || part.empty() ? "" : "::") + part;
    };
    for (const Scope& scope : scopes_) {
      add(scope.name);
    }
    add(own);
    return joined;
  }

  void leave_brace() {
    if (!scopes_.empty()) {
      scopes_.pop_back();
    }
  }

  const Tokens& code_;
  Inventory out_;
  std::vector<Scope> scopes_;
  std::size_t begin_ = 0;
};

}  // namespace

Inventory scan_cpp(const Tokens& code) { return CppScanner(code).run(); }

Inventory scan_python(const SourceText& text, const Tokens& code) {
  struct Open {
    int indent;
    std::string name;
    bool is_class;
  };
  Inventory out;
  std::vector<Open> open;
  for (std::size_t index = 0; index + 1 < code.size(); ++index) {
    const bool begins_line = index == 0 || code[index - 1].line < code[index].line;
    const bool is_async = code.text(index) == "async" && code.text(index + 1) == "def";
    const std::size_t at = is_async ? index + 1 : index;
    const std::string_view word = code.text(at);
    if (!begins_line || (word != "def" && word != "class") || !code.is_name(at + 1)) {
      continue;
    }
    const int line = static_cast<int>(code[index].line);
    const int indent = static_cast<int>(code[index].begin - text.line_begin(line));
    while (!open.empty() && open.back().indent >= indent) {
      open.pop_back();
    }
    if (word == "def") {
      FoundFunction found;
      found.name = code.text(at + 1);
      found.name_at = code[at + 1].bytes();
      for (const Open& outer : open) {
        found.scope += (found.scope.empty() ? "" : ".") + outer.name;
      }
      const bool in_class = !open.empty() && open.back().is_class;
      found.kind = in_class ? FunctionKind::kMember : FunctionKind::kFunction;
      out.functions.push_back(std::move(found));
    }
    open.push_back({indent, std::string(code.text(at + 1)), word == "class"});
  }
  return out;
}

}  // namespace crossdock::explore
