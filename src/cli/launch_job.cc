// SPDX-License-Identifier: Apache-2.0
// An ended rank stays unreaped until the very end: its number then still names its process group,
// so that what it left behind can be killed without hitting a stranger that got the number anew.
#include "cli/launch_job.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <system_error>
#include <utility>

#include "base/status_macros.h"
#include "fabric/bootstrap/socket.h"

namespace crossdock::cli {
namespace {

constexpr auto kTerminateTime = std::chrono::seconds(2);     // from SIGTERM to SIGKILL
constexpr auto kDrainTime = std::chrono::milliseconds(500);  // for output of what is already dead
constexpr std::size_t kReadBytes = std::size_t{64} << 10;
constexpr std::size_t kStdout = 0;
constexpr std::size_t kStderr = 1;
constexpr std::array kForwardedSignals = {SIGINT,  SIGTERM, SIGHUP, SIGUSR1,
                                          SIGUSR2, SIGTSTP, SIGCONT};

Status system_error(std::string_view what) {
  return Status(StatusKind::kIo, Scope::kOperation,
                fmt::format("launch: {}: {}", what, std::generic_category().message(errno)));
}

bool is_death_by_signal(const siginfo_t& how) {
  return how.si_code == CLD_KILLED || how.si_code == CLD_DUMPED;
}

std::string describe_end(const siginfo_t& how) {
  if (!is_death_by_signal(how)) {
    return fmt::format("exited with code {}", how.si_status);
  }
  const char* name = ::sigabbrev_np(how.si_status);
  return fmt::format("was killed by signal {}{}", how.si_status,
                     name == nullptr ? "" : fmt::format(" (SIG{})", name));
}

/// Rank 0 reads what we were given, but not from a terminal: its process group is in the background
/// there, and the first read would stop it.
FileDescriptor standard_input_of(int rank) {
  if (rank == 0 && ::isatty(STDIN_FILENO) == 0) {
    return FileDescriptor(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0));
  }
  return FileDescriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC));
}

}  // namespace

Job::Channel::Channel(int fd, const LaunchOptions& options, LineMerger::Emit emit)
    : sink(fd), writer(sink, options.output), merger(options.rank_count, std::move(emit)) {}

Job::Job(const LaunchOptions& options)
    : options_(options), job_end_(Deadline::after(monotonic_clock(), options.timeout)) {
  for (const std::size_t stream : {kStdout, kStderr}) {
    channels_[stream] =
        std::make_unique<Channel>(static_cast<int>(stream) + STDOUT_FILENO, options_,
                                  [this, stream](int rank, std::string_view text) {
                                    channels_[stream]->writer.write(rank, text);
                                  });
  }
  if (options_.on_stdout_line) {
    channels_[kStdout]->merger = LineMerger(options_.rank_count, [this](int rank, auto text) {
      options_.on_stdout_line(rank, text.substr(0, text.size() - (text.ends_with('\n') ? 1 : 0)));
    });
    channels_[kStdout]->merger.keep_lines_whole();
  }
}

sigset_t Job::handled_signals() {
  sigset_t handled;
  sigemptyset(&handled);
  for (const int signal_number : kForwardedSignals) {
    sigaddset(&handled, signal_number);
  }
  sigaddset(&handled, SIGPIPE);
  return handled;
}

Result<std::unique_ptr<Job>> Job::make(const LaunchOptions& options) {
  std::unique_ptr<Job> job(new Job(options));
  const sigset_t handled = handled_signals();
  job->signal_fd_ = FileDescriptor(::signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!job->signal_fd_.valid()) {
    return system_error("signalfd");
  }
  CROSSDOCK_ASSIGN_OR_RETURN(Guard guard, Guard::start());
  job->guard_ = std::make_unique<Guard>(std::move(guard));
  return job;
}

