// SPDX-License-Identifier: Apache-2.0
// Random routes of all ranks for property tests: uneven experts and tokens, ranks without tokens,
// unused lanes, everything on one expert.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <vector>

#include "routing/reference.h"

namespace crossdock::routing::testing {

/// How lanes are chosen. Counted by the property test, which wants to have met every kind.
enum class Skew : std::uint8_t { kUniform, kSparse, kOneRank, kOneExpert, kNone };
inline constexpr int kSkewCount = 5;

struct ExchangeShape {
  int rank_count = 1;
  int expert_count = 1;
  int topk = 1;
  int token_count_max = 0;  // each rank has 0 .. this many
  std::int64_t alignment = 1;
  Skew skew = Skew::kUniform;
  std::uint64_t seed = 0;
};
std::ostream& operator<<(std::ostream& out, const ExchangeShape& shape);

/// Routes and weights of every rank, the same for the same shape on every machine.
std::vector<RankRoutes> make_routes(const ExchangeShape& shape);

}  // namespace crossdock::routing::testing
