// SPDX-License-Identifier: Apache-2.0
// Reads a source tree that it cannot compile, and says what it understood: functions, calls with
// their certainty, where execution starts and what it reaches, parallel roles, stages, segments,
// synchronisation, memory, and what is suspicious or missing. Thread rule: one thread per call.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "crossdock/status.h"
#include "explore/model.h"
#include "explore/parse/ctags.h"
#include "explore/source/file_tree.h"

namespace crossdock::explore {

struct ExploreOptions {
  std::vector<std::string> paths = {};
  std::vector<std::string> roots = {};  // declared ones; empty: guess
  std::string overlay = {};             // path of a file with notes; empty: none
  std::string rules = {};    // path of a file that adds to the built-in rules; empty: none
  std::string command = {};  // for the provenance
  LoadLimits limits = {};
  Duration parse_time_max = std::chrono::seconds(20);  // of one file
  RunProgram run_git = {};                             // empty: the commit is not told
  RunProgram run_ctags = {};                           // empty: the third analyser is not asked
  std::string ctags_absent = "switched off";           // why run_ctags is empty
  std::function<void(std::string_view)> tell = {};     // progress
};

/// kInvalidArgument for a path, root, overlay or rules file that is not acceptable. What cannot be
/// read inside a tree is a warning of the result.
Result<std::unique_ptr<Project>> explore(const ExploreOptions& options);

}  // namespace crossdock::explore
