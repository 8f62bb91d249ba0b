// SPDX-License-Identifier: Apache-2.0
// Third, optional analyser: Universal Ctags, run as a program. Thread rule: as its RunProgram.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "crossdock/status.h"

namespace crossdock::explore {

/// Runs argv and gives its stdout; an error when it cannot be started or its exit code is not 0.
using RunProgram = std::function<Result<std::string>(const std::vector<std::string>& argv)>;

struct CtagsFunction {
  std::string name;
  std::string scope;
  int line = 0;
};

/// By absolute path. `files` are absolute paths.
Result<std::map<std::string, std::vector<CtagsFunction>>> run_ctags(
    const RunProgram& run, const std::vector<std::string>& files);

}  // namespace crossdock::explore
