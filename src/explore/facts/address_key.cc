// SPDX-License-Identifier: Apache-2.0
#include "explore/facts/address_key.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "explore/graph/call_sites.h"
#include "explore/graph/declared_names.h"
#include "explore/parse/cpp_words.h"

namespace crossdock::explore {
namespace {

constexpr int kDepthMax = 4;

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// Helpers that say nothing about what they address.
bool is_generic(std::string_view name) {
  return is_one_of(name, {"buffer", "data", "get", "ptr", "at", "advance_ptr", "shift_ptr", "base",
                          "GetPhyAddr", "get_ptr", "address", "offset", "ref", "atomic_ref"});
}

bool is_cast(std::string_view word) {
  return is_one_of(word, {"reinterpret_cast", "static_cast", "const_cast", "bit_cast"});
}

class Keys {
 public:
  Keys(const SourceFile& file, const Function& function)
      : file_(file), code_(file.code), function_(function) {}

  [[nodiscard]] std::string of(TokenRange range, int depth) const {
    std::string member;
    for (std::size_t index = range.first; index < range.last; ++index) {
      const std::string_view word = code_.text(index);
      if (is_cast(word)) {
        const std::size_t open = after_callee(file_, index);
        return of({open + 1, std::min(code_.match(open), range.last)}, depth + 1);
      }
      if (word == "(" && index == range.first) {
        return of({index + 1, std::min(code_.match(index), range.last)}, depth + 1);
      }
      if (!code_.is_name(index) || is_cpp_keyword(word)) {
        if (is_one_of(word, {"+", "-", ",", "["}) && !member.empty()) {
          break;
        }
        continue;
      }
      const std::size_t open = after_callee(file_, index);
      if (code_.text(open) == "(" && open < range.last) {
        const auto arguments = split_arguments(code_, open);
        if (looks_like_macro(word) && !arguments.empty() && depth < kDepthMax) {
          return of(arguments.back(), depth + 1);  // CAST_TO(type, address)
        }
        if (!is_generic(word)) {
          return std::string(word);
        }
        return member.empty() ? first_argument(open, range, depth) : member;
      }
      if (code_.text(index + 1) != "::") {
        member = word;
      }
    }
    const std::optional<TokenRange> initialiser = initialiser_of(member);
    if (initialiser.has_value() && depth < kDepthMax) {
      const std::string key = of(*initialiser, depth + 1);
      return key.empty() ? member : key;
    }
    return member;
  }

 private:
  [[nodiscard]] std::string first_argument(std::size_t open, TokenRange range, int depth) const {
    const auto arguments = split_arguments(code_, open);
    if (arguments.empty() || depth >= kDepthMax) {
      return std::string(code_.text(range.first));
    }
    return of(arguments[0], depth + 1);
  }

  /// What a local variable of the function starts as.
  [[nodiscard]] std::optional<TokenRange> initialiser_of(std::string_view name) const {
    for (std::size_t index = function_.first_token; index < function_.last_token; ++index) {
      if (code_.text(index) != name || code_.text(index + 1) != "=" ||
          !cpp_declaration_at(code_, index).is_declared) {
        continue;
      }
      std::size_t end = index + 2;
      while (end < function_.last_token && code_.text(end) != ";" && code_.text(end) != ",") {
        const bool is_bracket = is_one_of(code_.text(end), {"(", "[", "{"});
        end = is_bracket ? std::max(code_.match(end), end) + 1 : end + 1;
      }
      return TokenRange{index + 2, std::min(end, function_.last_token)};
    }
    return std::nullopt;
  }

  const SourceFile& file_;
  const Tokens& code_;
  const Function& function_;
};

}  // namespace

std::string address_key(const SourceFile& file, const Function& function, TokenRange expression) {
  return Keys(file, function).of(expression, 0);
}

}  // namespace crossdock::explore
