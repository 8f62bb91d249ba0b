// SPDX-License-Identifier: Apache-2.0
// Posted operations: tickets that end, wait, cancel, are dropped, carry errors; both ways of
// progress. That their results are right bit by bit is in exchange_property_test.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "crossdock/elastic_buffer.h"
#include "tests/support/host_state.h"
#include "tests/support/rank_runner.h"

namespace crossdock::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

constexpr std::int64_t kTokens = 8;
constexpr std::int64_t kHidden = 64;
constexpr int kTopk = 2;

// One buffer and rows that tell rank, round and token.
class Party {
 public:
  explicit Party(Communicator& communicator, int open_rounds = 2)
      : rank_(communicator.rank()), rank_count_(communicator.size()) {
    auto opened = ElasticBuffer::open(communicator, {.max_tokens_per_rank = kTokens,
                                                     .hidden = kHidden,
                                                     .topk = kTopk,
                                                     .experts = 2 * rank_count_,
                                                     .element = ElementType::kFp32,
                                                     .open_rounds = open_rounds});
    EXPECT_TRUE(opened.ok()) << opened.status().to_string();
    buffer_ = std::make_unique<ElasticBuffer>(std::move(opened).value());
    for (std::int64_t token = 0; token < kTokens; ++token) {
      ids_.push_back(static_cast<std::int32_t>(token % (2 * rank_count_)));
      ids_.push_back(static_cast<std::int32_t>((token + 1) % (2 * rank_count_)));
    }
  }
  [[nodiscard]] ElasticBuffer& buffer() { return *buffer_; }

  /// Tokens of this round; they live as long as the party.
  const std::vector<float>& tokens(int round) {
    tokens_.push_back(std::make_unique<std::vector<float>>());
    for (std::int64_t index = 0; index < kTokens * kHidden; ++index) {
      tokens_.back()->push_back(value(rank_, round, index / kHidden));
    }
    return *tokens_.back();
  }
  DispatchTicket post(int round) { return post(tokens(round)); }
  DispatchTicket post(const std::vector<float>& tokens) {
    return buffer_->post_dispatch(
        {.tokens = tokens.data(), .token_count = kTokens, .topk_ids = TopkIds(ids_)},
        {.layout = RowLayout::kExpanded, .mode = Mode::kThroughput});
  }
  Result<Dispatched> dispatch(int round) {
    return buffer_->dispatch(
        {.tokens = tokens(round).data(), .token_count = kTokens, .topk_ids = TopkIds(ids_)},
        {.layout = RowLayout::kExpanded, .mode = Mode::kThroughput});
  }
  void expect_rows(const Dispatched& got, int round) const {
    EXPECT_GT(got.row_count, 0);
    const auto* rows = reinterpret_cast<const float*>(got.rows);
    for (std::int64_t row = 0; row < got.row_count; ++row) {
      const auto at = static_cast<std::size_t>(row);
      EXPECT_EQ(rows[row * kHidden], value(got.source_rank[at], round, got.source_token[at]));
    }
  }
  /// Every row comes back as it is: a token becomes top-k times itself.
  void expect_combined(const std::vector<float>& out, int round) const {
    for (std::int64_t token = 0; token < kTokens; ++token) {
      EXPECT_EQ(out[static_cast<std::size_t>(token * kHidden)], kTopk * value(rank_, round, token));
    }
  }

 private:
  static float value(int rank, int round, std::int64_t token) {
    return static_cast<float>(rank * 10000 + round * 100) + static_cast<float>(token);
  }

  int rank_;
  int rank_count_;
  std::unique_ptr<ElasticBuffer> buffer_;
  std::vector<std::int32_t> ids_;
  std::vector<std::unique_ptr<std::vector<float>>> tokens_;
};

std::int64_t now_ms() { return monotonic_ns() / 1'000'000; }

struct How {
  Way way;
  Progress progress;
};

class Posted : public ::testing::TestWithParam<How> {
 protected:
  static RunOptions options(RankKind kind = RankKind::kThreads) {
    RunOptions chosen;
    chosen.kind = kind;
    chosen.communicator.timeout = seconds(30);
    chosen.communicator.way = GetParam().way;
    chosen.communicator.progress = GetParam().progress;
    return chosen;
  }
};

void wait_for(const std::atomic<int>& stage, int wanted) {
  while (stage.load() < wanted) {
    std::this_thread::yield();
  }
}

