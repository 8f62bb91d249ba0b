// SPDX-License-Identifier: Apache-2.0
// How early experts can start in a streamed dispatch: eight ranks, routes as skewed as real gates
// make them (zipf 1.0, the most wanted experts on rank 0). Prints when the first local expert of
// each rank had all its rows, as a part of the time from the first rank's start to the last rank's
// end.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <vector>

#include "base/clock.h"
#include "crossdock/elastic_buffer.h"
#include "routing/split.h"
#include "tests/support/rank_runner.h"

namespace crossdock::testing {
namespace {

constexpr int kRanks = 8;
constexpr std::int64_t kTokens = 1024;
constexpr std::int64_t kHidden = 2048;
constexpr int kExperts = 64;
constexpr int kTopk = 8;
constexpr int kRounds = 15;

// Expert e is wanted with weight 1 / (e + 1); an expert once per token.
std::vector<std::int32_t> zipf_routes(int rank) {
  std::mt19937_64 random(static_cast<std::uint64_t>(rank) + 7);
  std::vector<std::int32_t> routes;
  for (std::int64_t token = 0; token < kTokens; ++token) {
    std::vector<double> weights;
    for (int expert = 0; expert < kExperts; ++expert) {
      weights.push_back(1.0 / (expert + 1));
    }
    for (int lane = 0; lane < kTopk; ++lane) {
      std::discrete_distribution<std::int32_t> draw(weights.begin(), weights.end());
      routes.push_back(draw(random));
      weights[static_cast<std::size_t>(routes.back())] = 0;
    }
  }
  return routes;
}

std::int64_t most_rows() {
  const auto split = routing::ExpertSplit::make(kExperts, kRanks);
  std::vector<std::int64_t> rows(kRanks);
  for (int rank = 0; rank < kRanks; ++rank) {
    for (const std::int32_t expert : zipf_routes(rank)) {
      ++rows[static_cast<std::size_t>(split->owner(expert))];
    }
  }
  return *std::max_element(rows.begin(), rows.end());
}

struct Times {
  std::int64_t start = 0;
  std::int64_t first_expert = 0;
  std::int64_t end = 0;
};

std::vector<Times> share(Communicator& communicator, const Times& mine) {
  const auto all = communicator.all_gather(std::as_bytes(std::span(&mine, 1)));
  std::vector<Times> times(kRanks);
  for (std::size_t rank = 0; all.ok() && rank < times.size(); ++rank) {
    std::memcpy(&times[rank], (*all)[rank].data(), sizeof(Times));
  }
  return times;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// When each rank's first expert could start, in ascending order, as parts of the round.
std::vector<double> first_starts(const std::vector<Times>& times) {
  std::int64_t start = times[0].start;
  std::int64_t end = times[0].end;
  for (const Times& rank : times) {
    start = std::min(start, rank.start);
    end = std::max(end, rank.end);
  }
  std::vector<double> starts;
  for (const Times& rank : times) {
    starts.push_back(static_cast<double>(rank.first_expert - start) /
                     static_cast<double>(end - start));
  }
  std::sort(starts.begin(), starts.end());
  return starts;
}

Times run_round(ElasticBuffer& buffer, const std::vector<std::byte>& tokens,
                const std::vector<std::int32_t>& routes) {
  Times times;
  times.start = monotonic_clock().now().ns;
  auto dispatched = buffer.dispatch(
      {.tokens = tokens.data(), .token_count = kTokens, .topk_ids = routes},
      {.layout = RowLayout::kExpanded, .mode = Mode::kThroughput, .arrival = Arrival::kStreamed});
  EXPECT_TRUE(dispatched.ok()) << dispatched.status().to_string();
  EXPECT_TRUE(buffer.wait_expert(dispatched->handle, 0).ok());
  times.first_expert = monotonic_clock().now().ns;
  for (int expert = 1; expert < buffer.local_expert_count(); ++expert) {
    EXPECT_TRUE(buffer.wait_expert(dispatched->handle, expert).ok());
  }
  EXPECT_TRUE(buffer.wait_rows(dispatched->handle).ok());
  times.end = monotonic_clock().now().ns;
  return times;
}

void measure(Communicator& communicator, std::int64_t row_capacity) {
  auto buffer = ElasticBuffer::open(communicator, {.max_tokens_per_rank = kTokens,
                                                   .hidden = kHidden,
                                                   .topk = kTopk,
                                                   .experts = kExperts,
                                                   .row_capacity = row_capacity});
  ASSERT_TRUE(buffer.ok()) << buffer.status().to_string();
  const std::vector<std::byte> tokens(kTokens * kHidden * 2, std::byte{1});
  const auto routes = zipf_routes(communicator.rank());
  std::array<std::vector<double>, 3> parts;  // of the first, the middle and the last rank
  std::vector<double> milliseconds;
  for (int round = 0; round < kRounds; ++round) {
    ASSERT_TRUE(communicator.barrier().ok());
    const auto times = share(communicator, run_round(*buffer, tokens, routes));
    const auto starts = first_starts(times);
    parts[0].push_back(starts.front());
    parts[1].push_back(starts[kRanks / 2]);
    parts[2].push_back(starts.back());
    milliseconds.push_back(static_cast<double>(times[0].end - times[0].start) / 1e6);
  }
  if (communicator.rank() == 0) {
    fmt::print(
        "R=8 T=1024 zipf:1.0, medians of {} rounds: the first expert can start at {:.0f} % of "
        "the round on the earliest rank, {:.0f} % on the middle one, {:.0f} % on the last "
        "(round {:.1f} ms)\n",
        kRounds, 100 * median(parts[0]), 100 * median(parts[1]), 100 * median(parts[2]),
        median(milliseconds));
    std::fflush(stdout);
  }
  EXPECT_LE(median(parts[0]), 0.4);
}

TEST(StreamedArrival, TheFirstExpertStartsLongBeforeTheRoundIsComplete) {
  const std::int64_t row_capacity = most_rows();
  RunOptions options;
  options.kind = RankKind::kProcesses;
  options.communicator.timeout = std::chrono::seconds(60);
  run_ranks(
      kRanks, [&](Communicator& communicator) { measure(communicator, row_capacity); }, options);
}

}  // namespace
}  // namespace crossdock::testing
