// SPDX-License-Identifier: Apache-2.0
// MPI_Alltoallv with permutes: the exchange itself, buffers kept between rounds.
// Thread rule: one thread, after MPI_Init.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "cli/bench/workload.h"

namespace crossdock::bench {

struct PartTimes {
  Duration counts{0};    // histogram and MPI_Alltoall
  Duration permute{0};   // all row copies and sums
  Duration exchange{0};  // MPI_Alltoallv
};

class MpiExchange {
 public:
  MpiExchange(const Shape& shape, int rank);

  /// routes [T, K], tokens [T, H] -> rows() [N, H], expert-major.
  void dispatch(const std::vector<std::int32_t>& routes, const std::byte* tokens);
  /// rows() as the experts left them -> tokens [T, H]: fp32 sums in lane order, rounded once.
  void combine(const std::vector<std::int32_t>& routes, std::byte* tokens);

  [[nodiscard]] std::byte* rows() { return rows_.data(); }
  [[nodiscard]] const PartTimes& times() const { return times_; }
  void reset_times() { times_ = {}; }

 private:
  void exchange_counts(const std::vector<std::int32_t>& routes);
  void plan_receive();
  /// Position in the send buffer of every route, destination-major, experts ascending.
  void plan_send(const std::vector<std::int32_t>& routes);
  void exchange_rows(const std::byte* from, const std::vector<std::int64_t>& send_counts,
                     std::byte* to, const std::vector<std::int64_t>& receive_counts);
  /// One block of rows per (source, local expert); `to_experts` or back.
  enum class Direction : std::uint8_t { kToExperts, kToSources };
  void permute_blocks(Direction direction);

  Shape shape_;
  std::size_t local_experts_;                // of this rank
  std::size_t local_experts_max_;            // of any rank: MPI_Alltoall wants equal parts
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
  PartTimes times_;
};

}  // namespace crossdock::bench
