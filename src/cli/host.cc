// SPDX-License-Identifier: Apache-2.0
#include "cli/host.h"

#include <fmt/format.h>
#include <hwloc.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/bytes.h"
#include "crossdock/elastic_buffer.h"
#include "crossdock/status.h"
#include "fabric/shm/memory_check.h"

namespace crossdock::cli {
namespace {

struct DestroyTopology {
  void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, DestroyTopology>;

Topology load_topology() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) {
    return nullptr;
  }
  Topology topology(raw);
  if (hwloc_topology_load(raw) != 0) {
    return nullptr;
  }
  return topology;
}

int count_of(const Topology& topology, hwloc_obj_type_t type) {
  const int count = hwloc_get_nbobjs_by_type(topology.get(), type);
  return count > 0 ? count : 0;
}

void read_topology(HostInfo& host) {
  const Topology topology = load_topology();
  if (topology == nullptr) {
    return;
  }
  host.core_count = count_of(topology, HWLOC_OBJ_CORE);
  host.processor_count = count_of(topology, HWLOC_OBJ_PU);
  host.numa_node_count = count_of(topology, HWLOC_OBJ_NUMANODE);
  if (const hwloc_obj_t package = hwloc_get_obj_by_type(topology.get(), HWLOC_OBJ_PACKAGE, 0)) {
    const char* const model = hwloc_obj_get_info_by_name(package, "CPUModel");
    host.processor = model == nullptr ? "" : model;
  }
  constexpr std::array<std::pair<int, hwloc_obj_type_t>, 3> kLevels = {
      {{1, HWLOC_OBJ_L1CACHE}, {2, HWLOC_OBJ_L2CACHE}, {3, HWLOC_OBJ_L3CACHE}}};
  for (const auto& [level, type] : kLevels) {
    const hwloc_obj_t cache = hwloc_get_obj_by_type(topology.get(), type, 0);
    if (cache != nullptr) {
      host.caches.push_back(
          {.level = level, .bytes = cache->attr->cache.size, .count = count_of(topology, type)});
    }
  }
}

/// "always [madvise] never" -> "madvise".
std::string chosen_word(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  const std::size_t begin = line.find('[');
  const std::size_t end = line.find(']');
  if (begin == std::string::npos || end == std::string::npos || end < begin) {
    return "";
  }
  return line.substr(begin + 1, end - begin - 1);
}

}  // namespace

HostInfo read_host() {
  HostInfo host;
  read_topology(host);
  host.memory_bytes = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                      static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  utsname system{};
  if (uname(&system) == 0) {
    host.kernel = fmt::format("{} {} {}", system.sysname, system.release, system.machine);
  }
  cpu_set_t usable;
  if (sched_getaffinity(0, sizeof(usable), &usable) == 0) {
    host.usable_processor_count = CPU_COUNT(&usable);
  }
  const fabric::MemoryRoom room = fabric::memory_room();
  host.available_bytes = room.available_bytes;
  host.available_limit = room.limit;
  const std::string folder = "/sys/kernel/mm/transparent_hugepage/";
  host.huge_pages_shared = chosen_word(folder + "shmem_enabled");
  host.huge_pages_private = chosen_word(folder + "enabled");
  return host;
}

Status check_host_memory(const MemoryPlan& plan, int rank_count, std::uint64_t more_bytes) {
  const auto windows = checked_mul(plan.reserved_bytes, static_cast<std::uint64_t>(rank_count));
  const auto needed = windows ? checked_add(*windows, more_bytes) : std::nullopt;
  return fabric::check_memory(needed.value_or(std::numeric_limits<std::uint64_t>::max()),
                              fabric::memory_room());
}

}  // namespace crossdock::cli
