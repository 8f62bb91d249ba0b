// SPDX-License-Identifier: Apache-2.0
// launch() with real processes. It runs in a forked child whose stdout and stderr are pipes, as if
// a shell had started it.
#include "cli/launch.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <functional>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "cli/launch_process.h"

namespace crossdock::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr auto kPatience = std::chrono::seconds(60);

LaunchOptions shell(int rank_count, const std::string& script) {
  LaunchOptions options;
  options.argv = {"/bin/sh", "-c", script};
  options.rank_count = rank_count;
  options.binding = Binding::kNone;
  options.grace = std::chrono::milliseconds(200);
  return options;
}

struct Outcome {
  int exit_code = -1;  // 128 + signal when the launcher itself was killed
  std::string out;
  std::string err;
};

enum class StreamState : std::uint8_t { kOpen, kClosed };

/// A launcher in a process of its own.
class Launcher {
 public:
  explicit Launcher(const LaunchOptions& options, StreamState standard_input = StreamState::kOpen) {
    auto out = make_pipe();
    auto err = make_pipe();
    process_id_ = ::fork();
    if (process_id_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::dup2(out->write_end.get(), STDOUT_FILENO);
      ::dup2(err->write_end.get(), STDERR_FILENO);
      *out = Pipe();  // Nobody else may hold the ends, else nobody sees the other side close.
      *err = Pipe();
      if (standard_input == StreamState::kClosed) {
        ::close(STDIN_FILENO);
      }
      ::_exit(run(options));
    }
    out_ = std::move(out->read_end);
    err_ = std::move(err->read_end);
  }
  ~Launcher() {
    if (process_id_ > 0) {
      ::kill(process_id_, SIGKILL);
      ::waitpid(process_id_, nullptr, 0);
    }
  }
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;

  void signal(int signal_number) const { ::kill(process_id_, signal_number); }
  void close_stdout() { out_.reset(); }

  /// Until stdout holds `count` lines that contain `text`.
  [[nodiscard]] bool wait_for(const std::string& text, int count = 1) {
    const Deadline deadline = Deadline::after(monotonic_clock(), kPatience);
    while (occurrences(outcome_.out, text) < count) {
      if (deadline.expired(monotonic_clock().now()) || !read_more()) {
        return false;
      }
    }
    return true;
  }

  Outcome finish() {
    const Deadline deadline = Deadline::after(monotonic_clock(), kPatience);
    while (read_more() && !deadline.expired(monotonic_clock().now())) {
    }
    int status = 0;
    ::waitpid(process_id_, &status, 0);
    process_id_ = -1;
    outcome_.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return outcome_;
  }

  static int occurrences(const std::string& text, const std::string& wanted) {
    int count = 0;
    for (auto at = text.find(wanted); at != std::string::npos; at = text.find(wanted, at + 1)) {
      ++count;
    }
    return count;
  }

 private:
  static int run(const LaunchOptions& options) {
    const auto result = launch(options);
    if (result.ok()) {
      return *result;
    }
    std::cerr << result.status().message() << '\n' << std::flush;
    return result.status().kind() == StatusKind::kInvalidArgument ? 2 : 3;
  }

  /// False once both streams ended.
  bool read_more() {
    std::array<pollfd, 2> events = {{{.fd = out_.get(), .events = POLLIN, .revents = 0},
                                     {.fd = err_.get(), .events = POLLIN, .revents = 0}}};
    ::poll(events.data(), events.size(), 1000);
    read_stream(out_, outcome_.out);
    read_stream(err_, outcome_.err);
    return out_.valid() || err_.valid();
  }

  static void read_stream(FileDescriptor& from, std::string& into) {
    std::array<char, 65536> bytes{};
    const ssize_t count = from.valid() ? ::read(from.get(), bytes.data(), bytes.size()) : -1;
    if (count > 0) {
      into.append(bytes.data(), static_cast<std::size_t>(count));
    } else if (count == 0) {
      from.reset();
    }
  }

  pid_t process_id_ = -1;
  FileDescriptor out_;
  FileDescriptor err_;
  Outcome outcome_;
};

Outcome run_launch(const LaunchOptions& options) { return Launcher(options).finish(); }

std::vector<std::string> sorted_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(line);
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

/// The numbers that follow `label` in `text`.
std::vector<pid_t> numbers_after(const std::string& text, const std::string& label) {
  std::vector<pid_t> numbers;
  for (auto at = text.find(label); at != std::string::npos; at = text.find(label, at + 1)) {
    numbers.push_back(std::stoi(text.substr(at + label.size())));
  }
  return numbers;
}