Job::~Job() {
  kill_everything();
  guard_.reset();  // Before the numbers of the groups become free.
  for (const Rank& rank : ranks_) {
    while (::waitpid(rank.process.process_id, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
}

Status Job::add_rank(SpawnOptions spawn) {
  Rank rank;
  spawn.standard_input = standard_input_of(static_cast<int>(ranks_.size()));
  if (options_.output != RankOutput::kInherited) {
    CROSSDOCK_ASSIGN_OR_RETURN(Pipe out, make_pipe());
    CROSSDOCK_ASSIGN_OR_RETURN(Pipe err, make_pipe());
    spawn.standard_output = std::move(out.write_end);
    spawn.standard_error = std::move(err.write_end);
    rank.outputs = {std::move(out.read_end), std::move(err.read_end)};
  }
  CROSSDOCK_ASSIGN_OR_RETURN(rank.process, spawn_rank(std::move(spawn)));
  const pid_t group = rank.process.process_id;
  ranks_.push_back(std::move(rank));
  return guard_->watch(group);
}

void Job::note(std::string_view line) {
  channels_[kStderr]->writer.note(fmt::format("crossdock launch: {}", line));
}

Result<int> Job::run() {
  while (!is_done()) {
    CROSSDOCK_RETURN_IF_ERROR(poll_once());
  }
  return exit_code_;
}

bool Job::has_alive() const {
  return std::any_of(ranks_.begin(), ranks_.end(), [](const Rank& rank) { return rank.alive; });
}

bool Job::is_done() const {
  const bool has_output = std::any_of(ranks_.begin(), ranks_.end(), [](const Rank& rank) {
    return rank.outputs[kStdout].valid() || rank.outputs[kStderr].valid();
  });
  return !has_alive() && !has_output && !channels_[kStdout]->sink.has_pending() &&
         !channels_[kStderr]->sink.has_pending();
}

Deadline Job::next_wake_up() const {
  return std::min({phase_end_, phase_ < Phase::kTerminating ? job_end_ : Deadline::never(),
                   channels_[kStdout]->merger.next_flush(),
                   channels_[kStderr]->merger.next_flush()});
}

Job::WatchList Job::make_watch_list() const {
  WatchList list;
  list.add(signal_fd_.get(), POLLIN, {Source::kSignals});
  for (const std::size_t stream : {kStdout, kStderr}) {
    if (channels_[stream]->sink.has_pending()) {
      list.add(channels_[stream]->sink.fd(), POLLOUT, {Source::kSink, -1, stream});
    }
  }
  for (int index = 0; index < static_cast<int>(ranks_.size()); ++index) {
    const Rank& rank = ranks_[static_cast<std::size_t>(index)];
    if (rank.alive) {
      list.add(rank.process.pidfd.get(), POLLIN, {Source::kProcess, index});
    }
    for (const std::size_t stream : {kStdout, kStderr}) {
      if (rank.outputs[stream].valid() && !channels_[stream]->sink.is_full()) {
        list.add(rank.outputs[stream].get(), POLLIN, {Source::kOutput, index, stream});
      }
    }
  }
  return list;
}

Status Job::poll_once() {
  WatchList list = make_watch_list();
  CROSSDOCK_RETURN_IF_ERROR(fabric::poll_until(list.events, next_wake_up()));
  std::vector<int> ended;
  for (std::size_t i = 0; i < list.events.size(); ++i) {
    if (list.events[i].revents == 0) {
      continue;
    }
    const Watched& what = list.watched[i];
    switch (what.source) {
      case Source::kSignals:
        handle_signals();
        break;
      case Source::kSink:
        channels_[what.stream]->sink.write_some();
        break;
      case Source::kProcess:
        ended.push_back(what.rank);
        break;
      case Source::kOutput:
        read_output(what.rank, what.stream);
        break;
    }
  }
  reap_ended(ended);
  const Instant now = monotonic_clock().now();
  channels_[kStdout]->merger.flush_old(now);
  channels_[kStderr]->merger.flush_old(now);
  advance_phase(now);
  return {};
}

void Job::read_output(int rank, std::size_t stream) {
  FileDescriptor& output = ranks_[static_cast<std::size_t>(rank)].outputs[stream];
  if (!output.valid()) {
    return;  // Closed earlier in this round.
  }
  if (channels_[stream]->sink.is_broken()) {
    close_output(rank, stream);  // Our reader went away: the rank's next write fails likewise.
    return;
  }
  std::array<char, kReadBytes> bytes;  // Not initialised: read() fills it.
  const ssize_t count = ::read(output.get(), bytes.data(), bytes.size());
  if (count > 0) {
    channels_[stream]->merger.add(rank,
                                  std::string_view(bytes.data(), static_cast<std::size_t>(count)),
                                  monotonic_clock().now());
  } else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
    close_output(rank, stream);
  }
}

void Job::close_output(int rank, std::size_t stream) {
  channels_[stream]->merger.finish(rank);
  ranks_[static_cast<std::size_t>(rank)].outputs[stream].reset();
}

void Job::reap_ended(const std::vector<int>& ended) {
  std::vector<std::pair<int, siginfo_t>> failures;
  for (const int index : ended) {
    Rank& rank = ranks_[static_cast<std::size_t>(index)];
    siginfo_t how{};
    const auto id = static_cast<id_t>(rank.process.process_id);
    if (::waitid(P_PID, id, &how, WEXITED | WNOWAIT | WNOHANG) != 0 || how.si_pid == 0) {
      continue;
    }
    rank.alive = false;
    if (how.si_code != CLD_EXITED || how.si_status != 0) {
      failures.emplace_back(index, how);
    }
  }
  // Of those that ended at the same moment, one that a signal killed is the likelier cause.
  const auto first = std::find_if(failures.begin(), failures.end(), [](const auto& failure) {
    return is_death_by_signal(failure.second);
  });
  if (!failures.empty()) {
    const auto& cause = first == failures.end() ? failures.front() : *first;
    report_failure(cause.first, cause.second);
  }
  if (!ended.empty() && !has_alive()) {
    kill_everything();  // What the ranks left behind in their groups.
    phase_ = Phase::kDraining;
    phase_end_ = Deadline::after(monotonic_clock(), kDrainTime);
  }
}

void Job::report_failure(int rank, const siginfo_t& how) {
  if (exit_code_ != 0) {
    return;  // Only the first failure is the cause; the others follow from it.
  }
  exit_code_ = is_death_by_signal(how) ? 128 + how.si_status : how.si_status;
  const std::chrono::duration<double> grace = options_.grace;
  const bool waits = has_alive() && phase_ == Phase::kRunning;
  note(fmt::format("rank {} {}{}", rank, describe_end(how),
                   waits ? fmt::format("; the others have {} s to report", grace.count()) : ""));
  begin_ending(Phase::kGrace);
}

void Job::begin_ending(Phase phase) {
  if (phase_ >= phase) {
    return;
  }
  phase_ = phase;
  if (phase == Phase::kGrace) {
    phase_end_ = Deadline::after(monotonic_clock(), options_.grace);
    return;
  }
  if (phase == Phase::kTerminating) {
    signal_alive(SIGTERM, /*whole_group=*/true);
    signal_alive(SIGCONT, /*whole_group=*/true);  // A stopped process takes SIGTERM only then.
    phase_end_ = Deadline::after(monotonic_clock(), kTerminateTime);
    return;
  }
  kill_everything();
  phase_end_ = Deadline::never();
}

void Job::advance_phase(Instant now) {
  if (phase_ < Phase::kTerminating && has_alive() && job_end_.expired(now)) {
    if (exit_code_ == 0) {
      exit_code_ = kTimedOutExitCode;
    }
    const std::chrono::duration<double> timeout = options_.timeout;
    note(fmt::format("the job did not end in {} s; ending its ranks", timeout.count()));
    begin_ending(Phase::kTerminating);
  }
  if (!phase_end_.expired(now)) {
    return;
  }
  switch (phase_) {
    case Phase::kGrace:
      begin_ending(Phase::kTerminating);
      break;
    case Phase::kTerminating:
      begin_ending(Phase::kKilled);
      break;
    case Phase::kDraining:
      if (channels_[kStdout]->sink.has_pending() || channels_[kStderr]->sink.has_pending()) {
        phase_end_ = Deadline::after(now, kDrainTime);  // The reader is slow, not the ranks.
      } else {
        drop_output();
      }
      break;
    case Phase::kRunning:
    case Phase::kKilled:
      break;
  }
}

/// Somebody who left the rank's process group still holds its pipes; we do not wait for that.
void Job::drop_output() {
  phase_end_ = Deadline::never();
  for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) {
    close_output(rank, kStdout);
    close_output(rank, kStderr);
  }
}

void Job::handle_signals() {
  signalfd_siginfo info{};
  while (::read(signal_fd_.get(), &info, sizeof(info)) == static_cast<ssize_t>(sizeof(info))) {
    handle_signal(static_cast<int>(info.ssi_signo));
  }
}

void Job::handle_signal(int signal_number) {
  switch (signal_number) {
    case SIGPIPE:
      return;  // write() said it already.
    case SIGUSR1:
    case SIGUSR2:
      signal_alive(signal_number, /*whole_group=*/false);
      return;
    case SIGTSTP:  // Ranks have process groups of their own: the terminal stops only this one.
      signal_alive(SIGSTOP, /*whole_group=*/true);  // SIGTSTP does nothing to an orphaned group.
      ::raise(SIGSTOP);
      return;
    case SIGCONT:
      signal_alive(signal_number, /*whole_group=*/true);
      return;
    default:
      break;
  }
  if (signal_number == SIGINT && interrupted_) {
    begin_ending(Phase::kKilled);
    drop_output();
    channels_[kStdout]->sink.discard();
    return;
  }
  interrupted_ = true;
  signal_alive(signal_number, /*whole_group=*/true);
  begin_ending(Phase::kGrace);
}

void Job::signal_alive(int signal_number, bool whole_group) {
  for (const Rank& rank : ranks_) {
    if (rank.alive) {
      const pid_t process_id = rank.process.process_id;
      ::kill(whole_group ? -process_id : process_id, signal_number);
    }
  }
}

void Job::kill_everything() {
  for (const Rank& rank : ranks_) {
    ::kill(-rank.process.process_id, SIGKILL);
  }
}

}  // namespace crossdock::cli
