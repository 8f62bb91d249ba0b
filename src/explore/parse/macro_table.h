// SPDX-License-Identifier: Apache-2.0
// The macros of all files: what they mention, and which make functions. Thread rule: read-only
// after its construction.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "explore/model.h"

namespace crossdock::explore {

struct MacroInfo {
  int file = kNone;
  int line = 0;
  const Macro* macro = nullptr;
  std::vector<std::string> names;          // that its body mentions, each once
  std::vector<std::string> called;         // those before a '('
  std::string execution;                   // of a qualifier in its body, or empty
  bool has_body = false;                   // it contains braces, too
  std::vector<std::string> function_name;  // parts of "name##_impl" before a parameter list
};

class MacroTable {
 public:
  MacroTable(const Project& project, const Rules& rules);

  /// Those that a use in `file` on `line` can mean: of the same file the last one before it, else
  /// all of that name.
  [[nodiscard]] std::vector<const MacroInfo*> find(std::string_view name, int file, int line) const;

  /// "kernel", "device" or "host" when some macro of that name stands for such a qualifier.
  [[nodiscard]] std::string_view execution(std::string_view name) const;

 private:
  std::map<std::string, std::vector<MacroInfo>, std::less<>> macros_;
};

/// The name of the function that `name(arguments)` makes, or nothing when it makes none.
[[nodiscard]] std::optional<std::string> made_function(const MacroInfo& macro,
                                                       std::span<const std::string> arguments);

}  // namespace crossdock::explore
