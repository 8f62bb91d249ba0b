// SPDX-License-Identifier: Apache-2.0
// A small trace for tests: two spans of one dispatch round, one counter, one wait.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/clock.h"
#include "trace/recorder.h"
#include "trace/stages.h"

namespace crossdock::trace::testing {

inline RankTrace sample_trace(int rank, int rank_count, std::int64_t begin_ns,
                              std::uint64_t round = 1) {
  Recorder recorder(rank, rank_count);
  recorder.enable(8);
  recorder.add_span(kPost, Operation::kDispatch, round, Instant{begin_ns},
                    Instant{begin_ns + 1500});
  recorder.add_span(kArrive, Operation::kDispatch, round, Instant{begin_ns + 1500},
                    Instant{begin_ns + 4007});
  const int peer = (rank + 1) % rank_count;
  recorder.moved(kPost, peer, 4096, 2);
  recorder.waited(peer, std::chrono::nanoseconds(2500));
  return recorder.trace();
}

}  // namespace crossdock::trace::testing