TEST_P(Posted, DispatchAndCombineEndByPolling) {
  for (const RankKind kind : {RankKind::kThreads, RankKind::kProcesses}) {
    run_ranks(
        3,
        [](Communicator& communicator) {
          Party party(communicator);
          for (int round = 1; round <= 20; ++round) {
            DispatchTicket ticket = party.post(round);
            while (!ticket.poll()) {
              std::this_thread::yield();
            }
            auto dispatched = ticket.take();
            ASSERT_TRUE(dispatched.ok()) << dispatched.status().to_string();
            party.expect_rows(*dispatched, round);
            std::vector<float> out(kTokens * kHidden);
            Ticket combined = party.buffer().post_combine({dispatched->rows, dispatched->row_count},
                                                          dispatched->handle, out.data());
            while (!combined.poll()) {
              std::this_thread::yield();
            }
            ASSERT_TRUE(combined.wait().ok()) << combined.wait().to_string();
            party.expect_combined(out, round);
          }
        },
        options(kind));
  }
}

TEST_P(Posted, OperationsRunInTheOrderOfTheirPosts) {
  run_ranks(
      2,
      [](Communicator& communicator) {
        Party party(communicator);
        for (int round = 1; round < 20; round += 2) {
          DispatchTicket first = party.post(round);
          DispatchTicket second = party.post(round + 1);
          ASSERT_TRUE(second.wait().ok());
          EXPECT_TRUE(first.poll()) << "the one posted before has ended";
          party.expect_rows(*first.take(), round);
          party.expect_rows(*second.take(), round + 1);
        }
      },
      options());
}

TEST_P(Posted, ABlockingCallComesAfterWhatWasPosted) {
  run_ranks(
      2,
      [](Communicator& communicator) {
        Party party(communicator);
        DispatchTicket posted = party.post(1);
        auto blocking = party.dispatch(2);
        ASSERT_TRUE(blocking.ok()) << blocking.status().to_string();
        EXPECT_TRUE(posted.poll());
        const auto first = posted.take();
        ASSERT_TRUE(first.ok());
        party.expect_rows(*first, 1);
        party.expect_rows(*blocking, 2);
        Ticket third = party.post(3);
        EXPECT_TRUE(communicator.barrier().ok());
        EXPECT_TRUE(third.poll());
        EXPECT_EQ(third.wait().kind(), StatusKind::kBusy) << "both handles are alive";
      },
      options());
}

TEST_P(Posted, WaitingOnlySoLongLeavesTheTicketAsItIs) {
  std::atomic<int> stage{0};
  run_ranks(
      2,
      [&](Communicator& communicator) {
        Party party(communicator);
        if (communicator.rank() == 1) {
          wait_for(stage, 1);
        }
        DispatchTicket ticket = party.post(1);
        if (communicator.rank() == 0) {
          const std::int64_t start = now_ms();
          const Status early = ticket.wait(milliseconds(30));
          EXPECT_EQ(early.kind(), StatusKind::kTimeout);
          EXPECT_EQ(early.scope(), Scope::kOperation);
          EXPECT_THAT(std::string(early.message()), HasSubstr("30 ms"));
          EXPECT_GE(now_ms() - start, 29);
          EXPECT_FALSE(ticket.poll());
          stage = 1;
        }
        EXPECT_TRUE(ticket.wait().ok());
        party.expect_rows(*ticket.take(), 1);
      },
      options());
}

// Rank 1 has not come yet, so rank 0's first operation has begun and its second has not.
TEST_P(Posted, CancellingWhatHasNotBegunIsARefusalAndTheBufferWorksOn) {
  std::atomic<int> stage{0};
  run_ranks(
      2,
      [&](Communicator& communicator) {
        Party party(communicator);
        if (communicator.rank() == 1) {
          wait_for(stage, 1);
        }
        DispatchTicket first = party.post(1);
        DispatchTicket second = party.post(2);
        if (communicator.rank() == 0) {
          EXPECT_EQ(first.wait(milliseconds(20)).kind(), StatusKind::kTimeout);
          EXPECT_TRUE(second.cancel());
          EXPECT_FALSE(first.cancel()) << "it has begun";
          stage = 1;
        }
        EXPECT_TRUE(first.wait().ok());
        const Status status = second.wait();
        if (communicator.rank() == 0) {
          EXPECT_EQ(status.kind(), StatusKind::kCancelled) << status.to_string();
          EXPECT_EQ(second.take().status().kind(), StatusKind::kCancelled);
        } else {
          EXPECT_EQ(status.kind(), StatusKind::kPeerRefused) << status.to_string();
          EXPECT_EQ(status.culprit(), 0);
          EXPECT_THAT(std::string(status.message()), HasSubstr("cancelled"));
        }
        EXPECT_FALSE(second.cancel()) << "it has ended";
        party.expect_rows(*first.take(), 1);
        auto third = party.dispatch(3);
        ASSERT_TRUE(third.ok()) << third.status().to_string();
        party.expect_rows(*third, 3);
      },
      options());
}

