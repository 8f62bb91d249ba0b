// SPDX-License-Identifier: Apache-2.0
// What a benchmark measured, and what follows from it: medians, limits, ratios.
// Thread rule: plain values and pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/bench_options.h"
#include "cli/bench_peer.h"
#include "cli/console.h"

namespace crossdock::cli {

struct Repetition {
  std::vector<std::vector<double>> times_us;  // [contender][round]
  std::optional<PeerRun> peer;
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
  std::string peer_absent_because;
  std::uint64_t rows_checked = 0;
  std::uint64_t rows_wrong = 0;

  [[nodiscard]] bool verified() const;
};

[[nodiscard]] Json bench_json(const BenchResult& result);
/// A small table for people, ending with a newline.
[[nodiscard]] std::string bench_table(const BenchResult& result);

}  // namespace crossdock::cli