/// Whether `is_gone` comes true; orphans come to us (see main) and are reaped meanwhile.
bool becomes_true(const std::function<bool()>& is_gone) {
  const Deadline deadline = Deadline::after(monotonic_clock(), kPatience);
  while (!is_gone()) {
    if (deadline.expired(monotonic_clock().now())) {
      return false;
    }
    ::waitpid(-1, nullptr, WNOHANG);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

bool group_is_gone(pid_t group) {
  return becomes_true([&] { return ::kill(-group, 0) != 0 && errno == ESRCH; });
}

double seconds_since(Instant start) {
  return std::chrono::duration<double>(monotonic_clock().now() - start).count();
}

TEST(Launch, AllRanksSucceedAndEachKnowsWhoItIs) {
  const Outcome outcome = run_launch(
      shell(3,
            "echo $CROSSDOCK_RANK/$CROSSDOCK_SIZE $RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE "
            "$MASTER_ADDR $CROSSDOCK_LAUNCHED ${#CROSSDOCK_JOB_SECRET} ${CROSSDOCK_BOOTSTRAP%:*} "
            "${CROSSDOCK_BOOTSTRAP_FD:+fd}"));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(sorted_lines(outcome.out),
            (std::vector<std::string>{"[0] 0/3 0/3 0/3 127.0.0.1 1 64 127.0.0.1 fd",
                                      "[1] 1/3 1/3 1/3 127.0.0.1 1 64 127.0.0.1",
                                      "[2] 2/3 2/3 2/3 127.0.0.1 1 64 127.0.0.1"}));
  EXPECT_EQ(outcome.err, "");
}

TEST(Launch, RanksGetTheSameSecretAndAnotherJobAnotherOne) {
  const LaunchOptions options = shell(2, "echo $CROSSDOCK_JOB_SECRET $CROSSDOCK_BOOTSTRAP");
  const auto first = sorted_lines(run_launch(options).out);
  const auto second = sorted_lines(run_launch(options).out);
  ASSERT_EQ(first.size(), 2U);
  EXPECT_EQ(first[0].substr(4), first[1].substr(4));
  EXPECT_NE(first[0], second[0]);
}

TEST(Launch, OnlyRankZeroInheritsTheListeningSocket) {
  LaunchOptions options = shell(
      2,
      "for fd in /proc/self/fd/*; do case $(readlink $fd) in socket:*) echo ${fd##*/};; esac; "
      "done; echo fd=$CROSSDOCK_BOOTSTRAP_FD");
  const auto lines = sorted_lines(run_launch(options).out);
  ASSERT_EQ(lines.size(), 3U) << ::testing::PrintToString(lines);
  EXPECT_EQ(lines[1], "[0] fd=" + lines[0].substr(4));
  EXPECT_EQ(lines[2], "[1] fd=");
}

TEST(Launch, AddedVariablesReachEveryRankAndWin) {
  LaunchOptions options = shell(2, "echo $EXTRA $WORLD_SIZE");
  options.environment = {{"EXTRA", "a b=c"}, {"WORLD_SIZE", "7"}};
  EXPECT_EQ(sorted_lines(run_launch(options).out),
            (std::vector<std::string>{"[0] a b=c 7", "[1] a b=c 7"}));
}

TEST(Launch, ExitCodeIsThatOfTheFirstRankThatFails) {
  const Instant start = monotonic_clock().now();
  const Outcome outcome = run_launch(
      shell(3, "[ $RANK = 1 ] && exit 7; trap 'exit 9' TERM; while :; do sleep 0.01; done"));
  EXPECT_EQ(outcome.exit_code, 7);
  EXPECT_THAT(outcome.err, StartsWith("crossdock launch: rank 1 exited with code 7; the others "
                                      "have 0.2 s to report\n"));
  EXPECT_LT(seconds_since(start), 20);
}

TEST(Launch, ExitCodeOfAKilledRankIs128PlusTheSignal) {
  const Outcome outcome = run_launch(shell(2, "[ $RANK = 1 ] && kill -9 $$; exit 0"));
  EXPECT_EQ(outcome.exit_code, 137);
  EXPECT_THAT(outcome.err, StartsWith("crossdock launch: rank 1 was killed by signal 9 (SIGKILL)"));
}

TEST(Launch, OtherRanksMayReportDuringTheGraceTime) {
  LaunchOptions options = shell(2, "[ $RANK = 1 ] && exit 5; sleep 0.3; echo report; exit 6");
  options.grace = kPatience;
  const Outcome outcome = run_launch(options);
  EXPECT_EQ(outcome.exit_code, 5);
  EXPECT_EQ(outcome.out, "[0] report\n");
}

TEST(Launch, ARankThatIgnoresSigtermIsKilledTwoSecondsAfterTheGraceTime) {
  const Instant start = monotonic_clock().now();
  const Outcome outcome =
      run_launch(shell(2, "[ $RANK = 1 ] && exit 5; trap '' TERM; while :; do sleep 0.01; done"));
  EXPECT_EQ(outcome.exit_code, 5);
  EXPECT_GE(seconds_since(start), 2.0);
  EXPECT_LT(seconds_since(start), 20.0);
}

TEST(Launch, AStoppedRankIsEndedToo) {
  const Outcome outcome = run_launch(shell(2, "[ $RANK = 1 ] && exit 5; kill -STOP $$"));
  EXPECT_EQ(outcome.exit_code, 5);
}

TEST(Launch, TheJobTimeoutEndsAllRanksWithCode124) {
  LaunchOptions options = shell(2, "exec sleep 1000");
  options.timeout = std::chrono::milliseconds(100);
  const Outcome outcome = run_launch(options);
  EXPECT_EQ(outcome.exit_code, kTimedOutExitCode);
  EXPECT_EQ(outcome.err, "crossdock launch: the job did not end in 0.1 s; ending its ranks\n");
}

TEST(Launch, UsageErrorsSayWhatIsWrong) {
  LaunchOptions options = shell(0, "true");
  EXPECT_EQ(launch(options).status().message(), "number of ranks 0 is not in 1 .. 4096");
  options = shell(1, "true");
  options.argv = {"no-such-program-anywhere"};
  EXPECT_EQ(launch(options).status().message(),
            "cannot run 'no-such-program-anywhere': no such program in PATH");
  options.argv = {"/no/such/file"};
  EXPECT_EQ(launch(options).status().message(), "cannot run '/no/such/file': no such file");
  options.argv = {"/etc/passwd"};
  EXPECT_EQ(launch(options).status().message(), "cannot run '/etc/passwd': not an executable file");
  options.argv = {};
  EXPECT_EQ(launch(options).status().message(), "no program to launch");
  EXPECT_EQ(launch(options).status().kind(), StatusKind::kInvalidArgument);
}

TEST(Launch, AFileThatTheSystemCannotRunIsAUsageError) {
  std::string path = ::testing::TempDir() + "/crossdock_launch_XXXXXX";
  FileDescriptor file(::mkstemp(path.data()));
  ASSERT_EQ(::write(file.get(), "?", 1), 1);
  ASSERT_EQ(::fchmod(file.get(), 0700), 0);
  file.reset();  // A file that is open for writing cannot be run for that reason alone.
  LaunchOptions options = shell(2, "true");
  options.argv = {path};
  const auto result = launch(options);
  ::unlink(path.c_str());
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().kind(), StatusKind::kInvalidArgument);
  EXPECT_THAT(std::string(result.status().message()), HasSubstr(path));
}

TEST(LaunchOutput, StdoutAndStderrStayApartAndEveryLineHasItsPrefix) {
  const Outcome outcome =
      run_launch(shell(2, "echo out$RANK; echo err$RANK >&2; printf '\\nend\\n'"));
  EXPECT_EQ(sorted_lines(outcome.out), (std::vector<std::string>{"[0] ", "[0] end", "[0] out0",
                                                                 "[1] ", "[1] end", "[1] out1"}));
  EXPECT_EQ(sorted_lines(outcome.err), (std::vector<std::string>{"[0] err0", "[1] err1"}));
}

TEST(LaunchOutput, WithoutPrefixTheBytesAreUnchanged) {
  LaunchOptions options = shell(1, "printf 'a\\n\\nb\\000c\\n\\377no end'");
  options.output = RankOutput::kLines;
  EXPECT_EQ(run_launch(options).out, std::string("a\n\nb\0c\n\377no end", 14));
}

TEST(LaunchOutput, InheritedOutputReachesOurStreamsDirectly) {
  LaunchOptions options = shell(1, "echo here; echo there >&2");
  options.output = RankOutput::kInherited;
  const Outcome outcome = run_launch(options);
  EXPECT_EQ(outcome.out, "here\n");
  EXPECT_EQ(outcome.err, "there\n");
}

TEST(LaunchOutput, MegabytesFromEveryRankArriveWholeAndUnmixed) {
  // 2 MiB per rank in lines of 64 characters that name their rank and number.
  const Outcome outcome = run_launch(shell(
      8, "awk -v r=$RANK 'BEGIN { for (i = 0; i < 32768; ++i) printf \"%d %061d\\n\", r, i }'"));
  EXPECT_EQ(outcome.exit_code, 0);
  std::map<int, int> next;
  std::istringstream stream(outcome.out);
  for (std::string line; std::getline(stream, line);) {
    int prefix = -1;
    int rank = -1;
    int number = -1;
    ASSERT_EQ(std::sscanf(line.c_str(), "[%d] %d %d", &prefix, &rank, &number), 3) << line;
    ASSERT_EQ(prefix, rank) << line;
    ASSERT_EQ(line.size(), 4U + 63U) << line;
    ASSERT_EQ(number, next[rank]++) << line;
  }
  for (int rank = 0; rank < 8; ++rank) {
    EXPECT_EQ(next[rank], 32768) << "rank " << rank;
  }
}

TEST(LaunchOutput, AnUnfinishedLineIsShownWhileItsRankWaits) {
  Launcher launcher(shell(1, "printf 'password: '; while :; do sleep 0.01; done"));
  EXPECT_TRUE(launcher.wait_for("[0] password: "));
  launcher.signal(SIGTERM);
  EXPECT_EQ(launcher.finish().exit_code, 128 + SIGTERM);
}

TEST(LaunchOutput, AFunctionGetsTheLinesOfStdoutInsteadOfOurStdout) {
  LaunchOptions options = shell(2, "printf \"one $RANK\\ntwo $RANK\"; echo seen >&2");
  options.on_stdout_line = [](int rank, std::string_view line) {
    std::cerr << "<" << rank << ":" << line << ">\n";
  };
  const Outcome outcome = run_launch(options);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(sorted_lines(outcome.err),
            (std::vector<std::string>{"<0:one 0>", "<0:two 0>", "<1:one 1>", "<1:two 1>",
                                      "[0] seen", "[1] seen"}));
}

TEST(LaunchOutput, RanksEndWhenNobodyReadsOurStdout) {
  Launcher launcher(shell(2, "yes"));
  ASSERT_TRUE(launcher.wait_for("[0] y"));
  launcher.close_stdout();
  EXPECT_EQ(launcher.finish().exit_code, 128 + SIGPIPE);
}

TEST(LaunchOutput, AHelperThatKeepsThePipeOpenDoesNotHoldUsUp) {
  const Instant start = monotonic_clock().now();
  const Outcome outcome = run_launch(shell(1, "setsid sleep 20 & echo done"));
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.out, "[0] done\n");
  EXPECT_LT(seconds_since(start), 15);
}