TEST_P(Posted, DroppedTicketsEndTheirOperationsFirst) {
  run_ranks(
      2,
      [](Communicator& communicator) {
        Party party(communicator);
        for (int round = 1; round <= 30; ++round) {
          // A dropped operation was cancelled or not, on each rank by its own luck: the ranks agree
          // on the outcome all the same, and memory given to it may go.
          {
            const std::vector<float> tokens(kTokens * kHidden, 1.0F);
            const DispatchTicket dropped = party.post(tokens);
          }
          DispatchTicket moved_over = party.post(round);
          moved_over = DispatchTicket();
          EXPECT_FALSE(moved_over.valid());
        }
        auto last = party.dispatch(99);
        ASSERT_TRUE(last.ok()) << last.status().to_string();
        party.expect_rows(*last, 99);
      },
      options());
}

TEST_P(Posted, ErrorsTravelThroughTheTicket) {
  run_ranks(
      2,
      [](Communicator& communicator) {
        Party party(communicator);
        const std::vector<std::int32_t> bad = {0, 99};
        const std::vector<float> row(kHidden);
        const std::vector<std::int32_t> good = {0, 1};
        DispatchTicket ticket = party.buffer().post_dispatch(
            {.tokens = row.data(),
             .token_count = 1,
             .topk_ids = TopkIds(communicator.rank() == 0 ? bad : good)});
        const Status status = ticket.wait();
        EXPECT_EQ(status.kind(), communicator.rank() == 0 ? StatusKind::kInvalidArgument
                                                          : StatusKind::kPeerRefused);
        EXPECT_EQ(ticket.take().status().kind(), status.kind());
        EXPECT_EQ(ticket.take().status().kind(), StatusKind::kInvalidArgument);
        auto next = party.dispatch(2);
        ASSERT_TRUE(next.ok()) << next.status().to_string();
      },
      options());
}

TEST_P(Posted, APeersAbortEndsTheWait) {
  std::atomic<int> stage{0};
  run_ranks(
      2,
      [&](Communicator& communicator) {
        Party party(communicator);
        if (communicator.rank() == 1) {
          wait_for(stage, 1);
          communicator.abort("no more experts");
          return;
        }
        DispatchTicket ticket = party.post(1);
        stage = 1;
        const std::int64_t start = now_ms();
        const Status status = ticket.wait();
        EXPECT_FALSE(status.ok());
        EXPECT_THAT(std::string(status.message()), HasSubstr("no more experts"));
        EXPECT_LT(now_ms() - start, 2000);
      },
      options());
}

TEST_P(Posted, ADeadPeerEndsTheWait) {
  RankProcesses processes(
      2,
      [](Communicator& communicator) {
        Party party(communicator);
        if (communicator.rank() == 1) {
          RankProcesses::say(communicator, "ready");
          ::pause();
        }
        DispatchTicket ticket = party.post(1);
        EXPECT_EQ(ticket.wait(milliseconds(20)).kind(), StatusKind::kTimeout);
        RankProcesses::say(communicator, "posted");
        const Status status = ticket.wait();
        RankProcesses::say(communicator, status.to_string());
      },
      options(RankKind::kProcesses));
  while (processes.said(0) != "posted" || processes.said(1) != "ready") {
    std::this_thread::yield();
  }
  processes.send_signal(1, SIGKILL);
  EXPECT_EQ(processes.wait_exit(1), 128 + SIGKILL);
  EXPECT_EQ(processes.wait_exit(0), 0);
  EXPECT_THAT(processes.said(0), HasSubstr("rank 1"));
  EXPECT_THAT(processes.said(0), HasSubstr("died"));
}

