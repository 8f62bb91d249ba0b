// SPDX-License-Identifier: Apache-2.0
// Exit codes, signals, patience and orphans of launch(). Its output: launch_output_test.cc.
#include "cli/launch.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/settings.h"
#include "cli/launch_test_support.h"
#include "fabric/bootstrap/bootstrap.h"

namespace crossdock::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

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
  EXPECT_LT(seconds_since(start), 60);
}

TEST(Launch, ExitCodeOfAKilledRankIs128PlusTheSignal) {
  const Outcome outcome = run_launch(shell(2, "[ $RANK = 1 ] && kill -9 $$; exit 0"));
  EXPECT_EQ(outcome.exit_code, 137);
  EXPECT_THAT(outcome.err, StartsWith("crossdock launch: rank 1 was killed by signal 9 (SIGKILL)"));
}

TEST(Launch, OtherRanksMayReportDuringTheGraceTime) {
  LaunchOptions options = shell(2, "[ $RANK = 1 ] && exit 5; sleep 0.3; echo report");
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
  EXPECT_LT(seconds_since(start), 60);
}

TEST(Launch, AStoppedRankIsEndedToo) {
  const Outcome outcome = run_launch(shell(2, "[ $RANK = 1 ] && exit 5; kill -STOP $$"));
  EXPECT_EQ(outcome.exit_code, 5);
}

TEST(Launch, ItsStopFromTheTerminalStopsTheRanksUntilItContinues) {
  // The ranks wait without a fork: a shell that is stopped in one shows as 'D', not as 'T'.
  const std::string gate =
      ::testing::TempDir() + "/crossdock_launch_test_" + std::to_string(getpid());
  ASSERT_EQ(::mkfifo(gate.c_str(), 0600), 0);
  const FileDescriptor opener(::open(gate.c_str(), O_RDWR | O_CLOEXEC));
  Launcher launcher(shell(2, "echo group $$; read go <>" + gate + "; echo through"));
  ASSERT_TRUE(launcher.wait_for("group", 2));
  launcher.signal(SIGTSTP);
  EXPECT_TRUE(becomes_true([&] { return process_state(launcher.process_id()) == 'T'; }));
  for (const pid_t rank : numbers_after(launcher.seen(), "group ")) {
    EXPECT_TRUE(becomes_true([&] { return process_state(rank) == 'T'; }));
  }
  launcher.signal(SIGCONT);
  ASSERT_EQ(::write(opener.get(), "go\ngo\n", 6), 6);
  const Outcome outcome = launcher.finish();
  std::remove(gate.c_str());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(Launcher::occurrences(outcome.out, "through"), 2);
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

TEST(LaunchSignals, SigintReachesEveryRank) {
  LaunchOptions options =
      shell(3, "trap 'echo got; exit 3' INT; echo ready; while :; do sleep 0.01; done");
  options.grace = kPatience;
  Launcher launcher(options);
  ASSERT_TRUE(launcher.wait_for("ready", 3));
  launcher.signal(SIGINT);
  const Outcome outcome = launcher.finish();
  EXPECT_EQ(Launcher::occurrences(outcome.out, "got"), 3) << outcome.out;
  EXPECT_EQ(outcome.exit_code, 3);
}

TEST(LaunchSignals, RanksThatEndWellAfterSigtermMakeASuccess) {
  LaunchOptions options = shell(2, "trap 'exit 0' TERM; echo ready; while :; do sleep 0.01; done");
  options.grace = kPatience;
  Launcher launcher(options);
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

TEST(LaunchBootstrap, RanksFindEachOtherThroughTheirEnvironment) {
  LaunchOptions options = shell(4, "");
  options.argv = {own_program().value(), "--join"};
  const Outcome outcome = run_launch(options);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(sorted_lines(outcome.out),
            (std::vector<std::string>{"[0] met 4", "[1] met 4", "[2] met 4", "[3] met 4"}));
}

TEST(LaunchBootstrap, ARankThatDiesWhileTheyMeetIsNamedByTheOthers) {
  LaunchOptions options = shell(3, "[ $RANK = 2 ] && kill -9 $$; exec \"$0\" --join");
  options.argv.push_back(own_program().value());
  options.environment = {{"CROSSDOCK_TIMEOUT", "1"}};
  options.grace = kPatience;
  const Outcome outcome = run_launch(options);
  EXPECT_EQ(outcome.exit_code, 137);
  EXPECT_THAT(outcome.err,
              AllOf(HasSubstr("[0] bootstrap: timed out waiting for rank 2 of 3 to join"),
                    HasSubstr("[1] bootstrap: timed out waiting for rank 2 of 3 to join")));
}

TEST(OwnProgram, IsThisTest) {
  const auto path = own_program();
  ASSERT_TRUE(path.ok());
  EXPECT_THAT(*path, HasSubstr("launch_test"));
}

}  // namespace

/// What this program does as a rank: meets the others in the way its environment says.
int join_as_rank() {
  const auto options = fabric::tcp_options_from_environment();
  const Deadline deadline = Deadline::after(monotonic_clock(), settings().timeout);
  auto bootstrap = options.ok() ? fabric::make_tcp_bootstrap(*options, deadline)
                                : Result<std::unique_ptr<fabric::Bootstrap>>(options.status());
  const auto blobs = bootstrap.ok()
                         ? (*bootstrap)->all_gather({}, deadline)
                         : Result<std::vector<std::vector<std::byte>>>(bootstrap.status());
  if (!blobs.ok()) {
    std::cerr << blobs.status().message() << '\n' << std::flush;
    return 3;
  }
  std::cout << "met " << blobs->size() << '\n' << std::flush;
  return 0;
}

}  // namespace crossdock::cli

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "--join") {
    return crossdock::cli::join_as_rank();
  }
  ::testing::InitGoogleMock(&argc, argv);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // So that becomes_true() can reap orphans.
  return RUN_ALL_TESTS();
}
