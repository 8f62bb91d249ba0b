// SPDX-License-Identifier: Apache-2.0
// Runs the MPI_Alltoallv peer (bench/peers) with the shape and seed of a benchmark.
// Thread rule: one thread.
#pragma once

#include <string>
#include <vector>

#include "cli/bench_options.h"
#include "crossdock/status.h"

namespace crossdock::cli {

struct PeerRun {
  int algorithm = 0;  // Open MPI's coll_tuned_alltoallv_algorithm
  std::vector<double> times_us;
  std::vector<double> counts_us;  // parts: means over the ranks
  std::vector<double> permute_us;
  std::vector<double> exchange_us;
  bool verified = false;
};

/// Where the peer is, or why there will be none. `--peer mpi` makes that reason an error.
struct PeerPlan {
  std::string program;
  std::string absent_because;
};
Result<PeerPlan> plan_peer(const BenchOptions& options);

/// One run of all rounds. kIo and the like when mpirun fails.
Result<PeerRun> run_peer(const BenchOptions& options, const PeerPlan& plan, int algorithm);

/// Algorithms that are tried in the first repetition; the best one stays.
[[nodiscard]] std::vector<int> peer_algorithms();

}  // namespace crossdock::cli
