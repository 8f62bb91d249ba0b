// SPDX-License-Identifier: Apache-2.0
#include "explore/graph/call_sites.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "explore/graph/declared_names.h"
#include "explore/parse/cpp_words.h"

namespace crossdock::explore {
namespace {

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool launch_at(const SourceFile& file, std::size_t token, std::size_t& end) {
  if (file.code.text(token) != "<<<") {
    return false;
  }
  const std::vector<Masked>& masked = file.masked.masked;
  const std::size_t begin = file.code[token].begin;
  const auto found = std::lower_bound(
      masked.begin(), masked.end(), begin,
      [](const Masked& entry, std::size_t value) { return entry.bytes.begin < value; });
  if (found == masked.end() || found->bytes.begin != begin || found->kind != MaskKind::kLaunch) {
    return false;
  }
  end = found->bytes.end;
  return true;
}

class Finder {
 public:
  Finder(const SourceFile& file, const std::function<bool(std::string_view)>& is_function_name,
         const std::function<void(const CallSite&)>& visit)
      : file_(file), code_(file.code), is_function_name_(is_function_name), visit_(visit) {}

  void run() {
    for (std::size_t index = 0; index < code_.size(); ++index) {
      if (file_.owners[index] == kNone || !code_.is_name(index) || is_keyword(index)) {
        continue;
      }
      const std::size_t next = after_callee(file_, index);
      if (declares_object(index, next)) {
        add_object(index, next);
      } else if (code_.text(next) == "(" && is_call(index, next)) {
        add(index, next);
      } else if (file_.is_cpp() && code_.text(next) == "{" && code_.text(index + 1) != "=" &&
                 is_function_name_(code_.text(index)) && !is_definition(index)) {
        add(index, next);  // T{...}
      } else if (is_function_name_(code_.text(index)) && is_value(index, next)) {
        add_value(index);
      }
    }
  }

 private:
  [[nodiscard]] bool is_keyword(std::size_t index) const {
    return file_.is_python() ? is_python_keyword(code_.text(index))
                             : is_cpp_keyword(code_.text(index));
  }

  [[nodiscard]] bool is_definition(std::size_t index) const {
    return index > 0 && is_one_of(code_.text(index - 1),
                                  {"class", "struct", "union", "enum", "namespace", ">", ")"});
  }

  [[nodiscard]] bool grammar_saw(std::size_t index) const {
    const auto& calls = file_.inventory.calls;
    const std::size_t begin = code_[index].begin;
    const auto found = std::lower_bound(
        calls.begin(), calls.end(), begin,
        [](const FoundCall& call, std::size_t value) { return call.name_at.begin < value; });
    return found != calls.end() && found->name_at.begin == begin;
  }

  /// The grammar's word counts; where it saw no call, a name and '(' are one unless the name is
  /// being declared, or is the function's own.
  [[nodiscard]] bool is_call(std::size_t index, std::size_t open) const {
    if (index > 0 && (code_.text(index - 1) == "def" || code_.text(index - 1) == "class")) {
      return false;
    }
    if (grammar_saw(index) || file_.is_python()) {
      return grammar_saw(index);
    }
    const std::string_view before = index > 0 ? code_.text(index - 1) : std::string_view{};
    if (before == "new" || code_.text(index + 1) == "<<<") {
      return true;
    }
    if (cpp_declaration_at(code_, index).is_declared || before == "~" || before == "#") {
      return false;
    }
    if (code_.is_name(index - 1) && !comes_before_expression(before)) {
      return false;
    }
    const bool is_own_name = code_.text(code_.match(open) + 1) == "{" && before != "=";
    return !is_own_name || is_one_of(before, {".", "->"});
  }

  [[nodiscard]] CallSite describe(std::size_t index) const {
    CallSite site;
    site.function = file_.owners[index];
    site.token = index;
    std::size_t at = index;
    while (at >= 2 && code_.text(at - 1) == "::") {
      std::size_t part = at - 2;
      if (code_.text(part) == ">") {
        int depth = 0;
        for (; part > 0; --part) {
          depth += code_.text(part) == ">" ? 1 : code_.text(part) == "<" ? -1 : 0;
          if (depth == 0) {
            --part;
            break;
          }
        }
      }
      if (!code_.is_name(part)) {
        break;
      }
      site.qualifier =
          std::string(code_.text(part)) + (site.qualifier.empty() ? "" : "::") + site.qualifier;
      at = part;
    }
    if (at >= 1 && is_one_of(code_.text(at - 1), {".", "->"})) {
      set_receiver(site, at - 1);
    }
    return site;
  }

  void set_receiver(CallSite& site, std::size_t dot) const {
    site.receiver = Receiver::kObject;
    std::size_t at = dot;
    while (at >= 1 && is_one_of(code_.text(at), {".", "->"}) && code_.is_name(at - 1)) {
      const std::string part(code_.text(at - 1));
      if (site.object.empty()) {
        site.object = part;
      }
      site.chain = part + (site.chain.empty() ? "" : ".") + site.chain;
      at = at >= 2 ? at - 2 : 0;
    }
    if (site.chain == "this" || site.chain == "self") {
      site.receiver = Receiver::kThis;
    }
  }

