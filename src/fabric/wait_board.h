// SPDX-License-Identifier: Apache-2.0
// What every rank of this process is waiting for right now, kept where a signal handler can read
// it: SIGUSR1 prints one line per rank. Thread rule: a board is written by its rank's thread only;
// the handler reads relaxed atomics.
#pragma once

#include <atomic>
#include <cstdint>

#include "fabric/waiting.h"

namespace crossdock::fabric {

class WaitBoard {
 public:
  /// Takes one of the process's slots; with none left the board works but is not dumped.
  explicit WaitBoard(int rank);
  ~WaitBoard();
  WaitBoard(const WaitBoard&) = delete;
  WaitBoard& operator=(const WaitBoard&) = delete;

  void show(const WaitFor& what, Instant since);
  void clear();

 private:
  int slot_ = -1;
};

/// Installs the SIGUSR1 handler once, unless the program has one of its own.
void install_wait_dump();

}  // namespace crossdock::fabric
