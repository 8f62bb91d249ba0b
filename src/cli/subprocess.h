// SPDX-License-Identifier: Apache-2.0
// Another program's output, with a deadline.
// Thread rule: one at a time.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "crossdock/status.h"

namespace crossdock::cli {

struct Captured {
  int exit_code = 0;  // 128 + signal when one ended it
  std::string out;    // stdout; stderr goes to ours
};

/// argv[0] is looked up in PATH. kIo when it cannot be started, kTimeout (it is killed with its
/// children) when it takes longer, kCapacity when it writes more than 64 MiB.
Result<Captured> run_captured(const std::vector<std::string>& argv, Duration timeout);

/// The first executable file of that name in PATH, or "".
[[nodiscard]] std::string find_in_path(const std::string& name);

}  // namespace crossdock::cli