// Closing never waits for peers: what is under way ends with an error, at once.
TEST_P(Posted, ClosingEndsWhatIsUnderWay) {
  std::atomic<int> stage{0};
  run_ranks(
      2,
      [&](Communicator& communicator) {
        Party party(communicator);
        if (communicator.rank() == 1) {
          wait_for(stage, 1);
          return;
        }
        DispatchTicket under_way = party.post(1);
        DispatchTicket waiting = party.post(2);
        EXPECT_EQ(under_way.wait(milliseconds(20)).kind(), StatusKind::kTimeout);
        const std::int64_t start = now_ms();
        communicator.close();
        EXPECT_LT(now_ms() - start, 2000);
        EXPECT_TRUE(under_way.poll());
        EXPECT_EQ(under_way.wait().kind(), StatusKind::kClosed) << under_way.wait().to_string();
        EXPECT_EQ(waiting.wait().kind(), StatusKind::kClosed) << waiting.wait().to_string();
        EXPECT_EQ(party.post(3).wait().kind(), StatusKind::kClosed);
        stage = 1;
      },
      options());
}

TEST_P(Posted, ATicketMayOutliveBufferAndCommunicator) {
  run_ranks(
      1,
      [](Communicator& communicator) {
        DispatchTicket ticket;
        auto party = std::make_unique<Party>(communicator);
        ticket = party->post(1);
        EXPECT_TRUE(ticket.wait().ok());
        party.reset();
        communicator.close();
        EXPECT_TRUE(ticket.poll());
        EXPECT_TRUE(ticket.wait().ok());
      },
      options());
}

// A child has neither communication thread nor copy engine: it must not wait for them.
TEST_P(Posted, AForkedChildMayDropTheTicket) {
  run_ranks(
      2,
      [](Communicator& communicator) {
        Party party(communicator);
        DispatchTicket ticket = party.post(1);
        const pid_t child = ::fork();
        if (child == 0) {
          ::alarm(20);  // A hang is death by SIGALRM.
          const Status status = ticket.wait();
          ticket = DispatchTicket();
          ::_exit(status.ok() || status.kind() == StatusKind::kUnsupported ? 0 : 1);
        }
        int status = 0;
        ::waitpid(child, &status, 0);
        EXPECT_EQ(status, 0);
        ASSERT_TRUE(ticket.wait().ok()) << ticket.wait().to_string();
        party.expect_rows(*ticket.take(), 1);
      },
      options(RankKind::kProcesses));
}

INSTANTIATE_TEST_SUITE_P(Ways, Posted,
                         ::testing::Values(How{Way::kDirect, Progress::kThread},
                                           How{Way::kQueued, Progress::kThread},
                                           How{Way::kDirect, Progress::kCaller},
                                           How{Way::kQueued, Progress::kCaller}),
                         [](const auto& how) {
                           return std::string(to_string(how.param.way)) + "_" +
                                  std::string(to_string(how.param.progress));
                         });

// Only polling moves a caller's operation on: that is the bargain. Rank 0 comes first, so that its
// post cannot have found everything there.
TEST(PostedByCaller, NothingMovesWhileNobodyPolls) {
  std::atomic<int> stage{0};
  RunOptions options;
  options.communicator.progress = Progress::kCaller;
  run_ranks(
      2,
      [&](Communicator& communicator) {
        Party party(communicator);
        if (communicator.rank() == 1) {
          wait_for(stage, 1);
        }
        DispatchTicket ticket = party.post(1);
        if (communicator.rank() == 0) {
          stage = 1;
          wait_for(stage, 2);
        } else {
          EXPECT_EQ(ticket.wait(milliseconds(50)).kind(), StatusKind::kTimeout);
          stage = 2;
        }
        EXPECT_TRUE(ticket.wait().ok());
      },
      options);
}

TEST(PostedByThread, EverythingMovesWhileTheCallerIsBusy) {
  std::atomic<int> ended{0};
  run_ranks(2, [&](Communicator& communicator) {
    Party party(communicator);
    DispatchTicket ticket = party.post(1);
    if (communicator.rank() == 0) {
      wait_for(ended, 1);  // Busy with something else, and rank 1 gets its rows all the same.
    } else {
      EXPECT_TRUE(ticket.wait().ok());
      ended = 1;
    }
    EXPECT_TRUE(ticket.wait().ok());
  });
}

}  // namespace
}  // namespace crossdock::testing
