// SPDX-License-Identifier: Apache-2.0
// What ranks write, what they read, and where they run.
#include "cli/launch_output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "cli/launch_test_support.h"

namespace crossdock::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

using Piece = std::pair<int, std::string>;

constexpr Instant kStart{1'000'000'000};

TEST(LineMerger, PassesOnWholeLinesHoweverTheyArrive) {
  std::vector<Piece> pieces;
  LineMerger merger(2, [&](int rank, std::string_view text) { pieces.emplace_back(rank, text); });
  merger.add(0, "a\nb", kStart);
  merger.add(1, "x", kStart);
  merger.add(0, "c\n\nd", kStart);
  merger.add(1, "y\n", kStart);
  merger.finish(0);
  EXPECT_EQ(pieces,
            (std::vector<Piece>{{0, "a\n"}, {0, "bc\n"}, {0, "\n"}, {1, "xy\n"}, {0, "d"}}));
}

TEST(LineMerger, AnUnfinishedLineGoesOutOnceItIsOld) {
  std::vector<Piece> pieces;
  LineMerger merger(1, [&](int rank, std::string_view text) { pieces.emplace_back(rank, text); });
  EXPECT_TRUE(merger.next_flush().is_never());
  merger.add(0, "50 %", kStart);
  const Deadline due = merger.next_flush();
  merger.flush_old(due.instant() - Duration(1));
  EXPECT_TRUE(pieces.empty());
  merger.flush_old(due.instant());
  EXPECT_EQ(pieces, (std::vector<Piece>{{0, "50 %"}}));
  EXPECT_TRUE(merger.next_flush().is_never());
}

TEST(LineWriter, ALineBelongsToOneRankEvenIfItsEndIsLate) {
  auto pipe = make_pipe();
  ASSERT_TRUE(pipe.ok());
  OutputSink sink(pipe->write_end.get());
  LineWriter writer(sink, RankOutput::kPrefixed);
  writer.write(0, "50 %");
  writer.write(0, " 60 %");
  writer.write(1, "hello\n");
  writer.write(0, " 70 %\n");
  writer.write(1, "half");
  writer.note("note");
  while (sink.has_pending()) {
    sink.write_some();
  }
  std::array<char, 256> bytes{};
  const ssize_t count = ::read(pipe->read_end.get(), bytes.data(), bytes.size());
  EXPECT_EQ(std::string(bytes.data(), static_cast<std::size_t>(count)),
            "[0] 50 % 60 %\n[1] hello\n[0]  70 %\n[1] half\nnote\n");
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
  const Outcome outcome = run_launch(shell(1, "setsid sleep 1000 & echo helper $!"));
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_LT(seconds_since(start), 60);
  const auto helpers = numbers_after(outcome.out, "[0] helper ");
  ASSERT_EQ(helpers.size(), 1U) << outcome.out;
  ::kill(helpers[0], SIGKILL);
}

TEST(LaunchInput, StartsWithStdinClosed) {
  const Outcome outcome =
      Launcher(shell(2, "read line; echo \"got:$line\""), StreamState::kClosed).finish();
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(sorted_lines(outcome.out), (std::vector<std::string>{"[0] got:", "[1] got:"}));
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

}  // namespace
}  // namespace crossdock::cli
