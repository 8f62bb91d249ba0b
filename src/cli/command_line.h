// SPDX-License-Identifier: Apache-2.0
// Options of the program's commands: parsed strictly, independent of the locale, and every error
// one line that names the option, quotes the value and says what is allowed. Thread rule: the main
// thread, before anything runs.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/parse.h"
#include "crossdock/status.h"

namespace crossdock::cli {

/// What the chosen command does once the whole line was understood; returns an ExitCode.
using Action = std::function<int()>;

/// What a command gets from the line and gives back to main().
struct CommandContext {
  std::vector<std::string> arguments;     // without the program's name
  std::vector<std::string> after_dashes;  // what followed a "--"; those are not in `arguments`
  Action chosen;
};

/// The exit code of a command that came to `result`; an error is printed as one line. A rank of a
/// job says which one it is.
int finish(std::string_view command, const Result<int>& result);

struct IntegerOption {
  std::string_view name;  // "--ranks" or "-n,--ranks"
  std::string_view help;
  Range<std::int64_t> range;
};
/// `into` holds the default, which --help shows.
CLI::Option* add_integer(CLI::App& app, const IntegerOption& option, std::int64_t& into);

struct ChoiceOption {
  std::string_view name;
  std::string_view help;
  std::vector<std::string_view> allowed;
};
CLI::Option* add_choice(CLI::App& app, const ChoiceOption& option, std::string& into);

/// Any text that is not empty.
CLI::Option* add_text(CLI::App& app, const std::string& name, const std::string& help,
                      std::string& into);

/// `what` failed for an option: thrown to the parser, which ends with one line and kExitUsage.
[[noreturn]] void refuse(const std::string& name, const std::string& what);

}  // namespace crossdock::cli
