// SPDX-License-Identifier: Apache-2.0
// All-to-all-v with permutes: counts first, rows copied into destination order (one copy per
// route), the exchange, and a permute from source-major to expert-major order; combine is the way
// back with a sum in fp32. Buffers are kept between rounds.
// Thread rule: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bench/peers/peer_exchange.h"
#include "bench/peers/wire.h"
#include "cli/bench/workload.h"

namespace crossdock::bench {

class PermutedExchange final : public PeerExchange {
 public:
  PermutedExchange(const Shape& shape, Wire& wire);

  void dispatch(const std::vector<std::int32_t>& routes, const std::byte* tokens) override;
  void combine(const std::vector<std::int32_t>& routes, std::byte* tokens) override;
  [[nodiscard]] std::byte* rows() override { return rows_.data(); }

 private:
  void exchange_counts(const std::vector<std::int32_t>& routes);
  void plan_receive();
  /// Position in the send buffer of every route, destination-major, experts ascending.
  void plan_send(const std::vector<std::int32_t>& routes);
  /// One block of rows per (source, local expert).
  enum class Direction : std::uint8_t { kToExperts, kToSources };
  void permute_blocks(Direction direction);

  Shape shape_;
  Wire& wire_;
  std::size_t local_experts_;                // of this rank
  std::size_t local_experts_max_;            // of any rank: an all-to-all wants equal parts
  std::vector<std::int64_t> expert_counts_;  // [E] routes of this rank
  std::vector<std::int64_t> outgoing_;       // [R][local_experts_max]
  std::vector<std::int64_t> incoming_;       // [R][local_experts_max]
  std::vector<std::int64_t> rows_to_;        // [R]
  std::vector<std::int64_t> rows_from_;      // [R]
  std::vector<std::size_t> send_position_;   // [T * K]
  std::vector<std::size_t> expert_begin_;    // [E] next position, while planning
  std::vector<std::byte> sent_;              // [T * K, H], by destination, expert
  std::vector<std::byte> received_;          // [N, H], by source, expert
  std::vector<std::byte> rows_;              // [N, H], by expert, source
};

}  // namespace crossdock::bench
