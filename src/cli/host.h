// SPDX-License-Identifier: Apache-2.0
// What this machine is, as far as it matters here.
// Thread rule: any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "crossdock/elastic_buffer.h"
#include "crossdock/status.h"

namespace crossdock::cli {

struct CacheInfo {
  int level = 0;
  std::uint64_t bytes = 0;  // of one
  int count = 0;
};

struct HostInfo {
  std::string processor;  // "AMD EPYC"
  std::string kernel;     // "Linux 6.1.0 x86_64"
  int core_count = 0;
  int processor_count = 0;  // hardware threads
  int usable_processor_count = 0;
  int numa_node_count = 0;
  std::vector<CacheInfo> caches;  // data and unified, by level
  std::uint64_t memory_bytes = 0;
  std::uint64_t available_bytes = 0;
  std::string available_limit;     // what says so
  std::string huge_pages_shared;   // the chosen word of shmem_enabled: "advise"
  std::string huge_pages_private;  // that of transparent_hugepage/enabled
};

/// Unknown values stay zero or empty.
[[nodiscard]] HostInfo read_host();

/// What the ranks would refuse together, in one line before any of them is started: kNoMemory when
/// `rank_count` windows of `plan` and `more_bytes` are more than this host has.
Status check_host_memory(const MemoryPlan& plan, int rank_count, std::uint64_t more_bytes);

}  // namespace crossdock::cli
