// SPDX-License-Identifier: Apache-2.0
// Notices the death of peer processes: one pidfd each, all in one epoll set, so that a look costs
// one system call and a sleep ends at once when somebody dies. A socket's hang-up would be no
// proof: a forked child keeps it open. Thread rule: owned by its fabric's thread.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <vector>

#include "crossdock/status.h"

namespace crossdock::fabric {

class PeerWatch {
 public:
  PeerWatch() = default;
  ~PeerWatch();
  PeerWatch(const PeerWatch&) = delete;
  PeerWatch& operator=(const PeerWatch&) = delete;

  Status open();
  /// Not ok when the process is gone already.
  Status add(int rank, pid_t pid);
  /// Sleeps up to `timeout` (zero: only looks). Ranks whose process is gone, once each.
  std::vector<int> wait(std::chrono::nanoseconds timeout);
  void close();

 private:
  int epoll_fd_ = -1;
  std::vector<int> pid_fds_;
};

}  // namespace crossdock::fabric
