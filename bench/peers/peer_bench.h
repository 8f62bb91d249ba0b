// SPDX-License-Identifier: Apache-2.0
// Measures a peer's exchange like the library's own rounds: isolated, from the first rank's start
// to the last rank's end on CLOCK_MONOTONIC, rows fresh every round and compared outside the timed
// part. Thread rule: one thread per rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bench/peers/peer_exchange.h"
#include "bench/peers/peer_options.h"
#include "bench/peers/wire.h"
#include "cli/bench/contender.h"
#include "cli/bench/placement.h"

namespace crossdock::bench {

class PeerBench {
 public:
  /// All references outlive it.
  PeerBench(const PeerOptions& options, Wire& wire, PeerExchange& exchange);

  void run();
  /// Collective; true on rank 0 when every rank's every row was right, and on the others. Rank 0
  /// prints one JSON object.
  bool report(std::string_view name);

 private:
  /// Start and end of one rank's round, and how much of it each part took.
  struct Sample {
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
    std::int64_t counts_ns = 0;
    std::int64_t permute_ns = 0;
    std::int64_t exchange_ns = 0;
  };
  Sample run_round(std::uint64_t round);
  [[nodiscard]] std::string round_json(const std::vector<Sample>& all, std::size_t round) const;

  const PeerOptions& options_;
  Wire& wire_;
  PeerExchange& exchange_;
  Placement placement_;
  std::vector<std::byte> tokens_;
  std::vector<std::byte> combined_;
  std::vector<Sample> samples_;
  Verdict verdict_;
};

/// One line on stderr; the exit code for a wrong command line.
int refuse_usage(std::string_view program, std::string_view message);

}  // namespace crossdock::bench
