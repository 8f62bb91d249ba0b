// SPDX-License-Identifier: Apache-2.0
// One way to do a round, measured beside the others: the library, or a kernel that only moves the
// rows. All ranks hold the same contenders in the same order. Thread rule: as the communicator, one
// thread per rank.
#pragma once

#include <cstdint>

#include "crossdock/status.h"

namespace crossdock::bench {

/// How many rows (dispatch) or tokens (combine) were compared, and how many differed.
struct Verdict {
  std::uint64_t checked = 0;
  std::uint64_t wrong = 0;

  Verdict& operator+=(const Verdict& other) {
    checked += other.checked;
    wrong += other.wrong;
    return *this;
  }
};

class Contender {
 public:
  virtual ~Contender() = default;
  /// Untimed: fresh input for the round, no two rounds alike.
  virtual Status prepare(std::uint64_t round) = 0;
  /// Timed; all ranks at once.
  virtual Status run() = 0;
  /// Timed: between two rounds that follow each other without a meeting of the ranks.
  virtual void next() {}
  /// Untimed: compares everything that the round produced on this rank.
  virtual Result<Verdict> verify(std::uint64_t round) = 0;
};

}  // namespace crossdock::bench
