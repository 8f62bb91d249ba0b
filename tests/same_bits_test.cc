// SPDX-License-Identifier: Apache-2.0
// The sums of one round are the same bits in every mode, protocol, schedule, path, arrival, way and
// number of threads: each combination runs the same routes and is compared with the first. Plan
// `single` in both layouts, plan `deepep` likewise.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "protocol/protocol.h"
#include "schedule/schedule.h"
#include "tests/support/exchange_case.h"
#include "tests/support/payload.h"
#include "tests/support/rank_runner.h"
#include "tests/support/shaped_case.h"

namespace crossdock::testing {
namespace {

constexpr int kRanks = 4;

struct Combination {
  DispatchOptions dispatch;
  CombineOptions combine;

  [[nodiscard]] std::string describe() const {
    return fmt::format("{} {} {} {} {} streamed={}", to_string(dispatch.mode), dispatch.protocol,
                       dispatch.schedule, to_string(combine.path), to_string(combine.plan),
                       dispatch.arrival == Arrival::kStreamed);
  }
};

std::vector<Combination> combinations(RowLayout layout, ReductionPlan plan) {
  std::vector<Combination> all;
  for (const Mode mode : {Mode::kThroughput, Mode::kLatency, Mode::kRacing}) {
    if (mode == Mode::kRacing && layout == RowLayout::kPlain) {
      continue;
    }
    for (const std::string_view protocol : protocol::protocol_names()) {
      for (const std::string_view schedule : schedule::schedule_names()) {
        for (const CombinePath path : {CombinePath::kPull, CombinePath::kPush}) {
          for (const Arrival arrival : {Arrival::kComplete, Arrival::kStreamed}) {
            all.push_back({.dispatch = {.layout = layout,
                                        .mode = mode,
                                        .arrival = arrival,
                                        .protocol = protocol,
                                        .schedule = schedule},
                           .combine = {.plan = plan, .path = path}});
          }
        }
      }
    }
  }
  return all;
}

// Experts give back what they get, times a number of their own.
std::vector<std::byte> run_round(const ExchangeCase& which, const Combination& combination,
                                 ElasticBuffer& buffer, int rank) {
  const std::size_t size = row_bytes(which);
  const auto& experts = which.routes[static_cast<std::size_t>(rank)].experts;
  const std::size_t token_count = which.routes[static_cast<std::size_t>(rank)].token_count();
  std::vector<std::byte> tokens(token_count * size);
  for (std::size_t token = 0; token < token_count; ++token) {
    fill_row(which, rank, static_cast<int>(token), tokens.data() + token * size);
  }
  auto dispatched = buffer.dispatch({.tokens = tokens.data(),
                                     .token_count = static_cast<std::int64_t>(token_count),
                                     .topk_ids = experts},
                                    combination.dispatch);
  EXPECT_TRUE(dispatched.ok()) << dispatched.status().to_string();
  if (!dispatched.ok()) {
    return {};
  }
  EXPECT_TRUE(buffer.wait_rows(dispatched->handle).ok());
  for (std::int64_t row = 0; row < dispatched->row_count; ++row) {
    const std::size_t at = static_cast<std::size_t>(row) * size;
    const auto made = expert_output(which, dispatched->rows + at, {rank});
    write_values(output_element(which), made, dispatched->outputs + at);
  }
  std::vector<std::byte> combined(tokens.size());
  const Status status = buffer.combine({dispatched->outputs, dispatched->row_count},
                                       dispatched->handle, combined.data(), combination.combine);
  EXPECT_TRUE(status.ok()) << status.to_string();
  return combined;
}

void compare(Communicator& communicator, const ExchangeCase& which, RowLayout layout,
             std::vector<std::vector<std::byte>>& first) {
  auto buffer = ElasticBuffer::open(communicator, which.buffer);
  ASSERT_TRUE(buffer.ok()) << buffer.status().to_string();
  std::size_t index = 0;
  for (const ReductionPlan plan : {ReductionPlan::kSingle, ReductionPlan::kDeepEp}) {
    if (first.size() == index) {
      first.emplace_back();
    }
    for (const Combination& combination : combinations(layout, plan)) {
      SCOPED_TRACE(combination.describe());
      const auto combined = run_round(which, combination, *buffer, communicator.rank());
      if (first[index].empty()) {
        first[index] = combined;
      }
      ASSERT_EQ(combined, first[index]);
    }
    ++index;
  }
}

class SameBits : public ::testing::TestWithParam<RowLayout> {};

TEST_P(SameBits, InEveryModeProtocolSchedulePathArrivalWayAndNumberOfThreads) {
  std::vector<std::vector<std::vector<std::byte>>> first(kRanks);  // [rank][plan]
  for (const Way way : {Way::kDirect, Way::kQueued}) {
    for (const int threads : {1, 3}) {
      RunOptions options;
      options.communicator.timeout = std::chrono::seconds(60);
      options.communicator.way = way;
      run_ranks(
          kRanks,
          [&](Communicator& communicator) {
            ExchangeCase which = shaped_case({.tokens = {16, 16, 16, 16}, .topk = 4});
            which.buffer.combine_path = CombinePath::kPush;
            which.buffer.racing_tokens = 16;
            which.buffer.threads = threads;
            which.buffer.thread_bytes_min = 1;
            compare(communicator, which, GetParam(),
                    first[static_cast<std::size_t>(communicator.rank())]);
          },
          options);
    }
  }
  EXPECT_NE(first[0][0], std::vector<std::byte>(first[0][0].size())) << "sums are not all zero";
}

INSTANTIATE_TEST_SUITE_P(Layouts, SameBits,
                         ::testing::Values(RowLayout::kPlain, RowLayout::kExpanded),
                         [](const auto& layout) { return std::string(to_string(layout.param)); });

}  // namespace
}  // namespace crossdock::testing
