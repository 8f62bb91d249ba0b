// SPDX-License-Identifier: Apache-2.0
// Runs the peers (bench/peers) with the shape, routing and seed of a benchmark.
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/bench_options.h"
#include "crossdock/status.h"

namespace crossdock::cli {

enum class PeerKind : std::uint8_t { kMpiAllToAll, kMpiAllGather, kGlooAllToAll, kOpenMp };

/// A peer that was asked for: where it is, or why it cannot be run.
struct PeerPlan {
  PeerKind kind = PeerKind::kMpiAllToAll;
  std::string program;
  std::string absent_because;  // empty: it can be run
};
/// "mpi_alltoallv", as in the JSON.
[[nodiscard]] std::string peer_name(PeerKind kind);
/// "MPI_Alltoallv + permute", for people.
[[nodiscard]] std::string peer_title(PeerKind kind);

struct PeerRun {
  PeerKind kind = PeerKind::kMpiAllToAll;
  int algorithm = 0;  // Open MPI's coll_tuned_alltoallv_algorithm
  std::vector<double> times_us;
  std::vector<double> counts_us;  // parts: means over the ranks
  std::vector<double> permute_us;
  std::vector<double> exchange_us;
  bool verified = false;
};

/// The MPI all-to-all first. With PeerChoice::kMpi its absence is an error.
Result<std::vector<PeerPlan>> plan_peers(const BenchOptions& options);

/// One run of all rounds. kIo and the like when its launcher fails.
Result<PeerRun> run_peer(const BenchOptions& options, const PeerPlan& plan, int algorithm);

/// What is tried in the first repetition; the best one stays.
[[nodiscard]] std::vector<int> peer_algorithms(PeerKind kind);

}  // namespace crossdock::cli
