// SPDX-License-Identifier: Apache-2.0
#include "explore/source/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/parse.h"
#include "base/status_macros.h"
#include "explore/source/text.h"

namespace crossdock::explore {
namespace {

constexpr std::array<MechanismInfo, kMechanismCount> kMechanisms = {{
    {"straight", "straight", "control", "statements without a known mechanism"},
    {"barrier", "barrier", "sync", "all participants arrive before one goes on"},
    {"doorbell", "doorbell", "control", "tells the engine that work requests are ready"},
    {"flag_write", "flag write", "sync", "publishes a flag, signal or count that others wait for"},
    {"flag_poll", "flag poll", "sync", "waits until a flag, signal or count has a value"},
    {"work_request", "work request", "control", "writes a request that an engine executes"},
    {"fence", "fence", "sync", "orders earlier memory operations before later ones"},
    {"reserve", "reserve", "control", "claims slots with an atomic addition"},
    {"prefix_sum", "prefix sum", "control", "turns counts into offsets"},
    {"copy", "copy", "data", "moves payload from one space to another"},
    {"launch", "launch", "control", "starts a kernel"},
    {"register", "register", "control", "makes memory known to a device or to peers"},
    {"allocate", "allocate", "control", "obtains memory"},
    {"reduce", "reduce", "data", "combines values of several owners"},
    {"scan", "scan", "control", "searches tokens or routes one by one"},
    {"loop", "loop", "control", "repeats"},
    {"guard", "guard", "control", "chooses whether the lines below it run"},
    {"exit", "exit", "control", "leaves the function"},
    {"call", "call", "control", "hands over to another function of the tree"},
}};

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// `pattern` is lower case; '*' stands for any text.
bool matches(std::string_view pattern, std::string_view word) {
  std::size_t at = 0;
  std::size_t in = 0;
  std::size_t star = std::string_view::npos;
  std::size_t retry = 0;
  while (in < word.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = at++;
      retry = in;
    } else if (at < pattern.size() && pattern[at] == lower(word[in])) {
      ++at;
      ++in;
    } else if (star != std::string_view::npos) {
      at = star + 1;
      in = ++retry;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', at) == std::string_view::npos;
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  while (!(line = trimmed(line)).empty()) {
    const std::size_t end = std::min(line.find_first_of(" \t"), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
  return words;
}

constexpr std::string_view kForms = "mask, execution, mechanism, axis, space, engine";

bool is_allowed_value(std::string_view table, std::string_view value) {
  const auto is_one_of = [&](std::initializer_list<std::string_view> allowed) {
    return std::find(allowed.begin(), allowed.end(), value) != allowed.end();
  };
  if (table == "mask") {
    return is_one_of({"word", "call", "statement"});
  }
  if (table == "execution") {
    return is_one_of({"kernel", "device", "host"});
  }
  if (table == "axis") {
    return is_one_of({"core", "block", "warp", "thread", "rank"});
  }
  if (table == "space") {
    return is_one_of({"global", "window", "shared", "local"});
  }
  return table == "mechanism" ? mechanism_named(value).has_value() : true;
}

}  // namespace

const MechanismInfo& info(Mechanism mechanism) {
  return kMechanisms.at(static_cast<std::size_t>(mechanism));
}

std::optional<Mechanism> mechanism_named(std::string_view name) {
  for (int index = 0; index < kMechanismCount; ++index) {
    if (kMechanisms.at(static_cast<std::size_t>(index)).name == name) {
      return static_cast<Mechanism>(index);
    }
  }
  return std::nullopt;
}

std::string_view Rules::find(const Table& table, std::string_view word) {
  for (auto entry = table.rbegin(); entry != table.rend(); ++entry) {
    if (entry->is_glob ? matches(entry->pattern, word) : entry->pattern == word) {
      return entry->value;
    }
  }
  return {};
}

std::optional<MaskForm> Rules::mask(std::string_view word) const {
  const std::string_view form = find(masks_, word);
  if (form.empty()) {
    return std::nullopt;
  }
  return form == "word" ? MaskForm::kWord : form == "call" ? MaskForm::kCall : MaskForm::kStatement;
}

std::string_view Rules::execution(std::string_view word) const { return find(executions_, word); }

std::optional<Mechanism> Rules::mechanism(std::string_view callee) const {
  const std::string_view name = find(mechanisms_, callee);
  return name.empty() ? std::nullopt : mechanism_named(name);
}

std::string_view Rules::axis(std::string_view name) const { return find(axes_, name); }
std::string_view Rules::space(std::string_view word) const { return find(spaces_, word); }
std::string_view Rules::engine(std::string_view callee) const { return find(engines_, callee); }

Rules::Table* Rules::table_named(std::string_view name) {
  if (name == "mask") {
    return &masks_;
  }
  if (name == "execution") {
    return &executions_;
  }
  if (name == "mechanism") {
    return &mechanisms_;
  }
  if (name == "axis") {
    return &axes_;
  }
  if (name == "space") {
    return &spaces_;
  }
  return name == "engine" ? &engines_ : nullptr;
}

Status Rules::add_line(std::string_view line, std::string_view where) {
  const std::vector<std::string_view> words = words_of(line);
  if (words.empty() || words[0].starts_with('#')) {
    return {};
  }
  const auto refused = [&](std::string_view what, std::string_view allowed) {
    return Status(StatusKind::kInvalidArgument, Scope::kOperation,
                  fmt::format("{}: {}; allowed: {}", where, what, allowed));
  };
  Table* const table = table_named(words[0]);
  if (table == nullptr) {
    return refused("unknown rule " + quote(words[0]), kForms);
  }
  if (words.size() < 3) {
    return refused("a rule without names: " + quote(line), "RULE VALUE NAME...");
  }
  if (!is_allowed_value(words[0], words[1])) {
    return refused(fmt::format("{} is no value of {}", quote(words[1]), words[0]),
                   "see rules/default.rules");
  }
  for (std::size_t index = 2; index < words.size(); ++index) {
    Entry entry{std::string(words[index]), std::string(words[1])};
    entry.is_glob = entry.pattern.find('*') != std::string::npos;
    if (entry.is_glob) {
      std::transform(entry.pattern.begin(), entry.pattern.end(), entry.pattern.begin(), lower);
    }
    table->push_back(std::move(entry));
  }
  return {};
}

Status Rules::add(std::string_view text, std::string_view path) {
  const SourceText lines{std::string(text)};
  for (int line = 1; line <= lines.line_count(); ++line) {
    CROSSDOCK_RETURN_IF_ERROR(add_line(lines.line(line), fmt::format("{}:{}", quote(path), line)));
  }
  return {};
}

const Rules& default_rules() {
  static const Rules rules = [] {
    Rules built_in;
    const Status status = built_in.add(default_rules_text(), "default.rules");
    CROSSDOCK_CHECK(status.ok(), "{}", status.to_string());
    return built_in;
  }();
  return rules;
}

}  // namespace crossdock::explore
