// SPDX-License-Identifier: Apache-2.0
// Test-only: runs the step machines of R ranks over an in-memory fabric that delivers in the worst
// order it may. The fabric promises no more than the protocol's contract asks for: a strong
// operation is held behind earlier ones of its queue only if the contract needs queue order, and a
// flush waits only if it needs remote completion; different queues are never ordered.
//
// Rows carry the number of their round, so every claim of a proof can be compared with memory. Rows
// have two places by parity of the epoch, as the contracts' answers about receive slots ask for.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>

#include "protocol/protocol.h"

namespace crossdock::protocol::testing {

using ProtocolMaker = std::function<std::unique_ptr<Protocol>(const Team&)>;

struct Scenario {
  int rank_count = 2;
  int lane_count = 1;
  int round_count = 3;
  int unit_count = 1;  // puts on a queue in a round, but for is_empty_queue()
  std::uint64_t first_epoch = 1;
  std::uint64_t word_start = 0;  // what the control words hold before the first round
};

/// True for the queues that carry no row in that round (0 = first).
[[nodiscard]] constexpr bool is_empty_queue(int round, int source, int lane) {
  return (round + source + lane) % 3 == 2;
}

/// What an exploration came by. A sweep that claims to cover something asserts that it is not zero.
struct Reached {
  std::uint64_t step_count = 0;
  std::uint64_t state_count = 0;      // exhaustive runs only
  std::uint64_t overtaken_count = 0;  // deliveries past an earlier operation of the same queue
  std::uint64_t stale_count = 0;      // words read that did not yet hold what was expected
  std::uint64_t early_count = 0;      // words delivered to a rank that is a round behind the source
  std::uint64_t while_posting_count = 0;  // words read before all was posted

  void add(const Reached& other);
};

struct Verdict {
  std::string failure;  // empty: every claim held and every round was proven on every rank
  Reached reached;
};

/// One run; all choices are drawn from `random`, some ranks and queues being much slower.
Verdict explore_random(const ProtocolMaker& make, const Scenario& scenario,
                       std::mt19937_64& random);
/// Every reachable state, up to `state_count_max` (more is a failure).
Verdict explore_all(const ProtocolMaker& make, const Scenario& scenario,
                    std::uint64_t state_count_max);

}  // namespace crossdock::protocol::testing
