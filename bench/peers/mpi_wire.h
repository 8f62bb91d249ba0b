// SPDX-License-Identifier: Apache-2.0
// MPI_COMM_WORLD. Thread rule: one thread, between MPI_Init and MPI_Finalize.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bench/peers/wire.h"

namespace crossdock::bench {

class MpiWire final : public Wire {
 public:
  MpiWire();
  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return size_; }
  void barrier() override;
  void all_to_all(const std::int64_t* from, std::int64_t* to, std::size_t part_count) override;
  void all_to_all_v(const std::byte* from, std::span<const std::int64_t> send_counts, std::byte* to,
                    std::span<const std::int64_t> receive_counts, std::size_t row_bytes) override;
  std::vector<std::byte> gather(std::span<const std::byte> part) override;

 private:
  int rank_ = 0;
  int size_ = 1;
};

}  // namespace crossdock::bench
