// SPDX-License-Identifier: Apache-2.0
// Tests of refusals: calls that are right, expectations of the faulty rank's line and of the
// others', and a round before and after.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/support/host_state.h"
#include "tests/support/rank_runner.h"
#include "tests/support/shaped_case.h"

namespace crossdock::testing {

inline constexpr int kRankCount = 4;
inline constexpr int kFaulty = 2;
inline constexpr std::int64_t kCapacity = 16;
// Far below the deadline, far above what a busy machine needs.
inline constexpr double kQuickMs = 15'000;

inline RunOptions patient(RankKind kind = RankKind::kThreads) {
  RunOptions options;
  options.kind = kind;
  options.communicator.timeout = std::chrono::seconds(60);
  return options;
}

inline ExchangeCase small_case(const Path& path) {
  ExchangeCase made = shaped_case({.layout = path.layout, .mode = path.mode, .seed = 11});
  made.buffer.max_expert_alignment = 4;
  return made;
}

/// What one rank hands to a dispatch; a bad call changes it on the faulty rank.
struct Call {
  std::vector<std::byte> tokens;
  std::vector<std::int32_t> ids;
  std::vector<std::int64_t> wide_ids;  // used when not empty
  std::vector<float> weights;
  std::int64_t token_count = 0;
  bool no_tokens = false;
  DispatchOptions options;

  [[nodiscard]] DispatchInput input() const {
    return {.tokens = no_tokens ? nullptr : tokens.data(),
            .token_count = token_count,
            .topk_ids = wide_ids.empty() ? TopkIds(ids) : TopkIds(wide_ids),
            .topk_weights = weights};
  }
};

inline Call good_call(const ExchangeCase& which, int rank) {
  const routing::RankRoutes& routes = which.routes[static_cast<std::size_t>(rank)];
  Call call;
  call.token_count = static_cast<std::int64_t>(routes.token_count());
  call.tokens.resize(static_cast<std::size_t>(kCapacity + 1) *
                     static_cast<std::size_t>(which.buffer.hidden) * sizeof(float));
  call.ids = routes.experts;
  call.weights = routes.weights;
  call.options = which.dispatch;
  return call;
}

inline void expect_line(const Status& status, const std::vector<std::string>& words) {
  const std::string line(status.message());
  EXPECT_THAT(line, ::testing::Not(::testing::HasSubstr("\n")));
  for (const std::string& word : words) {
    EXPECT_THAT(line, ::testing::HasSubstr(word));
  }
}

/// The faulty rank has its own line; the others name it and repeat why.
inline void expect_refused(const Status& status, int rank, StatusKind kind,
                           const std::vector<std::string>& words) {
  if (rank == kFaulty) {
    EXPECT_EQ(status.kind(), kind) << status.to_string();
    expect_line(status, words);
    return;
  }
  EXPECT_EQ(status.kind(), StatusKind::kPeerRefused) << status.to_string();
  EXPECT_EQ(status.culprit(), kFaulty) << status.to_string();
  EXPECT_EQ(status.scope(), Scope::kOperation);
  expect_line(status, {"rank 2"});
  expect_line(status, words);
}

/// All ranks hear which field differs; those in the majority name the faulty rank.
inline void expect_mismatch(const Status& status, int rank, const std::string& field) {
  EXPECT_EQ(status.kind(), StatusKind::kMismatch) << status.to_string();
  expect_line(status, {field, "rank 2"});
  if (rank != kFaulty) {
    EXPECT_EQ(status.culprit(), kFaulty) << status.to_string();
  }
}

/// A good round, the bad operation, two good rounds, on one buffer.
inline void run_around(const ExchangeCase& which, Communicator& communicator,
                       const std::function<void(ElasticBuffer&)>& bad) {
  auto buffer = ElasticBuffer::open(communicator, which.buffer);
  ASSERT_TRUE(buffer.ok()) << buffer.status().to_string();
  ASSERT_NO_FATAL_FAILURE(run_rounds(which, *buffer, communicator.rank()));
  const std::int64_t start = monotonic_ns();
  bad(*buffer);
  EXPECT_LT(milliseconds_since(start), kQuickMs);
  ExchangeCase again = which;
  again.round_count = 2;
  ASSERT_NO_FATAL_FAILURE(run_rounds(again, *buffer, communicator.rank()));
}

}  // namespace crossdock::testing