TEST(LaunchInput, StartsWithStdinClosed) {
  const Outcome outcome =
      Launcher(shell(2, "read line; echo \"got:$line\""), StreamState::kClosed).finish();
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(sorted_lines(outcome.out), (std::vector<std::string>{"[0] got:", "[1] got:"}));
}

TEST(LaunchSignals, SigintReachesEveryRank) {
  Launcher launcher(
      shell(3, "trap 'echo got; exit 3' INT; echo ready; while :; do sleep 0.01; done"));
  ASSERT_TRUE(launcher.wait_for("ready", 3));
  launcher.signal(SIGINT);
  const Outcome outcome = launcher.finish();
  EXPECT_EQ(Launcher::occurrences(outcome.out, "got"), 3) << outcome.out;
  EXPECT_EQ(outcome.exit_code, 3);
}

TEST(LaunchSignals, RanksThatEndWellAfterSigtermMakeASuccess) {
  Launcher launcher(shell(2, "trap 'exit 0' TERM; echo ready; while :; do sleep 0.01; done"));
  ASSERT_TRUE(launcher.wait_for("ready", 2));
  launcher.signal(SIGTERM);
  EXPECT_EQ(launcher.finish().exit_code, 0);
}

TEST(LaunchSignals, UserSignalsReachTheRanksAndEndNothing) {
  Launcher launcher(shell(
      2, "trap 'echo one' USR1; trap 'exit 0' USR2; echo ready; while :; do sleep 0.01; done"));
  ASSERT_TRUE(launcher.wait_for("ready", 2));
  launcher.signal(SIGUSR1);
  ASSERT_TRUE(launcher.wait_for("one", 2));
  launcher.signal(SIGUSR2);
  EXPECT_EQ(launcher.finish().exit_code, 0);
}

