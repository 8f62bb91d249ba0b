// SPDX-License-Identifier: Apache-2.0
#include "cli/command_line.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/parse.h"
#include "cli/console.h"
#include "cli/exit_code.h"
#include "crossdock/status.h"

namespace crossdock::cli {
namespace {

/// The long name of "-n,--ranks".
std::string long_name(std::string_view names) {
  const std::size_t comma = names.rfind(',');
  return std::string(comma == std::string_view::npos ? names : names.substr(comma + 1));
}

template <typename T>
T value_or_refuse(const std::string& name, Result<T> result) {
  if (!result.ok()) {
    refuse(name, std::string(result.status().message()));
  }
  return std::move(result).value();
}

}  // namespace

void refuse(const std::string& name, const std::string& what) {
  throw CLI::ValidationError(name, what);
}

int finish(std::string_view command, const Result<int>& result) {
  if (result.ok()) {
    return *result;
  }
  const Status status = result.status();
  const std::string who = check_rank() >= 0 ? fmt::format("rank {}: ", check_rank()) : "";
  print_error(command, who + std::string(status.message()));
  return exit_code(status);
}

CLI::Option* add_integer(CLI::App& app, const IntegerOption& option, std::int64_t& into) {
  const auto store = [&into, name = long_name(option.name),
                      range = option.range](const std::string& text) {
    into = value_or_refuse(name, parse_int64(text, range));
  };
  return app
      .add_option_function<std::string>(std::string(option.name), store, std::string(option.help))
      ->type_name(fmt::format("INT {}..{}", option.range.min, option.range.max))
      ->default_str(fmt::format("{}", into));
}

CLI::Option* add_choice(CLI::App& app, const ChoiceOption& option, std::string& into) {
  const auto store = [&into, name = long_name(option.name),
                      allowed = option.allowed](const std::string& text) {
    into = allowed[value_or_refuse(name, parse_choice(text, allowed))];
  };
  return app
      .add_option_function<std::string>(std::string(option.name), store, std::string(option.help))
      ->type_name(fmt::format("{}", fmt::join(option.allowed, "|")))
      ->default_str(into);
}

CLI::Option* add_text(CLI::App& app, const std::string& name, const std::string& help,
                      std::string& into) {
  const auto store = [&into, name = long_name(name)](const std::string& text) {
    if (text.empty()) {
      refuse(name, "an empty text; allowed: a name");
    }
    into = text;
  };
  CLI::Option* const option =
      app.add_option_function<std::string>(name, store, help)->type_name("TEXT");
  if (!into.empty()) {
    option->default_str(into);
  }
  return option;
}

}  // namespace crossdock::cli
