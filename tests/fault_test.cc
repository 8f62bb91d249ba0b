// SPDX-License-Identifier: Apache-2.0
// Ranks that stop, are interrupted, throw, or leave without a word: no hang, everybody else hears
// who it was. Each test ends with a look for processes, memory and sockets that remain.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <random>
#include <string>
#include <thread>

#include "tests/support/host_state.h"
#include "tests/support/hurt_ranks.h"
#include "tests/support/rank_runner.h"
#include "tests/support/shaped_case.h"

namespace crossdock::testing {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr int kRankCount = 4;

class FaultTest : public ::testing::Test {
 protected:
  void TearDown() override { watch_.expect_nothing_left(); }

 private:
  JobWatch watch_;
};

RunOptions processes(std::chrono::nanoseconds timeout = std::chrono::seconds(60)) {
  RunOptions options;
  options.kind = RankKind::kProcesses;
  options.communicator.timeout = timeout;
  return options;
}

ExchangeCase small_case() {
  return shaped_case({.layout = RowLayout::kExpanded, .mode = Mode::kThroughput});
}

/// One round whose result nobody looks at.
Status any_round(ElasticBuffer& buffer, Communicator& communicator) {
  const ExchangeCase which = small_case();
  const auto& routes = which.routes[static_cast<std::size_t>(communicator.rank())];
  const std::vector<std::uint16_t> tokens(16 * 64);
  return buffer.dispatch({.tokens = tokens.data(), .token_count = 16, .topk_ids = routes.experts})
      .status();
}

// --- stopped ranks -------------------------------------------------------------------------------

using StoppedRank = FaultTest;

TEST_F(StoppedRank, BeyondTheDeadlineIsNamedAndEndsWithAnErrorOnceItGoesOn) {
  const std::uint64_t seed = test_seed();
  constexpr int kVictim = 2;
  const auto ranks = start_loop({.timeout = std::chrono::seconds(2)});
  ASSERT_TRUE(wait_running(*ranks, kRankCount));
  std::this_thread::sleep_for(std::chrono::microseconds(seed % 20'000));  // A random moment.
  ranks->send_signal(kVictim, SIGSTOP);
  const std::int64_t stopped_at = monotonic_ns();
  for (int rank = 0; rank < kRankCount; ++rank) {
    if (rank == kVictim) {
      continue;
    }
    EXPECT_EQ(ranks->wait_exit(rank), 0);
    const EndReport report = end_report(ranks->said(rank));
    EXPECT_EQ(report.culprit, kVictim) << "rank " << rank << ": " << report.text;
    EXPECT_THAT(report.text, HasSubstr("timeout"));
    EXPECT_LT(static_cast<double>(report.at_ns - stopped_at) / 1e6, 4000) << report.text;
  }
  ranks->send_signal(kVictim, SIGCONT);
  EXPECT_EQ(ranks->wait_exit(kVictim), 0);
  EXPECT_TRUE(end_report(ranks->said(kVictim)).is_there) << ranks->said(kVictim);
}

TEST_F(StoppedRank, InsideABarrierIsNamedAlsoByRanksThatWaitForOthers) {
  constexpr int kVictim = 2;
  RankProcesses ranks(
      kRankCount,
      [](Communicator& communicator) {
        ASSERT_TRUE(communicator.barrier().ok());
        if (communicator.rank() == kVictim) {
          RankProcesses::say(communicator, "stopped");
          ::raise(SIGSTOP);
        } else if (communicator.rank() != 1) {
          // Rank 1 comes first, so it gives up first; it waits for rank 3, which waits for rank 2.
          std::this_thread::sleep_for(std::chrono::milliseconds(300));
        }
        RankProcesses::say(communicator, describe_end(communicator.barrier()));
      },
      processes(std::chrono::seconds(2)));
  for (int rank = 0; rank < kRankCount; ++rank) {
    if (rank != kVictim) {
      EXPECT_EQ(ranks.wait_exit(rank), 0);
      const EndReport report = end_report(ranks.said(rank));
      EXPECT_EQ(report.culprit, kVictim) << "rank " << rank << ": " << report.text;
    }
  }
  ranks.send_signal(kVictim, SIGCONT);
  EXPECT_EQ(ranks.wait_exit(kVictim), 0);
}

TEST_F(StoppedRank, ShorterThanTheDeadlineCostsOnlyTime) {
  ExchangeCase which = small_case();
  which.round_count = 200;
  RankProcesses ranks(
      kRankCount,
      [&](Communicator& communicator) {
        RankProcesses::say(communicator, "running");
        run_case(which, communicator);
      },
      processes());
  ASSERT_TRUE(wait_running(ranks, kRankCount));
  for (int victim = 0; victim < kRankCount; ++victim) {
    ranks.send_signal(victim, SIGSTOP);
    std::this_thread::sleep_for(std::chrono::milliseconds(200));  // How long it is stopped.
    ranks.send_signal(victim, SIGCONT);
  }
  for (int rank = 0; rank < kRankCount; ++rank) {
    EXPECT_EQ(ranks.wait_exit(rank), 0);
  }
}

// --- ranks that end ------------------------------------------------------------------------------

using EndingRank = FaultTest;

/// Rank 1 ends in its own way after a good round; the others report their next rounds' error.
void expect_others_end(const std::function<void(Communicator&)>& way, int expected_code) {
  RankProcesses ranks(
      kRankCount,
      [&](Communicator& communicator) {
        auto buffer = ElasticBuffer::open(communicator, small_case().buffer);
        ASSERT_TRUE(buffer.ok());
        ASSERT_TRUE(any_round(*buffer, communicator).ok());
        if (communicator.rank() == 1) {
          way(communicator);
          return;
        }
        Status status = any_round(*buffer, communicator);
        const std::string first = describe_end(status);
        status = any_round(*buffer, communicator);  // And again: an error at once, no hang.
        EXPECT_FALSE(status.ok());
        EXPECT_FALSE(communicator.barrier().ok());
        RankProcesses::say(communicator, first);
      },
      processes());
  const std::int64_t start = monotonic_ns();
  for (int rank = 0; rank < kRankCount; ++rank) {
    EXPECT_EQ(ranks.wait_exit(rank), rank == 1 ? expected_code : 0) << ranks.said(rank);
    if (rank != 1) {
      const EndReport report = end_report(ranks.said(rank));
      EXPECT_EQ(report.culprit, 1) << "rank " << rank << ": " << report.text;
      EXPECT_THAT(report.text, HasSubstr("rank 1"));
    }
  }
  EXPECT_LT(milliseconds_since(start), 20'000);
}

TEST_F(EndingRank, InterruptedIsNamed) {
  expect_others_end([](Communicator&) { ::raise(SIGINT); }, 128 + SIGINT);
}

TEST_F(EndingRank, ThrowingIsNamed) {
  expect_others_end([](Communicator&) { throw std::runtime_error("an expert failed"); }, 3);
}

TEST_F(EndingRank, ReturningWithoutCloseIsNamed) {
  expect_others_end([](Communicator&) {}, 0);
}

TEST_F(EndingRank, CallingExitIsNamed) {
  expect_others_end([](Communicator&) { std::exit(0); }, 0);
}

TEST_F(EndingRank, CallingUnderscoreExitIsNamed) {
  expect_others_end([](Communicator&) { ::_exit(0); }, 0);
}

TEST_F(EndingRank, AbortingTheCommunicatorPassesItsReasonOn) {
  RankProcesses ranks(
      kRankCount,
      [](Communicator& communicator) {
        auto buffer = ElasticBuffer::open(communicator, small_case().buffer);
        ASSERT_TRUE(buffer.ok());
        Status status = any_round(*buffer, communicator);
        if (communicator.rank() == 1) {
          communicator.abort("the loss is not a number");
          return;
        }
        while (status.ok()) {
          status = any_round(*buffer, communicator);
        }
        RankProcesses::say(communicator, describe_end(status));
      },
      processes());
  for (int rank = 0; rank < kRankCount; ++rank) {
    EXPECT_EQ(ranks.wait_exit(rank), 0);
    if (rank != 1) {
      EXPECT_EQ(end_report(ranks.said(rank)).culprit, 1) << ranks.said(rank);
      EXPECT_THAT(ranks.said(rank), HasSubstr("the loss is not a number"));
    }
  }
}

TEST_F(EndingRank, AllOfThemMayLeaveWithoutCloseAfterTheirLastRound) {
  for (const bool by_exit : {false, true}) {
    run_ranks(
        kRankCount,
        [&](Communicator& communicator) {
          run_case(small_case(), communicator);
          if (by_exit) {
            std::exit(::testing::Test::HasFailure() ? 1 : 0);
          }
        },
        processes());
  }
}

// --- closing -------------------------------------------------------------------------------------

using Closing = FaultTest;

TEST_F(Closing, TwiceIsFineAndUseAfterwardsIsAnError) {
  run_ranks(
      kRankCount,
      [](Communicator& communicator) {
        auto buffer = ElasticBuffer::open(communicator, small_case().buffer);
        ASSERT_TRUE(buffer.ok());
        ASSERT_TRUE(any_round(*buffer, communicator).ok());
        ASSERT_TRUE(communicator.barrier().ok());
        buffer->close();
        buffer->close();
        EXPECT_EQ(any_round(*buffer, communicator).kind(), StatusKind::kClosed);
        communicator.close();
        communicator.close();
        EXPECT_EQ(communicator.barrier().kind(), StatusKind::kClosed);
        EXPECT_EQ(communicator.all_gather({}).status().kind(), StatusKind::kClosed);
        EXPECT_EQ(communicator.split(0).status().kind(), StatusKind::kClosed);
        EXPECT_EQ(ElasticBuffer::open(communicator, small_case().buffer).status().kind(),
                  StatusKind::kClosed);
        EXPECT_EQ(communicator.health().kind(), StatusKind::kClosed);
      },
      processes());
}

TEST_F(Closing, TheCommunicatorBeforeItsBufferLeavesTheBufferUnusableButSafe) {
  for (const RankKind kind : {RankKind::kThreads, RankKind::kProcesses}) {
    RunOptions options = processes();
    options.kind = kind;
    run_ranks(
        kRankCount,
        [](Communicator& communicator) {
          std::optional<Communicator> owned(std::move(communicator.split(0).value()));
          auto buffer = ElasticBuffer::open(*owned, small_case().buffer);
          ASSERT_TRUE(buffer.ok());
          const std::vector<std::uint16_t> tokens(16 * 64);
          const ExchangeCase which = small_case();
          const auto& routes = which.routes[static_cast<std::size_t>(communicator.rank())].experts;
          auto got =
              buffer->dispatch({.tokens = tokens.data(), .token_count = 16, .topk_ids = routes});
          ASSERT_TRUE(got.ok());
          ASSERT_TRUE(communicator.barrier().ok());
          owned.reset();
          std::vector<std::uint16_t> combined(16 * 64);
          EXPECT_EQ(
              buffer->combine({got->rows, got->row_count}, got->handle, combined.data()).kind(),
              StatusKind::kClosed);
          EXPECT_EQ(any_round(*buffer, communicator).kind(), StatusKind::kClosed);
          std::fill_n(got->rows, got->row_count, std::byte{1});  // Views stay valid memory.
        },
        options);
  }
}

// --- opening -------------------------------------------------------------------------------------

using Opening = FaultTest;

TEST_F(Opening, ARankThatNeverArrivesAtABufferIsNamed) {
  RankProcesses ranks(
      kRankCount,
      [](Communicator& communicator) {
        if (communicator.rank() == 3) {
          ::raise(SIGSTOP);
          return;
        }
        RankProcesses::say(
            communicator,
            describe_end(ElasticBuffer::open(communicator, small_case().buffer).status()));
      },
      processes(std::chrono::seconds(2)));
  for (int rank = 0; rank < kRankCount - 1; ++rank) {
    EXPECT_EQ(ranks.wait_exit(rank), 0);
    const EndReport report = end_report(ranks.said(rank));
    EXPECT_EQ(report.culprit, 3) << "rank " << rank << ": " << report.text;
    EXPECT_THAT(report.text, HasSubstr("timeout"));
  }
  ranks.send_signal(3, SIGKILL);
  EXPECT_EQ(ranks.wait_exit(3), 128 + SIGKILL);
}

TEST_F(Opening, ARankThatDiesWhileBuffersAreMadeIsNamed) {
  std::mt19937_64 random(test_seed());
  for (int turn = 0; turn < 12 && !HasFailure(); ++turn) {
    const int victim = static_cast<int>(random() % kRankCount);
    RankProcesses ranks(
        kRankCount,
        [](Communicator& communicator) {
          RankProcesses::say(communicator, "running");
          Status status;
          while (status.ok()) {
            status = ElasticBuffer::open(communicator, small_case().buffer).status();
          }
          RankProcesses::say(communicator, describe_end(status));
        },
        processes());
    ASSERT_TRUE(wait_running(ranks, kRankCount));
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 5000));  // A random moment.
    ranks.send_signal(victim, SIGKILL);
    for (int rank = 0; rank < kRankCount; ++rank) {
      EXPECT_EQ(ranks.wait_exit(rank), rank == victim ? 128 + SIGKILL : 0);
      if (rank != victim) {
        const EndReport report = end_report(ranks.said(rank));
        EXPECT_EQ(report.culprit, victim) << "rank " << rank << ": " << report.text;
      }
    }
  }
}

TEST_F(Opening, ThreadsThatNeverComeAreNamedWhenTheTeamTimesOut) {
  const ThreadTeam team(3);
  CommunicatorOptions options;
  options.timeout = std::chrono::milliseconds(300);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      const auto communicator = Communicator::open(team, rank, options);
      EXPECT_EQ(communicator.status().kind(), StatusKind::kTimeout);
      EXPECT_EQ(communicator.status().culprit(), 2) << communicator.status().to_string();
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

}  // namespace
}  // namespace crossdock::testing
