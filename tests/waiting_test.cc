// SPDX-License-Identifier: Apache-2.0
// Ranks that wait: how much of a core it costs, what they say meanwhile, more ranks than cores, and
// several communicators at once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <string>
#include <thread>

#include "tests/support/host_state.h"
#include "tests/support/rank_runner.h"
#include "tests/support/shaped_case.h"

namespace crossdock::testing {
namespace {

using ::testing::HasSubstr;

RunOptions processes() {
  RunOptions options;
  options.kind = RankKind::kProcesses;
  options.communicator.timeout = std::chrono::seconds(60);
  return options;
}

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

TEST(WaitingRank, UsesLittleOfACoreOnceItHasBackedOff) {
  run_ranks(
      2,
      [](Communicator& communicator) {
        if (communicator.rank() == 1) {
          std::this_thread::sleep_for(std::chrono::seconds(3));  // The absence that is waited for.
          ASSERT_TRUE(communicator.barrier().ok());
          return;
        }
        const std::int64_t start = monotonic_ns();
        const double cpu_before = cpu_seconds();
        ASSERT_TRUE(communicator.barrier().ok());
        const double waited = milliseconds_since(start) / 1e3;
        EXPECT_GT(waited, 2.0);
        EXPECT_LT(cpu_seconds() - cpu_before, 0.2 * waited);
      },
      processes());
}

/// Rank 0 waits for rank 1, which comes once the test has seen `text` on rank 0's stderr.
std::string stderr_until(const std::string& text, RunOptions options, bool with_signal) {
  std::array<int, 2> ends{-1, -1};
  std::array<int, 2> go{-1, -1};
  EXPECT_EQ(::pipe(ends.data()), 0);
  EXPECT_EQ(::pipe(go.data()), 0);
  RankProcesses ranks(
      2,
      [&](Communicator& communicator) {
        char byte = 0;
        if (communicator.rank() == 0) {
          ::dup2(ends[1], STDERR_FILENO);
          RankProcesses::say(communicator, "waiting");
        } else {
          EXPECT_EQ(::read(go[0], &byte, 1), 1);
        }
        EXPECT_TRUE(communicator.barrier().ok());
      },
      options);
  EXPECT_TRUE(becomes_true([&] { return !ranks.said(0).empty(); }));
  ::close(ends[1]);
  std::string said;
  // Read in small bites: the writer lives on until it is told to go.
  EXPECT_TRUE(becomes_true([&] {
    if (with_signal) {
      ranks.send_signal(0, SIGUSR1);
    }
    std::array<char, 512> bytes;
    const ssize_t count = ::read(ends[0], bytes.data(), bytes.size());
    said.append(bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    return said.find(text) != std::string::npos;
  })) << said;
  EXPECT_EQ(::write(go[1], "g", 1), 1);
  EXPECT_EQ(ranks.wait_exit(0), 0);
  EXPECT_EQ(ranks.wait_exit(1), 0);
  for (const int fd : {ends[0], go[0], go[1]}) {
    ::close(fd);
  }
  return said;
}

TEST(WaitingRank, SaysWhomItWaitsForOnSigusr1) {
  const std::string said = stderr_until("waits for rank 1 in barrier", processes(), true);
  EXPECT_THAT(said, HasSubstr("[rank 0]"));
}

TEST(WaitingRank, SaysThatItIsStillWaiting) {
  RunOptions options = processes();
  options.communicator.still_waiting = std::chrono::milliseconds(100);
  const std::string said = stderr_until("still waiting for rank 1", options, false);
  EXPECT_THAT(said, HasSubstr("in barrier"));
}

TEST(ManyRanks, OnOneCoreFinishTheirRoundsInTime) {
  cpu_set_t before;
  ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int core = 0; core < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++core) {
    if (CPU_ISSET(core, &before)) {
      CPU_SET(core, &one);
    }
  }
  ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
  ExchangeCase which = shaped_case({.tokens = std::vector<std::int64_t>(8, 8),
                                    .hidden = 256,
                                    .experts = 16,
                                    .element = ElementType::kFp32});
  which.round_count = 50;
  const std::int64_t start = monotonic_ns();
  run_ranks(8, [&](Communicator& communicator) { run_case(which, communicator); }, processes());
  EXPECT_LT(milliseconds_since(start), 60'000);
  ASSERT_EQ(::sched_setaffinity(0, sizeof before, &before), 0);
}

// Four ranks in pairs by parity and in halves, and all together, rounds of all three interleaved.
TEST(ManyCommunicators, OfOneProcessWorkAtTheSameTime) {
  for (const RankKind kind : {RankKind::kThreads, RankKind::kProcesses}) {
    RunOptions options = processes();
    options.kind = kind;
    run_ranks(
        4,
        [](Communicator& all) {
          Communicator parity = all.split(all.rank() % 2).value();
          Communicator half = all.split(all.rank() / 2).value();
          EXPECT_EQ(parity.size(), 2);
          EXPECT_EQ(parity.rank(), all.rank() / 2);
          EXPECT_EQ(half.rank(), all.rank() % 2);
          const ExchangeCase of_all = shaped_case({.seed = 5});
          const ExchangeCase of_pair = shaped_case(
              {.tokens = {9, 4}, .seed = 6 + static_cast<std::uint64_t>(all.rank() % 2)});
          const ExchangeCase of_half = shaped_case(
              {.tokens = {3, 12}, .seed = 8 + static_cast<std::uint64_t>(all.rank() / 2)});
          auto all_buffer = ElasticBuffer::open(all, of_all.buffer);
          auto pair_buffer = ElasticBuffer::open(parity, of_pair.buffer);
          auto half_buffer = ElasticBuffer::open(half, of_half.buffer);
          ASSERT_TRUE(all_buffer.ok() && pair_buffer.ok() && half_buffer.ok());
          for (int turn = 0; turn < 20; ++turn) {
            ASSERT_NO_FATAL_FAILURE(run_rounds(of_pair, *pair_buffer, parity.rank()));
            ASSERT_NO_FATAL_FAILURE(run_rounds(of_all, *all_buffer, all.rank()));
            ASSERT_NO_FATAL_FAILURE(run_rounds(of_half, *half_buffer, half.rank()));
          }
          // The end of one is not the end of its parent.
          parity.close();
          ASSERT_TRUE(all.barrier().ok());
          ASSERT_NO_FATAL_FAILURE(run_rounds(of_all, *all_buffer, all.rank()));
        },
        options);
  }
}

}  // namespace
}  // namespace crossdock::testing
