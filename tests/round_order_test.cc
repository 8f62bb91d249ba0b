// SPDX-License-Identifier: Apache-2.0
// Several rounds open at once: each combine gets its own round's sums whatever the order, and one
// round too many is refused on every rank.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <random>
#include <string>
#include <vector>

#include "tests/support/host_state.h"
#include "tests/support/rank_runner.h"
#include "tests/support/shaped_case.h"

namespace crossdock::testing {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kHidden = 512;

RunOptions patient(RankKind kind = RankKind::kThreads) {
  RunOptions options;
  options.kind = kind;
  options.communicator.timeout = std::chrono::seconds(60);
  return options;
}

/// One round between its dispatch and its combine.
struct Flight {
  std::vector<float> tokens;
  std::vector<std::int32_t> experts;
  std::vector<float> expected;
  Dispatched dispatched;
};

Flight take_off(ElasticBuffer& buffer, std::int64_t token_count, std::uint64_t tag, int rank,
                const DispatchOptions& options) {
  Flight flight;
  flight.tokens = tagged_tokens(token_count, kHidden, rank, tag);
  flight.experts = shaped_case({.tokens = std::vector<std::int64_t>(4, token_count), .seed = tag})
                       .routes[static_cast<std::size_t>(rank)]
                       .experts;
  flight.expected =
      expected_sums(buffer.options(), 4, options.layout, flight.tokens, flight.experts);
  auto dispatched =
      buffer.dispatch({flight.tokens.data(), token_count, flight.experts, {}}, options);
  EXPECT_TRUE(dispatched.ok()) << dispatched.status().to_string();
  if (dispatched.ok()) {
    flight.dispatched = std::move(*dispatched);
  }
  return flight;
}

void land(ElasticBuffer& buffer, Flight& flight) {
  ASSERT_TRUE(flight.dispatched.handle.valid());
  std::vector<float> combined(flight.tokens.size());
  const Status status = buffer.combine({flight.dispatched.rows, flight.dispatched.row_count},
                                       flight.dispatched.handle, combined.data());
  ASSERT_TRUE(status.ok()) << status.to_string();
  ASSERT_EQ(combined, flight.expected);
}

BufferOptions buffer_options(int open_rounds) {
  return {.max_tokens_per_rank = 48,
          .hidden = kHidden,
          .topk = 2,
          .experts = 8,
          .element = ElementType::kFp32,
          .open_rounds = open_rounds};
}

// Work instead of sleep: the rank stays runnable, as a rank in a kernel would.
void keep_busy(std::chrono::nanoseconds time) {
  const std::int64_t start = monotonic_ns();
  while (monotonic_ns() - start < time.count()) {
  }
}

void run_two_open_rounds(RankKind kind) {
  const auto on_rank = [](Communicator& communicator) {
    auto buffer = ElasticBuffer::open(communicator, buffer_options(2));
    ASSERT_TRUE(buffer.ok()) << buffer.status().to_string();
    for (std::uint64_t turn = 0; turn < 200; ++turn) {
      const Path path = all_paths()[turn % 8];
      const DispatchOptions options{
          .layout = path.layout, .mode = path.mode, .protocol = path.protocol};
      Flight first = take_off(*buffer, 32, 2 * turn, communicator.rank(), options);
      Flight second = take_off(*buffer, 48, 2 * turn + 1, communicator.rank(), options);
      const bool in_order = turn % 2 == 0;
      ASSERT_NO_FATAL_FAILURE(land(*buffer, in_order ? first : second));
      ASSERT_NO_FATAL_FAILURE(land(*buffer, in_order ? second : first));
    }
  };
  run_ranks(4, on_rank, patient(kind));
}

TEST(TwoOpenRounds, GiveEachCombineItsOwnRoundInEitherOrder) {
  run_two_open_rounds(RankKind::kThreads);
}

TEST(TwoOpenRoundsOfProcesses, GiveEachCombineItsOwnRoundInEitherOrder) {
  run_two_open_rounds(RankKind::kProcesses);
}

TEST(OneOpenRound, ASecondDispatchIsBusyOnEveryRankAndWorksOnceTheHandleIsDropped) {
  const auto on_rank = [](Communicator& communicator) {
    for (const Path& path : mode_paths()) {
      SCOPED_TRACE(path.describe());
      auto buffer = ElasticBuffer::open(communicator, buffer_options(1));
      ASSERT_TRUE(buffer.ok());
      const DispatchOptions options{.layout = path.layout, .mode = path.mode};
      Flight first = take_off(*buffer, 32, 1, communicator.rank(), options);
      const Status busy =
          buffer->dispatch({first.tokens.data(), 32, first.experts, {}}, options).status();
      EXPECT_EQ(busy.kind(), StatusKind::kBusy) << busy.to_string();
      EXPECT_THAT(std::string(busy.message()), HasSubstr("open_rounds"));
      ASSERT_NO_FATAL_FAILURE(land(*buffer, first));  // The refused call did not harm it.
      first.dispatched.handle = Handle();
      Flight second = take_off(*buffer, 48, 2, communicator.rank(), options);
      ASSERT_NO_FATAL_FAILURE(land(*buffer, second));
    }
  };
  run_ranks(4, on_rank, patient());
}

TEST(OneOpenRound, AHandleKeptOnOneRankIsRefusedThereAndNamedElsewhere) {
  const auto on_rank = [](Communicator& communicator) {
    auto buffer = ElasticBuffer::open(communicator, buffer_options(1));
    ASSERT_TRUE(buffer.ok());
    Flight first = take_off(*buffer, 32, 1, communicator.rank(), {});
    ASSERT_NO_FATAL_FAILURE(land(*buffer, first));
    const bool keeps = communicator.rank() == 3;
    if (!keeps) {
      first.dispatched.handle = Handle();
    }
    const Status status = buffer->dispatch({first.tokens.data(), 32, first.experts, {}}).status();
    EXPECT_EQ(status.kind(), keeps ? StatusKind::kBusy : StatusKind::kPeerRefused);
    EXPECT_EQ(status.culprit(), keeps ? -1 : 3) << status.to_string();
    first.dispatched.handle = Handle();
    Flight second = take_off(*buffer, 48, 2, communicator.rank(), {});
    ASSERT_NO_FATAL_FAILURE(land(*buffer, second));
  };
  run_ranks(4, on_rank, patient());
}

void alternate_sizes(Communicator& communicator, int open_rounds, std::uint64_t seed) {
  auto buffer = ElasticBuffer::open(communicator, buffer_options(open_rounds));
  ASSERT_TRUE(buffer.ok());
  std::mt19937_64 random(seed);
  constexpr std::array<std::int64_t, 4> kSizes = {1, 48, 2, 32};
  for (std::uint64_t turn = 0; turn < 500; ++turn) {
    const Path path = all_paths()[turn / 4 % 8];
    const DispatchOptions options{.layout = path.layout,
                                  .mode = turn % 3 == 0 ? Mode::kAuto : path.mode,
                                  .max_tokens_per_rank = kSizes[turn % 4],
                                  .protocol = path.protocol};
    if (communicator.rank() == 1) {
      keep_busy(std::chrono::microseconds(random() % 8 == 0 ? random() % 5000 : 0));
    }
    Flight flight = take_off(*buffer, kSizes[turn % 4], turn, communicator.rank(), options);
    ASSERT_NO_FATAL_FAILURE(land(*buffer, flight));
  }
}

TEST(AlternatingSizes, StayExactOverManyRoundsWithOneLateRank) {
  const std::uint64_t seed = test_seed();
  for (const int open_rounds : {1, 2}) {
    run_ranks(
        4, [&](Communicator& communicator) { alternate_sizes(communicator, open_rounds, seed); },
        patient());
  }
}

// The routing changes from round to round, so that gaps come to lie where rows were.
TEST(AlignmentGaps, AreZeroAndWithoutOriginAlsoWhereRowsWereBefore) {
  const auto on_rank = [](Communicator& communicator) {
    for (const Path& path : mode_paths()) {
      ExchangeCase which = shaped_case({.tokens = {16, 16, 16, 16},
                                        .layout = RowLayout::kExpanded,
                                        .mode = path.mode,
                                        .capacity = 48});
      which.buffer.max_expert_alignment = 8;
      auto buffer = ElasticBuffer::open(communicator, which.buffer);
      ASSERT_TRUE(buffer.ok()) << buffer.status().to_string();
      for (std::uint64_t turn = 0; turn < 6; ++turn) {
        const std::int64_t token_count = turn % 2 == 0 ? 48 : 11;
        which.routes =
            shaped_case({.tokens = std::vector<std::int64_t>(4, token_count), .seed = turn}).routes;
        which.dispatch.expert_alignment = 8;
        which.dispatch.padding = Padding::kZero;
        SCOPED_TRACE(which.describe());
        ASSERT_NO_FATAL_FAILURE(run_rounds(which, *buffer, communicator.rank()));
      }
    }
  };
  run_ranks(4, on_rank, patient());
}

}  // namespace
}  // namespace crossdock::testing
