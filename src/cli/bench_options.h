// SPDX-License-Identifier: Apache-2.0
// What `crossdock bench` was asked to measure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cli/bench/rounds.h"
#include "cli/bench/workload.h"
#include "crossdock/types.h"

namespace crossdock::cli {

enum class BenchOperation : std::uint8_t { kDispatch, kCombine, kRoundtrip };
[[nodiscard]] std::string_view to_string(BenchOperation operation);

/// kAuto: when mpirun and the peer are there and measure the same thing.
enum class PeerChoice : std::uint8_t { kAuto, kMpi, kNone };

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

}  // namespace crossdock::cli
