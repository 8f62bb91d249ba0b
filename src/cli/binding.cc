// SPDX-License-Identifier: Apache-2.0
#include "cli/binding.h"

#include <fmt/format.h>
#include <hwloc.h>
#include <hwloc/glibc-sched.h>

#include <memory>
#include <utility>

#include "base/status_macros.h"

namespace crossdock::cli {
namespace {

struct TopologyDeleter {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, TopologyDeleter>;

Status failed(const char* what) {
  return Status(StatusKind::kUnsupported, Scope::kOperation,
                fmt::format("cannot bind ranks: {}; --bind none runs without", what));
}

Result<Topology> load_topology() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) {
    return failed("hwloc does not start");
  }
  Topology topology(raw);
  // The topology is then what this process may use, not what the machine has.
  constexpr auto kFlags =
      HWLOC_TOPOLOGY_FLAG_IS_THISSYSTEM | HWLOC_TOPOLOGY_FLAG_RESTRICT_TO_CPUBINDING;
  if (hwloc_topology_set_flags(raw, kFlags) != 0 || hwloc_topology_load(raw) != 0) {
    return failed("hwloc cannot read the machine's topology");
  }
  return topology;
}

Result<RankBinding> binding_to(hwloc_topology_t topology, hwloc_obj_t place, const char* name) {
  RankBinding bound{};
  if (hwloc_cpuset_to_glibc_sched_affinity(topology, place->cpuset, &bound.processors,
                                           sizeof(bound.processors)) != 0) {
    return failed("a processor's number is too large");
  }
  char processors[256] = "";
  hwloc_bitmap_list_snprintf(processors, sizeof(processors), place->cpuset);
  bound.text = fmt::format("{} {} (processors {})", name, place->logical_index, processors);
  return bound;
}

}  // namespace

Result<std::vector<RankBinding>> make_bindings(Binding binding, int rank_count) {
  std::vector<RankBinding> bindings;
  if (binding == Binding::kNone) {
    return bindings;
  }
  CROSSDOCK_ASSIGN_OR_RETURN(const Topology topology, load_topology());
  const bool by_node = binding == Binding::kNuma;
  const auto type = by_node ? HWLOC_OBJ_NUMANODE : HWLOC_OBJ_CORE;
  const int place_count = hwloc_get_nbobjs_by_type(topology.get(), type);
  if (binding == Binding::kAuto && rank_count > place_count) {
    return bindings;
  }
  if (place_count < 1) {
    return failed(by_node ? "hwloc sees no NUMA node" : "hwloc sees no core");
  }
  for (int rank = 0; rank < rank_count; ++rank) {
    hwloc_obj_t place =
        hwloc_get_obj_by_type(topology.get(), type, static_cast<unsigned>(rank % place_count));
    CROSSDOCK_ASSIGN_OR_RETURN(auto bound,
                               binding_to(topology.get(), place, by_node ? "node" : "core"));
    bindings.push_back(std::move(bound));
  }
  return bindings;
}

}  // namespace crossdock::cli
