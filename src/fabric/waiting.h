// SPDX-License-Identifier: Apache-2.0
// The state of one wait, shared by wait() (which polls) and Fabric::idle() (which backs off,
// watches peers and the deadline, and reports).
#pragma once

#include <cstdint>

#include "base/clock.h"

namespace crossdock::fabric {

class WaitBoard;

/// What is waited for, in words and numbers. `peer` -1 means several; poll functions keep `peer`
/// and `observed` up to date so that a report names the rank that is really missing.
struct WaitFor {
  const char* phase = "";  // a string literal: a signal handler may print it later
  int peer = -1;
  std::uint64_t round = 0;
  std::uint64_t expected = 0;
  std::uint64_t observed = 0;
};

struct WaitSession {
  WaitSession(const WaitFor& wait_for, Deadline give_up) : what(wait_for), deadline(give_up) {}
  ~WaitSession();
  WaitSession(const WaitSession&) = delete;
  WaitSession& operator=(const WaitSession&) = delete;

  WaitFor what;
  Deadline deadline;
  // Below: owned by Fabric::idle().
  Instant started{};
  Instant next_report{};
  Instant next_watch{};
  std::uint32_t idle_count = 0;
  bool is_sleeping = false;
  WaitBoard* board = nullptr;  // cleared when the wait ends
};

inline void cpu_relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace crossdock::fabric