TEST(LaunchSignals, ASecondSigintKillsAtOnce) {
  LaunchOptions options =
      shell(2, "trap 'echo no' INT TERM; echo ready; while :; do sleep 0.01; done");
  options.grace = kPatience * 10;
  Launcher launcher(options);
  ASSERT_TRUE(launcher.wait_for("ready", 2));
  launcher.signal(SIGINT);
  ASSERT_TRUE(launcher.wait_for("no", 2));
  launcher.signal(SIGINT);
  EXPECT_EQ(launcher.finish().exit_code, 128 + SIGKILL);
}

TEST(LaunchOrphans, WhatRanksLeaveInTheirGroupsIsKilledAtTheEnd) {
  const Outcome outcome =
      run_launch(shell(2, "sleep 1000 >/dev/null 2>&1 & echo group $$; exit 0"));
  EXPECT_EQ(outcome.exit_code, 0);
  const auto groups = numbers_after(outcome.out, "group ");
  ASSERT_EQ(groups.size(), 2U);
  for (const pid_t group : groups) {
    EXPECT_TRUE(group_is_gone(group));
  }
}

TEST(LaunchOrphans, AKilledLauncherLeavesNothing) {
  Launcher launcher(shell(3, "sleep 1000 & echo group $$; trap '' INT TERM HUP; wait"));
  ASSERT_TRUE(launcher.wait_for("group", 3));
  launcher.signal(SIGKILL);
  const Outcome outcome = launcher.finish();
  EXPECT_EQ(outcome.exit_code, 128 + SIGKILL);
  for (const pid_t group : numbers_after(outcome.out, "group ")) {
    EXPECT_TRUE(group_is_gone(group));
  }
}

