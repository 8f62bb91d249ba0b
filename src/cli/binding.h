// SPDX-License-Identifier: Apache-2.0
// Which processors each rank of this host may use.
#pragma once

#include <sched.h>

#include <string>
#include <vector>

#include "cli/launch.h"
#include "crossdock/status.h"

namespace crossdock::cli {

struct RankBinding {
  cpu_set_t processors;
  std::string text;  // "core 3 (processors 3,7)"
};

/// [rank], or nothing when ranks are not to be bound. Only processors that this process may use
/// (cpuset of its container, its own affinity) are given out.
Result<std::vector<RankBinding>> make_bindings(Binding binding, int rank_count);

}  // namespace crossdock::cli
