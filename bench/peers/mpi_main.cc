// SPDX-License-Identifier: Apache-2.0
// Expanded dispatch and combine as MPI users write them: MPI_Alltoallv with permutes, or
// MPI_Allgather and MPI_Reduce_scatter_block.
//
//   mpirun -n 8 crossdock-peer-mpi --exchange alltoallv --operation dispatch --tokens 1024
//       --hidden 2048 --experts 64 --topk 8 --dtype bf16 --seed 1 --iterations 20 --warmup 3
// prints one JSON object on rank 0; exit code 0, 1 (a row differs) or 2 (usage).
#include <mpi.h>

#include <memory>
#include <string_view>
#include <vector>

#include "bench/peers/gathered_exchange.h"
#include "bench/peers/mpi_wire.h"
#include "bench/peers/peer_bench.h"
#include "bench/peers/peer_exchange.h"
#include "bench/peers/peer_options.h"
#include "bench/peers/permuted_exchange.h"

namespace crossdock::bench {
namespace {

int run_peer(const std::vector<std::string_view>& arguments) {
  MpiWire wire;
  const auto options = parse_peer_options(arguments, wire.size());
  if (!options.ok()) {
    return wire.rank() == 0 ? refuse_usage("crossdock-peer-mpi", options.status().message()) : 2;
  }
  std::unique_ptr<PeerExchange> exchange;
  if (options->exchange == "allgather") {
    exchange = std::make_unique<GatheredExchange>(options->shape, wire.rank());
  } else {
    exchange = std::make_unique<PermutedExchange>(options->shape, wire);
  }
  PeerBench bench(*options, wire, *exchange);
  bench.run();
  return bench.report("mpi_" + options->exchange) ? 0 : 1;
}

}  // namespace
}  // namespace crossdock::bench

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int code = crossdock::bench::run_peer({argv + 1, argv + argc});
  MPI_Finalize();
  return code;
}
