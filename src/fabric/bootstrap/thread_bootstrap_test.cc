// SPDX-License-Identifier: Apache-2.0
// The providers without a network: threads of one process, and the caller's own function.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/status_macros.h"
#include "fabric/bootstrap/bootstrap_test_support.h"

namespace crossdock::fabric {
namespace {

std::string text_of(const Status& status) { return std::string(status.message()); }

class ThreadBootstrapOfSize : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Sizes, ThreadBootstrapOfSize, ::testing::Values(1, 2, 3, 8));

TEST_P(ThreadBootstrapOfSize, EveryRankGetsEveryBlobInEveryRound) {
  const auto team = make_thread_team(GetParam());
  for (const Status& status : run_ranks(ranks_below(GetParam()), [&](int rank) -> Status {
         const auto bootstrap = make_thread_bootstrap(team, rank);
         EXPECT_EQ(bootstrap->rank(), rank);
         EXPECT_EQ(bootstrap->size(), GetParam());
         for (int repeat = 0; repeat < 100; ++repeat) {
           CROSSDOCK_RETURN_IF_ERROR(exchange(*bootstrap, soon()));
         }
         return {};
       })) {
    EXPECT_TRUE(status.ok()) << status.to_string();
  }
}

TEST(ThreadBootstrap, ARankThatLeavesFailsTheOthersInsteadOfHangingThem) {
  const auto team = make_thread_team(3);
  const auto results = run_ranks(ranks_below(3), [&](int rank) -> Status {
    const auto bootstrap = make_thread_bootstrap(team, rank);
    CROSSDOCK_RETURN_IF_ERROR(exchange(*bootstrap, soon()));
    return rank == 1 ? Status() : bootstrap->all_gather({}, Deadline::never()).status();
  });
  for (const int rank : {0, 2}) {
    const Status& status = results[static_cast<std::size_t>(rank)];
    EXPECT_EQ(status.kind(), StatusKind::kClosed);
    EXPECT_EQ(status.culprit(), 1);
    EXPECT_EQ(text_of(status), "bootstrap: rank 1 left while others needed it");
  }
}

TEST(ThreadBootstrap, TheDeadlineNamesTheMissingRanksOnEveryRank) {
  const auto team = make_thread_team(4);
  const auto absent = make_thread_bootstrap(team, 3);
  for (const Status& status : run_ranks({0, 2}, [&](int rank) {
         const auto bootstrap = make_thread_bootstrap(team, rank);
         const auto time = std::chrono::milliseconds(rank == 0 ? 50 : 20'000);
         return bootstrap->all_gather({}, in(time)).status();
       })) {
    EXPECT_EQ(status.kind(), StatusKind::kTimeout);
    EXPECT_THAT(text_of(status), ::testing::EndsWith("1, 3 of 4"));
  }
  EXPECT_EQ(absent->all_gather({}, soon()).status().kind(), StatusKind::kTimeout);
}

TEST(ThreadBootstrap, AnOversizeBlobFailsTheRoundOnEveryRank) {
  const auto team = make_thread_team(2);
  for (const Status& status : run_ranks(ranks_below(2), [&](int rank) {
         const auto bootstrap = make_thread_bootstrap(team, rank);
         const std::vector<std::byte> mine(rank == 0 ? Bootstrap::kBlobBytesMax + 1 : 0);
         return bootstrap->all_gather(mine, soon()).status();
       })) {
    EXPECT_EQ(status.culprit(), 0);
    EXPECT_EQ(status.kind(), StatusKind::kInvalidArgument);
  }
}

TEST(ThreadBootstrap, AgreementIsReachedOrRefusedOnEveryRank) {
  const auto team = make_thread_team(3);
  for (const Status& status : run_ranks(ranks_below(3), [&](int rank) -> Status {
         const auto bootstrap = make_thread_bootstrap(team, rank);
         CROSSDOCK_RETURN_IF_ERROR(require_agreement(*bootstrap, "topk", "8", soon()));
         return require_agreement(*bootstrap, "dtype", rank == 1 ? "fp16" : "bf16", soon());
       })) {
    EXPECT_EQ(text_of(status), "ranks disagree about dtype: rank 0 has bf16, rank 1 has fp16");
  }
}

TEST(ThreadBootstrapDeathTest, AWrongOrRepeatedRankIsAProgrammersError) {
  const auto team = make_thread_team(2);
  const auto first = make_thread_bootstrap(team, 1);
  EXPECT_DEATH(make_thread_bootstrap(team, 2), "rank 2 size 2");
  EXPECT_DEATH(make_thread_bootstrap(team, 1), "rank 1 is claimed twice");
}

TEST(FunctionBootstrap, PassesBlobsThroughTheFunction) {
  const auto bootstrap = make_function_bootstrap(
      1, 2, [](std::span<const std::byte> mine) -> Result<std::vector<std::vector<std::byte>>> {
        return std::vector<std::vector<std::byte>>{bytes_of("zero"), {mine.begin(), mine.end()}};
      });
  const auto blobs = bootstrap->all_gather(bytes_of("one"), soon());
  ASSERT_TRUE(blobs.ok());
  EXPECT_EQ(*blobs, (std::vector<std::vector<std::byte>>{bytes_of("zero"), bytes_of("one")}));
}

TEST(FunctionBootstrap, AWrongNumberOfBlobsOrAnOversizeOneIsAnError) {
  std::vector<std::vector<std::byte>> answer(3);
  const auto bootstrap = make_function_bootstrap(
      0, 2, [&](std::span<const std::byte>) -> Result<std::vector<std::vector<std::byte>>> {
        return answer;
      });
  EXPECT_EQ(text_of(bootstrap->all_gather({}, soon()).status()),
            "bootstrap: the all-gather function returned 3 blobs, not 2");
  answer.assign(2, std::vector<std::byte>(Bootstrap::kBlobBytesMax + 1));
  EXPECT_FALSE(bootstrap->all_gather({}, soon()).ok());
}

TEST(FunctionBootstrap, TheFunctionsOwnErrorComesThrough) {
  const auto bootstrap = make_function_bootstrap(
      0, 2, [](std::span<const std::byte>) -> Result<std::vector<std::vector<std::byte>>> {
        return Status(StatusKind::kIo, Scope::kProcess, "MPI says no");
      });
  EXPECT_EQ(text_of(bootstrap->all_gather({}, soon()).status()), "MPI says no");
}

}  // namespace
}  // namespace crossdock::fabric
