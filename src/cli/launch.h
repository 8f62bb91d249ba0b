// SPDX-License-Identifier: Apache-2.0
// Starting the ranks of a job on this host and seeing them through: their output, their signals,
// their end. Nothing that was started outlives launch(), nor a launcher that is killed. Thread
// rule: one launch() at a time in a process; signals are blocked while it runs.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "crossdock/status.h"

namespace crossdock::cli {

/// Where ranks may run, always inside what this process may use. kAuto: one core each when there
/// are enough, else the scheduler decides.
enum class Binding : std::uint8_t { kAuto, kNone, kCore, kNuma };

/// kPrefixed: whole lines, "[rank] " before each. kLines: whole lines as they are.
/// kInherited: ranks write to this process's stdout and stderr themselves.
enum class RankOutput : std::uint8_t { kPrefixed, kLines, kInherited };

enum class Verbosity : std::uint8_t { kQuiet, kVerbose };

struct LaunchOptions {
  std::vector<std::string> argv;  // a program (a path, or a name to look up in PATH), its arguments
  int rank_count = 1;             // 1 .. kRankCountMax
  std::vector<std::pair<std::string, std::string>> environment;  // added for every rank
  Binding binding = Binding::kAuto;
  RankOutput output = RankOutput::kPrefixed;
  /// When set, gets every line (without its line break) that a rank writes to stdout, instead of
  /// our stdout. Not with kInherited.
  std::function<void(int rank, std::string_view line)> on_stdout_line;
  Duration grace = std::chrono::seconds(3);  // for the others to report after one rank failed
  Duration timeout = Duration::max();        // of the whole job
  Verbosity verbosity = Verbosity::kQuiet;   // kVerbose: says what is started and bound where
};

inline constexpr int kRankCountMax = 4096;
inline constexpr int kTimedOutExitCode = 124;  // as timeout(1)

/// Runs options.rank_count processes and returns the exit code for the whole: 0 when all returned
/// 0, else that of the first rank that failed (128 + signal when one killed it), or
/// kTimedOutExitCode. kInvalidArgument for what the caller can correct (count, program).
///
/// Each rank finds CROSSDOCK_RANK, _SIZE, _BOOTSTRAP, _JOB_SECRET, _LAUNCHED (rank 0 also
/// _BOOTSTRAP_FD) and RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT.
/// Rank 0 gets our stdin unless that is a terminal; the others get /dev/null.
///
/// After the first failure the other ranks have `grace`, then get SIGTERM, and SIGKILL 2 s later.
/// The same happens after SIGINT, SIGTERM and SIGHUP, which are passed on, as are SIGUSR1, SIGUSR2
/// and SIGCONT. A second SIGINT kills at once.
Result<int> launch(const LaunchOptions& options);

/// The path of the running program, for starting ranks of itself.
Result<std::string> own_program();

}  // namespace crossdock::cli
