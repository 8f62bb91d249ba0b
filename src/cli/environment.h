// SPDX-License-Identifier: Apache-2.0
// Whether somebody already started the ranks: `crossdock launch`, torchrun or the like.
#pragma once

#include "base/settings.h"

namespace crossdock::cli {

[[nodiscard]] inline bool is_rank_of_a_job() {
  return settings().launched || settings().size > 0 ||
         (environment_variable("RANK") && environment_variable("WORLD_SIZE"));
}

}  // namespace crossdock::cli
