// SPDX-License-Identifier: Apache-2.0
// Traces as Chrome trace-event JSON, for ui.perfetto.dev and chrome://tracing: one process per
// rank, one thread per plane (or one per rank), one complete event per span, args round and
// operation. Times are microseconds with nanoseconds as the fraction, from the earliest begin.
// Thread rule: pure function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "crossdock/status.h"
#include "trace/recorder.h"

namespace crossdock::trace {

enum class Lanes : std::uint8_t {
  kPlane,  // a thread each for data, control and sync
  kRank,   // everything of a rank in one thread
};

/// What to do with ranks whose ticks cannot be compared.
enum class MixedClocks : std::uint8_t {
  kRefuse,    // kInvalidArgument naming two ranks
  kSeparate,  // every clock starts at its own zero, and its processes are named "clock A: rank 3"
};

struct ChromeOptions {
  Lanes lanes = Lanes::kPlane;
  MixedClocks mixed_clocks = MixedClocks::kRefuse;
  /// kCapacity beyond, with the number of events: viewers give up on large JSON.
  std::size_t event_count_max = 2'000'000;
};

/// Spans of stages that this version does not know are kept, named "stage ID", in a thread of their
/// own. Dropped spans are told in the rank's process label.
Result<std::string> make_chrome_json(std::span<const RankTrace> traces,
                                     const ChromeOptions& options = {});

}  // namespace crossdock::trace
