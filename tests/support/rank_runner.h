// SPDX-License-Identifier: Apache-2.0
// Runs one function on every rank of a team: as threads of this process (so that ThreadSanitizer
// sees both sides of every exchange) or as forked processes (the real thing).
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "crossdock/communicator.h"

namespace crossdock::testing {

enum class RankKind { kThreads, kProcesses };

/// Runs on rank r with an open communicator. Expectations that fail there fail the test.
using RankFunction = std::function<void(Communicator&)>;

struct RunOptions {
  RankKind kind = RankKind::kThreads;
  CommunicatorOptions communicator;  // timeouts
};

/// Blocks until every rank is through. Fails the test when a rank could not open, or when a process
/// did not end with 0.
void run_ranks(int rank_count, const RankFunction& function, const RunOptions& options = {});

/// Processes that are left running, for tests that hurt them.
class RankProcesses {
 public:
  RankProcesses(int rank_count, const RankFunction& function, const RunOptions& options = {});
  ~RankProcesses();  // kills what is left
  RankProcesses(const RankProcesses&) = delete;
  RankProcesses& operator=(const RankProcesses&) = delete;

  [[nodiscard]] pid_t pid(int rank) const { return pids_[static_cast<std::size_t>(rank)]; }
  void send_signal(int rank, int signal) const;
  /// Blocks: the exit code, or 128 + signal.
  int wait_exit(int rank);
  /// A short message that a rank wrote with say(); empty when it said nothing.
  [[nodiscard]] std::string said(int rank) const;

  /// In a rank's function: leaves a message for the test (the last one counts).
  static void say(Communicator& communicator, const std::string& message);
  static void say(int rank, const std::string& message);

 private:
  std::vector<pid_t> pids_;
  std::vector<int> exit_codes_;  // -1: not waited for
  void* board_ = nullptr;
  std::size_t board_bytes_ = 0;
};

}  // namespace crossdock::testing