TEST(LaunchOrphans, ASigtermDuringTheStartEndsTheRanksToo) {
  LaunchOptions options = shell(2, "exec sleep 1000");
  options.grace = Duration::zero();
  Launcher launcher(options);
  launcher.signal(SIGTERM);  // Before, in or after the start of the ranks.
  EXPECT_EQ(launcher.finish().exit_code, 128 + SIGTERM);
}

TEST(LaunchBinding, CoreBindsEveryRankToAnAllowedProcessor) {
  LaunchOptions options = shell(3, "grep Cpus_allowed_list /proc/self/status");
  options.binding = Binding::kCore;
  cpu_set_t allowed;
  ASSERT_EQ(::sched_getaffinity(0, sizeof(allowed), &allowed), 0);
  const Outcome outcome = run_launch(options);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto processors = numbers_after(outcome.out, "Cpus_allowed_list:\t");
  ASSERT_EQ(processors.size(), 3U) << outcome.out;
  for (const int processor : processors) {
    EXPECT_TRUE(CPU_ISSET(processor, &allowed)) << processor;
  }
}

TEST(LaunchBinding, RespectsTheAffinityOfTheLauncher) {
  cpu_set_t before;
  ASSERT_EQ(::sched_getaffinity(0, sizeof(before), &before), 0);
  int last = 0;
  for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
    last = CPU_ISSET(processor, &before) ? processor : last;
  }
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(last, &one);
  ASSERT_EQ(::sched_setaffinity(0, sizeof(one), &one), 0);
  LaunchOptions options = shell(2, "grep Cpus_allowed_list /proc/self/status");
  options.binding = Binding::kCore;
  options.verbosity = Verbosity::kVerbose;
  const Outcome outcome = run_launch(options);
  ::sched_setaffinity(0, sizeof(before), &before);
  const std::string only = "Cpus_allowed_list:\t" + std::to_string(last);
  EXPECT_EQ(sorted_lines(outcome.out), (std::vector<std::string>{"[0] " + only, "[1] " + only}));
  EXPECT_THAT(outcome.err, HasSubstr("crossdock launch: rank 1: /bin/sh, bound to core 0 "));
}

TEST(LaunchBinding, AutoLeavesRanksFreeWhenThereAreMoreThanCores) {
  LaunchOptions options = shell(1, "true");
  options.rank_count = static_cast<int>(std::thread::hardware_concurrency()) + 1;
  options.binding = Binding::kAuto;
  options.verbosity = Verbosity::kVerbose;
  EXPECT_THAT(run_launch(options).err, AllOf(HasSubstr("not bound"), Not(HasSubstr("bound to"))));
}

TEST(OwnProgram, IsThisTest) {
  const auto path = own_program();
  ASSERT_TRUE(path.ok());
  EXPECT_THAT(*path, HasSubstr("launch_test"));
}

}  // namespace
}  // namespace crossdock::cli

int main(int argc, char** argv) {
  ::testing::InitGoogleMock(&argc, argv);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // So that becomes_true() can reap orphans.
  return RUN_ALL_TESTS();
}
