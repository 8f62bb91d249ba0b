// SPDX-License-Identifier: Apache-2.0
// The processes of one launch() and the loop that watches them.
#pragma once

#include <poll.h>
#include <signal.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "cli/launch.h"
#include "cli/launch_output.h"
#include "cli/launch_process.h"
#include "crossdock/status.h"

namespace crossdock::cli {

class Job {
 public:
  static Result<std::unique_ptr<Job>> make(const LaunchOptions& options);
  /// Kills and reaps whatever still runs.
  ~Job();
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  /// Must be blocked before make() and until the job is gone.
  [[nodiscard]] static sigset_t handled_signals();

  /// Starts the next rank; fills in its standard streams.
  Status add_rank(SpawnOptions spawn);
  /// Until all ranks ended and their output is written; the exit code of the whole.
  Result<int> run();
  /// One line of the launcher's own on stderr.
  void note(std::string_view line);

 private:
  /// kGrace: a rank failed or a signal came, the others may finish. kTerminating: SIGTERM was sent.
  enum class Phase : std::uint8_t { kRunning, kGrace, kTerminating, kKilled, kDraining };

  struct Rank {
    RankProcess process;
    bool alive = true;
    std::array<FileDescriptor, 2> outputs;  // [stream]: what it writes, invalid once it ended
  };

  /// One of our own streams with everything before it; stream 0 is stdout, 1 is stderr.
  struct Channel {
    Channel(int fd, const LaunchOptions& options, LineMerger::Emit emit);
    OutputSink sink;
    LineWriter writer;
    LineMerger merger;
  };

  enum class Source : std::uint8_t { kSignals, kSink, kProcess, kOutput };
  struct Watched {
    Source source = Source::kSignals;
    int rank = -1;
    std::size_t stream = 0;
  };
  struct WatchList {
    std::vector<pollfd> events;
    std::vector<Watched> watched;  // [i]: what events[i] stands for
    void add(int fd, short wanted, Watched what) {
      events.push_back({.fd = fd, .events = wanted, .revents = 0});
      watched.push_back(what);
    }
  };

  explicit Job(const LaunchOptions& options);
  Status poll_once();
  [[nodiscard]] WatchList make_watch_list() const;
  void handle_signals();
  void handle_signal(int signal_number);
  void reap_ended(const std::vector<int>& ended);
  void report_failure(int rank, const siginfo_t& how);
  void read_output(int rank, std::size_t stream);
  void close_output(int rank, std::size_t stream);
  void begin_ending(Phase phase);
  void advance_phase(Instant now);
  void kill_everything();
  void drop_output();
  [[nodiscard]] bool has_alive() const;
  [[nodiscard]] bool is_done() const;
  [[nodiscard]] Deadline next_wake_up() const;
  void signal_alive(int signal_number, bool whole_group);

  LaunchOptions options_;
  FileDescriptor signal_fd_;
  std::unique_ptr<Guard> guard_;
  std::vector<Rank> ranks_;
  std::array<std::unique_ptr<Channel>, 2> channels_;
  Phase phase_ = Phase::kRunning;
  Deadline phase_end_;
  Deadline job_end_;
  int exit_code_ = 0;
  bool interrupted_ = false;
};

}  // namespace crossdock::cli
