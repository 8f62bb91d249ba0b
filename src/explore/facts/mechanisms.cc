// SPDX-License-Identifier: Apache-2.0
#include "explore/facts/mechanisms.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "explore/graph/call_sites.h"
#include "explore/parse/cpp_words.h"

namespace crossdock::explore {
namespace {

bool has_word(const Tokens& code, std::size_t first, std::size_t last, std::string_view part) {
  for (std::size_t index = first; index < last && index < code.size(); ++index) {
    if (code.text(index).find(part) != std::string_view::npos) {
      return true;
    }
  }
  return false;
}

/// Atomics of the standard library say by their order what they are for.
std::optional<Mechanism> of_atomic(const Tokens& code, std::size_t name, std::size_t open) {
  const std::string_view word = code.text(name);
  const std::size_t close = code.match(open);
  const bool is_member = name > 0 && (code.text(name - 1) == "." || code.text(name - 1) == "->");
  if (!is_member || close >= code.size()) {
    return std::nullopt;
  }
  if (word == "store" &&
      (has_word(code, open, close, "release") || has_word(code, open, close, "seq_cst"))) {
    return Mechanism::kFlagWrite;
  }
  if (word == "load" && has_word(code, open, close, "acquire")) {
    return Mechanism::kFlagPoll;
  }
  return std::nullopt;
}

}  // namespace

std::vector<MechanismAt> find_mechanisms(const Project& project, const SourceFile& file,
                                         const Rules& rules, const Symbols& symbols) {
  std::vector<MechanismAt> found;
  std::map<std::string_view, std::optional<Mechanism>> known;
  for (std::size_t index = 0; index < file.code.size(); ++index) {
    const std::string_view word = file.code.text(index);
    const bool is_keyword = file.is_python() ? is_python_keyword(word) : is_cpp_keyword(word);
    if (file.owners[index] == kNone || !file.code.is_name(index) || is_keyword) {
      continue;
    }
    const Function& owner = project.function(file.owners[index]);
    if (owner.found.name_at.begin == file.code[index].begin) {
      continue;
    }
    const std::size_t open = after_callee(file, index);
    if (file.code.text(open) != "(" || file.code.text(index - 1) == "def") {
      continue;
    }
    std::optional<Mechanism> mechanism = of_atomic(file.code, index, open);
    if (!mechanism.has_value() && file.code.text(open - 1) == ">" &&
        has_word(file.code, index, open, "<<<")) {
      mechanism = Mechanism::kLaunch;
    }
    if (!mechanism.has_value()) {
      const auto [entry, is_new] = known.try_emplace(word);
      if (is_new) {
        entry->second = rules.mechanism(word);
        if (!entry->second.has_value() && !symbols.functions(word).empty()) {
          entry->second = Mechanism::kCall;
        }
      }
      mechanism = entry->second;
    }
    if (mechanism.has_value()) {
      found.push_back({index, *mechanism});
    }
  }
  return found;
}

}  // namespace crossdock::explore
