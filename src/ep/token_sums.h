// SPDX-License-Identifier: Apache-2.0
// The sums of combine, from routes, places of rows and the reduction plan; both paths use them once
// their rows can be read. A *term* is one summand of a token: a bias, a row, or a rank's partial
// sum. Thread rule: a reducer belongs to one thread; several may work on different tokens.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/copy.h"
#include "crossdock/types.h"
#include "routing/routes.h"

namespace crossdock::ep {

struct TokenSums {
  ReductionPlan plan = ReductionPlan::kSingle;
  RowLayout layout = RowLayout::kPlain;
  ElementType element = ElementType::kBf16;
  std::size_t element_count = 0;
  std::size_t row_bytes = 0;
  routing::Routes routes;
  std::span<const std::byte* const> region_base;  // [R]: where the rows of that owner begin
  std::span<const std::int64_t> row_of_route;     // [T, K]: row in its owner's region
  const std::byte* row_per_route = nullptr;  // [T, K] rows instead of both: where routes landed
  std::array<const void*, 2> biases;         // [T, H] or null
  std::span<const float> gate_weights;       // [T, K] or empty; expanded only
  StoreHint hint = StoreHint::kKeep;
};

class TokenReducer {
 public:
  explicit TokenReducer(const TokenSums& sums);

  /// Tokens first .. end - 1 of `tokens` [T, H].
  void reduce(std::size_t first, std::size_t end, std::byte* tokens);

 private:
  static constexpr std::size_t kTermsMax = 128 + 2;

  void add_term(const void* row, float weight) {
    rows_[count_] = row;
    weights_[count_++] = weight;
  }
  void add_biases(std::size_t token);
  void add_rows(std::size_t token);
  void add_rank_sums(std::size_t token);
  const void* sum_rank(std::size_t token, std::size_t master_lane, std::byte* scratch);
  [[nodiscard]] const std::byte* row_of(std::size_t route) const {
    if (sums_.row_per_route != nullptr) {
      return sums_.row_per_route + route * sums_.row_bytes;
    }
    return sums_.region_base[static_cast<std::size_t>(sums_.routes.owners[route])] +
           static_cast<std::size_t>(sums_.row_of_route[route]) * sums_.row_bytes;
  }

  const TokenSums& sums_;
  const bool sums_ranks_first_;
  std::size_t count_ = 0;
  std::array<const void*, kTermsMax> rows_;
  std::array<float, kTermsMax> weights_;
  std::vector<std::byte> scratch_;  // [K, H], for the ranks' partial sums
};

}  // namespace crossdock::ep
