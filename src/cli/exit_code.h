// SPDX-License-Identifier: Apache-2.0
// What the program's exit code says. `launch` alone passes on the code of the ranks it ran.
#pragma once

#include "crossdock/status.h"

namespace crossdock::cli {

enum ExitCode : int {
  kExitOk = 0,
  kExitFailedCheck = 1,  // it ran, and what came out is wrong
  kExitUsage = 2,        // the command line, or a file that it names, is not acceptable
  kExitOperating = 3,    // the system or a peer failed
};

/// kUsage for the caller's own values, kOperating for everything else, kOk for no error.
[[nodiscard]] inline ExitCode exit_code(const Status& status) {
  switch (status.kind()) {
    case StatusKind::kOk:
      return kExitOk;
    case StatusKind::kInvalidArgument:
    case StatusKind::kCapacity:
      return kExitUsage;
    default:
      return kExitOperating;
  }
}

}  // namespace crossdock::cli
