// SPDX-License-Identifier: Apache-2.0
// What `crossdock bench` was asked to measure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/bench/rounds.h"
#include "cli/bench/workload.h"
#include "crossdock/types.h"

namespace crossdock::cli {

enum class BenchOperation : std::uint8_t { kDispatch, kCombine, kRoundtrip };
[[nodiscard]] std::string_view to_string(BenchOperation operation);

/// kAuto: MPI_Alltoallv + permute when mpirun and the peer are there and measure the same thing.
/// kAll: every peer that is there.
enum class PeerChoice : std::uint8_t { kAuto, kMpi, kAll, kNone };

struct BenchOptions {
  BenchOperation operation = BenchOperation::kDispatch;
  bench::Shape shape;
  RowLayout layout = RowLayout::kExpanded;
  Mode mode = Mode::kAuto;
  std::string protocol = "auto";
  std::string schedule = "auto";
  bench::RoundCounts rounds;
  int repetitions = 3;
  PeerChoice peer = PeerChoice::kAuto;
  std::string json;   // path, "-" or empty
  std::string arena;  // path of the memory to measure in, for ranks that this program started
};

/// Long rounds need few repetitions, short ones many.
[[nodiscard]] int automatic_iterations(const bench::Shape& shape);

/// The command line (without the program) that makes a rank measure this.
[[nodiscard]] std::vector<std::string> rank_arguments(const BenchOptions& options);

}  // namespace crossdock::cli
