// SPDX-License-Identifier: Apache-2.0
// SIGKILL of a random rank at a random moment: every survivor returns an error that names it within
// a second, and nothing of the job remains. With and without the launcher.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>

#include "crossdock/elastic_buffer.h"
#include "tests/support/host_state.h"
#include "tests/support/hurt_ranks.h"

namespace crossdock::testing {
namespace {

constexpr int kRankCount = 4;
constexpr int kKillCount = 20;
// The promise is one second on a machine that is not overloaded; the slack is for test machines.
double promised_ms() {
  const unsigned core_count = std::max(1U, std::thread::hardware_concurrency());
  double load = 0;
  return ::getloadavg(&load, 1) == 1 && load > 2.0 * core_count ? 4000 : 1000;
}

std::chrono::nanoseconds random_pause(std::mt19937_64& random) {
  return std::chrono::microseconds(random() % 30'000);
}

void expect_named(const std::string& said, int survivor, int victim, std::int64_t killed_at) {
  const EndReport report = end_report(said);
  ASSERT_TRUE(report.is_there) << "rank " << survivor << " said: " << said;
  EXPECT_EQ(report.culprit, victim) << "rank " << survivor << ": " << report.text;
  EXPECT_NE(report.text.find("rank " + std::to_string(victim)), std::string::npos) << report.text;
  EXPECT_LT(static_cast<double>(report.at_ns - killed_at) / 1e6, promised_ms())
      << "rank " << survivor << ": " << report.text;
}

void kill_once(int victim, std::chrono::nanoseconds pause) {
  const auto ranks = start_loop({.rank_count = kRankCount});
  ASSERT_TRUE(wait_running(*ranks, kRankCount));
  std::this_thread::sleep_for(pause);  // The random moment itself.
  const std::int64_t killed_at = monotonic_ns();
  ranks->send_signal(victim, SIGKILL);
  for (int rank = 0; rank < kRankCount; ++rank) {
    EXPECT_EQ(ranks->wait_exit(rank), rank == victim ? 128 + SIGKILL : 0);
    if (rank != victim) {
      expect_named(ranks->said(rank), rank, victim, killed_at);
    }
  }
}

TEST(KilledRank, IsNamedByEverySurvivorWithinASecondAndNothingRemains) {
  std::mt19937_64 random(test_seed());
  JobWatch watch;
  for (int kill_count = 0; kill_count < kKillCount && !HasFailure(); ++kill_count) {
    const int victim = static_cast<int>(random() % kRankCount);
    SCOPED_TRACE("kill " + std::to_string(kill_count) + " of rank " + std::to_string(victim));
    kill_once(victim, random_pause(random));
  }
  watch.expect_nothing_left();
}

TEST(KilledRank, IsNamedWhenItDiesBetweenDispatchAndCombine) {
  JobWatch watch;
  for (int victim = 0; victim < kRankCount; ++victim) {
    RunOptions options;
    options.kind = RankKind::kProcesses;
    RankProcesses ranks(
        kRankCount,
        [&](Communicator& communicator) {
          const BufferOptions made{
              .max_tokens_per_rank = 4, .hidden = 64, .topk = 1, .experts = kRankCount};
          auto buffer = ElasticBuffer::open(communicator, made);
          const std::vector<std::uint16_t> tokens(4 * 64);
          const std::vector<std::int32_t> experts = {0, 1, 2, 3};
          auto got =
              buffer->dispatch({.tokens = tokens.data(), .token_count = 4, .topk_ids = experts});
          if (communicator.rank() == victim) {
            RankProcesses::say(communicator, "at_ns " + std::to_string(monotonic_ns()));
            ::raise(SIGKILL);
          }
          std::vector<std::uint16_t> combined(4 * 64);
          RankProcesses::say(communicator,
                             describe_end(buffer->combine({got->rows, got->row_count}, got->handle,
                                                          combined.data())));
        },
        options);
    for (int rank = 0; rank < kRankCount; ++rank) {
      EXPECT_EQ(ranks.wait_exit(rank), rank == victim ? 128 + SIGKILL : 0);
    }
    const std::int64_t died_at = numbers_after(ranks.said(victim), "at_ns ").front();
    for (int rank = 0; rank < kRankCount; ++rank) {
      if (rank != victim) {
        expect_named(ranks.said(rank), rank, victim, died_at);
      }
    }
  }
  watch.expect_nothing_left();
}

TEST(KilledJob, LeavesNothingAndTheNextJobsWorkAtTheFirstTryAlsoTwoAtOnce) {
  JobWatch watch;
  {
    const auto ranks = start_loop({.rank_count = kRankCount, .tokens = 64, .hidden = 4096});
    ASSERT_TRUE(wait_running(*ranks, kRankCount));
    for (int rank = 0; rank < kRankCount; ++rank) {
      ranks->send_signal(rank, SIGKILL);
    }
    for (int rank = 0; rank < kRankCount; ++rank) {
      EXPECT_EQ(ranks->wait_exit(rank), 128 + SIGKILL);
    }
  }
  watch.expect_nothing_left();
  const auto first = start_loop({.rank_count = kRankCount});
  const auto second = start_loop({.rank_count = 3});
  EXPECT_TRUE(wait_running(*first, kRankCount));
  EXPECT_TRUE(wait_running(*second, 3));
  // The end of one job is no affair of the other's.
  first->send_signal(0, SIGKILL);
  for (int rank = 0; rank < kRankCount; ++rank) {
    first->wait_exit(rank);
  }
  EXPECT_FALSE(end_report(second->said(0)).is_there) << second->said(0);
  second->send_signal(1, SIGKILL);
  for (int rank = 0; rank < 3; ++rank) {
    second->wait_exit(rank);
  }
  watch.expect_nothing_left();
}

// --- under the launcher --------------------------------------------------------------------------

#ifdef CROSSDOCK_PROGRAM
void kill_under_launcher(std::uint64_t choice, std::chrono::nanoseconds pause) {
  ChildProgram job({CROSSDOCK_PROGRAM, "launch", "-n", std::to_string(kRankCount), "--", ROUND_LOOP,
                    "1000000000", "16", "64"});
  ASSERT_TRUE(job.wait_for_text("rounds begin", kRankCount)) << job.output();
  const auto pid_line = lines_with(job.output(), "pid ")[choice % kRankCount];
  const auto victim = static_cast<int>(numbers_after(pid_line, "[").front());
  std::this_thread::sleep_for(pause);  // The random moment itself.
  const std::int64_t killed_at = monotonic_ns();
  ::kill(static_cast<pid_t>(numbers_after(pid_line, "pid ").front()), SIGKILL);
  EXPECT_EQ(job.wait_exit(), 128 + SIGKILL) << job.output();
  const auto reports = lines_with(job.output(), "failed at_ns");
  EXPECT_EQ(reports.size(), static_cast<std::size_t>(kRankCount - 1)) << job.output();
  for (const std::string& report : reports) {
    expect_named(report, static_cast<int>(numbers_after(report, "[").front()), victim, killed_at);
  }
}

TEST(KilledRankUnderTheLauncher, IsNamedByEverySurvivorWithinASecondAndNothingRemains) {
  std::mt19937_64 random(test_seed());
  JobWatch watch;
  for (int kill_count = 0; kill_count < kKillCount && !HasFailure(); ++kill_count) {
    const std::uint64_t choice = random();
    SCOPED_TRACE("kill " + std::to_string(kill_count) + ", choice " +
                 std::to_string(choice % kRankCount));
    kill_under_launcher(choice, random_pause(random));
  }
  watch.expect_nothing_left();
}

TEST(KilledLauncher, TakesItsRanksWithItAndNothingRemains) {
  JobWatch watch;
  ChildProgram job({CROSSDOCK_PROGRAM, "launch", "-n", std::to_string(kRankCount), "--", ROUND_LOOP,
                    "1000000000"});
  ASSERT_TRUE(job.wait_for_text("rounds begin", kRankCount)) << job.output();
  job.send_signal(SIGKILL);
  EXPECT_EQ(job.wait_exit(), 128 + SIGKILL);
  watch.expect_nothing_left();
}
#endif

}  // namespace
}  // namespace crossdock::testing
