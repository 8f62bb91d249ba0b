// SPDX-License-Identifier: Apache-2.0
// Which source this is. Thread rule: as its RunProgram.
#pragma once

#include <string>

#include "explore/model.h"
#include "explore/parse/ctags.h"

namespace crossdock::explore {

/// Fills command, commit, dirty and sha256 of a project that has its files. Without `run_git`, or
/// outside a repository, commit and dirty stay unknown.
void set_provenance(Project& project, const std::string& command, const RunProgram& run_git);

/// Over the hashes and paths of all files, in order.
[[nodiscard]] std::string hash_of_files(const Project& project);

}  // namespace crossdock::explore
