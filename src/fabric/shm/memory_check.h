// SPDX-License-Identifier: Apache-2.0
// How much memory this host can still give, before any of it is touched: an over-commit would let
// the kernel kill bystanders.
#pragma once

#include <cstdint>
#include <string>

#include "crossdock/status.h"

namespace crossdock::fabric {

struct MemoryRoom {
  std::uint64_t available_bytes = 0;
  std::string limit;  // the tightest one: "MemAvailable" or the cgroup file that says so
};

/// The smallest of MemAvailable and every memory limit of this process's cgroups (v1 and v2, up to
/// the root), page cache that can be dropped counted as available. Roots are parameters for tests.
[[nodiscard]] MemoryRoom memory_room(const std::string& proc_root = "/proc",
                                     const std::string& cgroup_root = "/sys/fs/cgroup");

/// kNoMemory with needed, available and which limit; ok otherwise.
Status check_memory(std::uint64_t needed_bytes, const MemoryRoom& room);

}  // namespace crossdock::fabric
