// SPDX-License-Identifier: Apache-2.0
// The command line that all peers understand.
// Thread rule: pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/bench/workload.h"
#include "crossdock/status.h"

namespace crossdock::bench {

struct PeerOptions {
  std::string exchange = "alltoallv";  // alltoallv | allgather
  std::string operation = "dispatch";  // dispatch | combine | roundtrip
  std::string store;                   // a folder that all ranks see, for peers that need one
  Shape shape;
  int iterations = 20;
  int warmup = 3;
};

/// "--name value" pairs. kInvalidArgument: unknown or missing, or a shape that cannot be.
/// `rank_count` 0: --ranks says it.
Result<PeerOptions> parse_peer_options(const std::vector<std::string_view>& arguments,
                                       int rank_count);

}  // namespace crossdock::bench
