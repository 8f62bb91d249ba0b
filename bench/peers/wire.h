// SPDX-License-Identifier: Apache-2.0
// The collective calls that a peer's library offers, blocking, over all its ranks.
// Thread rule: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace crossdock::bench {

class Wire {
 public:
  virtual ~Wire() = default;
  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;
  virtual void barrier() = 0;
  /// `part_count` numbers to and from every rank.
  virtual void all_to_all(const std::int64_t* from, std::int64_t* to, std::size_t part_count) = 0;
  /// Packed rows to and from every rank, counts per rank.
  virtual void all_to_all_v(const std::byte* from, std::span<const std::int64_t> send_counts,
                            std::byte* to, std::span<const std::int64_t> receive_counts,
                            std::size_t row_bytes) = 0;
  /// On rank 0 the equally long parts of all ranks, in order; elsewhere anything.
  virtual std::vector<std::byte> gather(std::span<const std::byte> part) = 0;
};

}  // namespace crossdock::bench
