// SPDX-License-Identifier: Apache-2.0
// What a benchmark measured, and what follows from it: medians, limits, ratios.
// Thread rule: plain values and pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cli/bench/routing.h"
#include "cli/bench_options.h"
#include "cli/bench_peer.h"
#include "cli/console.h"

namespace crossdock::cli {

struct Repetition {
  std::vector<std::vector<double>> times_us;  // [contender][round]
  std::vector<double> train_us;               // the library's rounds when they follow each other
  std::vector<PeerRun> peers;                 // those that could be run
};

/// What `auto` came to, as rank 0 noted it.
struct BenchChoice {
  std::string mode;
  std::string protocol;
  std::string schedule;
  std::uint64_t reserved_bytes = 0;
  std::int64_t row_capacity = 0;
};
[[nodiscard]] std::string note_text(const BenchChoice& choice);
[[nodiscard]] BenchChoice choice_from_note(const std::string& note);

struct BenchResult {
  BenchOptions options;
  std::vector<std::string> names;  // [contender], the library first
  std::int64_t rows_moved = 0;     // by one round, all ranks
  std::vector<Repetition> repetitions;
  BenchChoice choice;
  std::vector<PeerPlan> peers;  // those that were asked for
  bench::RoutingSkew skew;
  std::uint64_t rows_checked = 0;
  std::uint64_t rows_wrong = 0;

  [[nodiscard]] bool verified() const;
};

/// Medians of one repetition, or of all together: the same arithmetic for both.
struct BenchMedians {
  struct Limit {
    std::string name;
    double us = 0;
  };
  double ours_us = 0;
  double back_to_back_us = 0;
  Limit copy;  // dispatch and roundtrip
  Limit read;  // combine and roundtrip
  std::vector<std::pair<PeerKind, double>> peers_us;

  /// What the round could take at best.
  [[nodiscard]] double limit_us() const { return copy.us + read.us; }
  [[nodiscard]] double ratio_to_limit() const { return ours_us > 0 ? limit_us() / ours_us : 0; }
  /// 0 when that peer did not run.
  [[nodiscard]] double peer_us(PeerKind kind) const;
  [[nodiscard]] double ratio_to(PeerKind kind) const {
    return ours_us > 0 ? peer_us(kind) / ours_us : 0;
  }
};
[[nodiscard]] BenchMedians medians_of_all(const BenchResult& result);
[[nodiscard]] BenchMedians medians_of_one(const BenchResult& result, std::size_t repetition);

/// "counts 5.5 ms, permute 31 ms, exchange 36 ms": where a peer's time went.
[[nodiscard]] std::string peer_parts_text(const BenchResult& result, PeerKind kind);

[[nodiscard]] Json bench_json(const BenchResult& result);
/// A small table for people, ending with a newline.
[[nodiscard]] std::string bench_table(const BenchResult& result);

}  // namespace crossdock::cli
