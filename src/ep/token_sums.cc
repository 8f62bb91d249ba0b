// SPDX-License-Identifier: Apache-2.0
#include "ep/token_sums.h"

#include "base/reduce.h"

namespace crossdock::ep {

TokenReducer::TokenReducer(const TokenSums& sums)
    : sums_(sums),
      sums_ranks_first_(sums.plan == ReductionPlan::kDeepEp &&
                        sums.layout == RowLayout::kExpanded) {
  if (sums_ranks_first_) {
    scratch_.resize(sums.routes.lane_count() * sums.row_bytes);
  }
}

void TokenReducer::reduce(std::size_t first, std::size_t end, std::byte* tokens) {
  // Partial sums carry their weights already.
  const bool is_weighted = !sums_.gate_weights.empty() && !sums_ranks_first_;
  for (std::size_t token = first; token < end; ++token) {
    count_ = 0;
    add_biases(token);
    if (sums_ranks_first_) {
      add_rank_sums(token);
    } else {
      add_rows(token);
    }
    const std::span weights(weights_.data(), is_weighted ? count_ : 0);
    reduce_weighted_rows(sums_.element, tokens + token * sums_.row_bytes,
                         {std::span(rows_.data(), count_), weights}, sums_.element_count,
                         sums_.hint);
  }
}

void TokenReducer::add_biases(std::size_t token) {
  for (const void* const bias : sums_.biases) {
    if (bias != nullptr) {
      add_term(static_cast<const std::byte*>(bias) + token * sums_.row_bytes, 1.0F);
    }
  }
}

// In ascending lane order. Expanded: every lane has a row of its own. Plain: a rank's row counts
// once, at the token's highest lane there.
void TokenReducer::add_rows(std::size_t token) {
  const auto owners = sums_.routes.owners_of(token);
  const bool is_plain = sums_.layout == RowLayout::kPlain;
  for (std::size_t lane = 0; lane < owners.size(); ++lane) {
    if (owners[lane] < 0 || (is_plain && !routing::is_master_lane(owners, lane))) {
      continue;
    }
    const std::size_t route = token * owners.size() + lane;
    add_term(row_of(route), sums_.gate_weights.empty() ? 1.0F : sums_.gate_weights[route]);
  }
}

// Each rank's rows are summed and rounded first; the sums are then terms at their master lanes.
void TokenReducer::add_rank_sums(std::size_t token) {
  const auto owners = sums_.routes.owners_of(token);
  for (std::size_t lane = 0; lane < owners.size(); ++lane) {
    if (routing::is_master_lane(owners, lane)) {
      add_term(sum_rank(token, lane, scratch_.data() + lane * sums_.row_bytes), 1.0F);
    }
  }
}

const void* TokenReducer::sum_rank(std::size_t token, std::size_t master_lane, std::byte* scratch) {
  std::array<const void*, kTermsMax> rows;
  std::array<float, kTermsMax> weights;
  std::size_t count = 0;
  const auto owners = sums_.routes.owners_of(token);
  for (std::size_t lane = 0; lane <= master_lane; ++lane) {
    if (owners[lane] == owners[master_lane]) {
      const std::size_t route = token * owners.size() + lane;
      weights[count] = sums_.gate_weights.empty() ? 1.0F : sums_.gate_weights[route];
      rows[count++] = row_of(route);
    }
  }
  const bool is_weighted = !sums_.gate_weights.empty();
  if (count == 1 && !is_weighted) {
    return rows[0];
  }
  reduce_weighted_rows(
      sums_.element, scratch,
      {std::span(rows.data(), count), std::span(weights.data(), is_weighted ? count : 0)},
      sums_.element_count, StoreHint::kKeep);
  return scratch;
}

}  // namespace crossdock::ep
