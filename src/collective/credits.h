// SPDX-License-Identifier: Apache-2.0
// Readers-done credits: whoever read in place from a peer's window says so, and the owner waits for
// all its readers before it, or anybody else, writes there again. One writer per credit word.
// A credit is the ordinal of the last finished reading; ordinals grow by one and are counted by
// execution, equally on all ranks, so "credit >= ordinal" never needs a reset.
// Thread rule: its fabric's thread.
#pragma once

#include <cstdint>

#include "fabric/fabric.h"

namespace crossdock::collective {

class Credits {
 public:
  [[nodiscard]] static std::uint64_t byte_count(int rank_count);

  Credits(fabric::Fabric& fabric, fabric::Window& window, std::uint64_t offset)
      : fabric_(fabric), window_(window), offset_(offset) {}

  /// This rank will not read again what it read for `ordinal`. Tells every owner.
  void post_readers_done(std::uint64_t ordinal);
  /// Blocks until every peer has finished reading this rank's memory for `ordinal`.
  Status wait_for_readers(std::uint64_t ordinal, std::uint64_t round, Deadline deadline);

 private:
  [[nodiscard]] std::uint64_t read_credit(int reader) const;

  fabric::Fabric& fabric_;
  fabric::Window& window_;
  std::uint64_t offset_;
};

}  // namespace crossdock::collective
