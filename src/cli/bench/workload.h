// SPDX-License-Identifier: Apache-2.0
// What a benchmark moves: a shape with its routing, and rows whose every byte follows from their
// name, so that any rank can check any row of any round without being sent it.
// Nothing here calls the library: the peers and the limits use it too, and it is the oracle.
// Thread rule: pure functions and plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "cli/bench/routing.h"
#include "crossdock/types.h"

namespace crossdock::bench {

/// Every rank has `tokens` tokens. Experts are split over the ranks in order; the first E % R ranks
/// own one more.
struct Shape {
  int ranks = 8;
  std::int64_t tokens = 1024;
  std::int64_t hidden = 2048;
  int experts = 64;
  int topk = 8;
  ElementType element = ElementType::kBf16;
  std::uint64_t seed = 1;
  Routing routing = {};

  [[nodiscard]] std::size_t row_bytes() const {
    return static_cast<std::size_t>(hidden) * element_bytes(element);
  }
  [[nodiscard]] std::int64_t routes_per_rank() const { return tokens * topk; }
  [[nodiscard]] int first_expert(int rank) const;
  [[nodiscard]] int local_experts(int rank) const;
  [[nodiscard]] int owner(int expert) const;
};

/// Which row: a token of a rank in a round (lane -1), or what an expert makes of it for one lane.
struct RowName {
  std::uint64_t round = 0;
  int source = 0;
  std::int64_t token = 0;
  int lane = -1;
};

/// kBf16 and kFp32 rows hold finite numbers of both signs with magnitudes in [2^-7, 2): sums round.
/// kBytes rows hold any bytes.
void fill_row(const Shape& shape, const RowName& name, std::byte* row);
[[nodiscard]] bool row_matches(const Shape& shape, const RowName& name, const std::byte* row);

/// All tokens of a rank in a round, [T, H].
void fill_tokens(const Shape& shape, std::uint64_t round, int rank, std::span<std::byte> tokens);

}  // namespace crossdock::bench
