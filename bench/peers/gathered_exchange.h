// SPDX-License-Identifier: Apache-2.0
// All-gather and reduce-scatter: every rank gets all tokens and all routes and takes what its
// experts need; every rank adds its experts' rows into fp32 sums of all tokens, and a
// reduce-scatter adds those up. No counts, no permute before sending, but every byte goes
// everywhere. The order of the sums is MPI's.
// Thread rule: one thread, between MPI_Init and MPI_Finalize.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bench/peers/peer_exchange.h"
#include "cli/bench/workload.h"

namespace crossdock::bench {

class GatheredExchange final : public PeerExchange {
 public:
  GatheredExchange(const Shape& shape, int rank);

  void dispatch(const std::vector<std::int32_t>& routes, const std::byte* tokens) override;
  void combine(const std::vector<std::int32_t>& routes, std::byte* tokens) override;
  [[nodiscard]] std::byte* rows() override { return rows_.data(); }
  [[nodiscard]] Sums sums() const override { return Sums::kAnyOrder; }

 private:
  /// Calls visit(global token, row) for every row of this rank, in their order.
  template <typename Visit>
  void for_each_row(Visit visit) const;

  Shape shape_;
  int rank_;
  std::vector<std::int32_t> all_routes_;   // [R, T, K]
  std::vector<std::byte> all_tokens_;      // [R, T, H]
  std::vector<std::size_t> expert_begin_;  // [local experts] first row
  std::vector<std::byte> rows_;            // [N, H], by expert, source, token
  std::vector<float> partial_;             // [R, T, H]
  std::vector<float> reduced_;             // [T, H]
};

}  // namespace crossdock::bench