  void add(std::size_t index, std::size_t open) {
    CallSite site = describe(index);
    site.is_parsed = grammar_saw(index);
    const bool is_launch = code_.text(open - 1) == ">" && launches(index, open);
    site.form = is_launch ? EdgeForm::kLaunch : EdgeForm::kCall;
    const auto arguments = split_arguments(code_, open);
    const bool has_pack = std::any_of(arguments.begin(), arguments.end(), [&](TokenRange part) {
      return code_.text(part.last - 1) == "..." || code_.text(part.first) == "*" ||
             code_.text(part.first) == "**";
    });
    site.argument_count =
        has_pack || code_.match(open) >= code_.size() ? -1 : static_cast<int>(arguments.size());
    visit_(site);
  }

  /// "T x;", "T<int> x(a);", "T x{a};": runs a constructor.
  [[nodiscard]] bool declares_object(std::size_t index, std::size_t next) const {
    const bool fits = file_.is_cpp() && code_.is_name(next) && !is_keyword(next) &&
                      is_one_of(code_.text(next + 1), {";", "(", "{"}) &&
                      is_function_name_(code_.text(index));
    if (!fits) {
      return false;
    }
    std::size_t first = index;
    while (first >= 2 && code_.text(first - 1) == "::" && code_.is_name(first - 2)) {
      first -= 2;
    }
    return first == 0 || is_one_of(code_.text(first - 1),
                                   {";", "{", "}", ")", ":", "const", "static", "constexpr"});
  }

  void add_object(std::size_t index, std::size_t name) {
    CallSite site = describe(index);
    site.form = EdgeForm::kConstruct;
    const bool has_arguments = code_.text(name + 1) != ";";
    site.argument_count =
        has_arguments ? static_cast<int>(split_arguments(code_, name + 1).size()) : 0;
    visit_(site);
  }

  [[nodiscard]] bool launches(std::size_t index, std::size_t open) const {
    for (std::size_t at = index + 1; at < open; ++at) {
      if (code_.text(at) == "<<<") {
        return true;
      }
    }
    return false;
  }

  /// "&f", "f" alone between commas and brackets, "= f;".
  [[nodiscard]] bool is_value(std::size_t index, std::size_t next) const {
    std::size_t first = index;
    while (first >= 2 && code_.text(first - 1) == "::" && code_.is_name(first - 2)) {
      first -= 2;
    }
    const std::string_view before = first > 0 ? code_.text(first - 1) : std::string_view{};
    const std::string_view after = code_.text(next);
    if (!is_one_of(after, {",", ")", ">", ";", "}", ":", "]"}) || is_one_of(before, {".", "->"})) {
      return file_.is_python() && before == "." && is_one_of(after, {",", ")"});
    }
    if (before == "&") {
      return first >= 2 && is_one_of(code_.text(first - 2), {"(", ",", "=", "{", "return", "<"});
    }
    return is_one_of(before, {"(", ",", "=", "{", "<", "return", "?", ":"});
  }

  void add_value(std::size_t index) {
    CallSite site = describe(index);
    site.form = in_template_call(index) ? EdgeForm::kTemplateCall : EdgeForm::kPointer;
    visit_(site);
  }

  /// "apply<f>(...)": an argument of a template that is called.
  [[nodiscard]] bool in_template_call(std::size_t index) const {
    constexpr std::size_t kTokensMax = 40;
    for (std::size_t open = index; open-- > 0 && index - open < kTokensMax;) {
      const std::string_view word = code_.text(open);
      if (is_one_of(word, {";", "{", "}", "("})) {
        return false;
      }
      if (word == "<" && open > 0 && code_.is_name(open - 1)) {
        const std::size_t close = code_.match_angle(open);
        return close < code_.size() && close > index && code_.text(close + 1) == "(";
      }
    }
    return false;
  }

  const SourceFile& file_;
  const Tokens& code_;
  const std::function<bool(std::string_view)>& is_function_name_;
  const std::function<void(const CallSite&)>& visit_;
};

}  // namespace

std::size_t after_callee(const SourceFile& file, std::size_t name) {
  std::size_t next = name + 1;
  if (file.is_python()) {
    return next;
  }
  if (file.code.text(next) == "<") {
    const std::size_t close = file.code.match_angle(next);
    if (close < file.code.size() &&
        (file.code.is_name(close + 1) ||
         is_one_of(file.code.text(close + 1), {"(", "<<<", "{", ",", ")", ">", ";"}))) {
      next = close + 1;
    }
  }
  std::size_t end = 0;
  if (launch_at(file, next, end)) {
    next = file.code.at_or_after(end);
  }
  return next;
}

void find_call_sites(const SourceFile& file,
                     const std::function<bool(std::string_view)>& is_function_name,
                     const std::function<void(const CallSite&)>& visit) {
  Finder(file, is_function_name, visit).run();
}

}  // namespace crossdock::explore
