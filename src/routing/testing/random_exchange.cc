// SPDX-License-Identifier: Apache-2.0
#include "routing/testing/random_exchange.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <ostream>
#include <random>
#include <utility>
#include <vector>

#include "routing/reference.h"

namespace crossdock::routing::testing {
namespace {

// std::uniform_int_distribution differs between libraries.
int below(int bound, std::mt19937_64& random) {
  return static_cast<int>(random() % static_cast<std::uint64_t>(bound));
}

// Experts that lanes may take: all, or the first few, which the first rank owns.
int pool_size(const ExchangeShape& shape) {
  switch (shape.skew) {
    case Skew::kOneRank:
      return std::max(1, shape.expert_count / shape.rank_count);
    case Skew::kOneExpert:
      return 1;
    case Skew::kNone:
      return 0;
    case Skew::kUniform:
    case Skew::kSparse:
      break;
  }
  return shape.expert_count;
}

void add_token(const ExchangeShape& shape, std::mt19937_64& random, RankRoutes& rank) {
  std::vector<std::int32_t> pool(static_cast<std::size_t>(pool_size(shape)));
  std::iota(pool.begin(), pool.end(), 0);
  std::vector<std::int32_t> lanes;
  for (int lane = 0; lane < shape.topk; ++lane) {
    const bool is_unused = pool.empty() || (shape.skew == Skew::kSparse && below(3, random) != 0);
    if (is_unused) {
      lanes.push_back(-1);
      continue;
    }
    const auto pick = static_cast<std::size_t>(below(static_cast<int>(pool.size()), random));
    std::swap(pool[pick], pool.back());
    lanes.push_back(pool.back());
    pool.pop_back();
  }
  // With a small pool the last lanes would always be the unused ones.
  for (std::size_t lane = lanes.size(); lane > 1; --lane) {
    const auto other = static_cast<std::size_t>(below(static_cast<int>(lane), random));
    std::swap(lanes[lane - 1], lanes[other]);
  }
  for (const std::int32_t expert : lanes) {
    rank.experts.push_back(expert);
    rank.weights.push_back(static_cast<float>(below(1 << 20, random)) + 1.0F);
  }
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const ExchangeShape& shape) {
  return out << "ranks " << shape.rank_count << ", experts " << shape.expert_count << ", topk "
             << shape.topk << ", tokens up to " << shape.token_count_max << ", alignment "
             << shape.alignment << ", skew " << static_cast<int>(shape.skew) << ", seed "
             << shape.seed;
}

std::vector<RankRoutes> make_routes(const ExchangeShape& shape) {
  std::mt19937_64 random(shape.seed);
  std::vector<RankRoutes> ranks;
  for (int rank = 0; rank < shape.rank_count; ++rank) {
    RankRoutes routes{shape.topk, {}, {}};
    const int token_count = below(shape.token_count_max + 1, random);
    for (int token = 0; token < token_count; ++token) {
      add_token(shape, random, routes);
    }
    ranks.push_back(std::move(routes));
  }
  return ranks;
}

}  // namespace crossdock::routing::testing
