// SPDX-License-Identifier: Apache-2.0
// Kinds of faults that public expert-parallel libraries had: empty ranks, special ids, unequal and
// unusual sizes, sums in too narrow a type. One test for each, named after what must hold.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/float.h"
#include "tests/support/rank_runner.h"
#include "tests/support/shaped_case.h"

namespace crossdock::testing {
namespace {

using ::testing::HasSubstr;

RunOptions patient() {
  RunOptions options;
  options.communicator.timeout = std::chrono::seconds(60);
  return options;
}

/// Runs a case on threads for every mode and layout.
void run_everywhere(CaseShape shape, const std::function<void(ExchangeCase&)>& change = {}) {
  const int rank_count = static_cast<int>(shape.tokens.size());
  for (const Path& path : mode_paths()) {
    shape.mode = path.mode;
    shape.layout = path.layout;
    ExchangeCase which = shaped_case(shape);
    if (change) {
      change(which);
    }
    SCOPED_TRACE(which.describe());
    run_ranks(
        rank_count, [&](Communicator& communicator) { run_case(which, communicator); }, patient());
  }
}

// --- ranks that have, or receive, nothing --------------------------------------------------------

constexpr int kManyRounds = 1000;

struct EmptyCase {
  std::string name;
  std::vector<std::int64_t> tokens;
  bool all_on_rank_0 = false;
};

void PrintTo(const EmptyCase& which, std::ostream* out) { *out << which.name; }

class EmptyRanks : public ::testing::TestWithParam<EmptyCase> {};

std::int64_t rows_for(const EmptyCase& which, int rank, RowLayout layout) {
  if (which.all_on_rank_0) {
    return rank > 0 ? 0 : layout == RowLayout::kPlain ? 64 : 128;
  }
  return -1;  // not said
}

void run_many_rounds(const EmptyCase& empty, const Path& path, Communicator& communicator) {
  SCOPED_TRACE(path.describe());
  const int rank = communicator.rank();
  ExchangeCase normal = shaped_case({.hidden = 256,
                                     .element = ElementType::kFp32,
                                     .layout = path.layout,
                                     .mode = path.mode,
                                     .protocol = path.protocol});
  auto buffer = ElasticBuffer::open(communicator, normal.buffer);
  ASSERT_TRUE(buffer.ok()) << buffer.status().to_string();
  const std::int64_t token_count = empty.tokens[static_cast<std::size_t>(rank)];
  const auto tokens = tagged_tokens(token_count, 256, rank, 3);
  std::vector<std::int32_t> experts = normal.routes[static_cast<std::size_t>(rank)].experts;
  experts.resize(static_cast<std::size_t>(token_count) * 2);
  for (std::size_t route = 0; empty.all_on_rank_0 && route < experts.size(); ++route) {
    experts[route] = static_cast<std::int32_t>(route % 2);
  }
  DispatchOptions options = normal.dispatch;
  options.protocol = path.protocol;
  const auto expected = expected_sums(normal.buffer, 4, path.layout, tokens, experts);
  const std::int64_t expected_rows = rows_for(empty, rank, path.layout);
  for (int round = 0; round < kManyRounds; ++round) {
    const BareRound done = run_bare_round(*buffer, tokens, experts, options);
    ASSERT_TRUE(done.first_error().ok()) << round << ": " << done.first_error().to_string();
    ASSERT_EQ(done.combined, expected) << "round " << round;
    ASSERT_TRUE(expected_rows < 0 || done.row_count == expected_rows) << done.row_count;
  }
  ASSERT_NO_FATAL_FAILURE(run_rounds(normal, *buffer, rank));
}

TEST_P(EmptyRanks, TakePartInEveryRoundOfEveryProtocolAndANormalRoundFollows) {
  run_ranks(
      4,
      [](Communicator& communicator) {
        for (const Path& path : all_paths()) {
          run_many_rounds(GetParam(), path, communicator);
        }
      },
      patient());
}

INSTANTIATE_TEST_SUITE_P(Kinds, EmptyRanks,
                         ::testing::Values(EmptyCase{"OneRankHasNoTokens", {0, 16, 16, 16}},
                                           EmptyCase{
                                               "ThreeRanksReceiveNothing", {16, 16, 16, 16}, true},
                                           EmptyCase{"NobodyHasTokens", {0, 0, 0, 0}}),
                         [](const auto& instance) { return instance.param.name; });

TEST(EmptyRanks, ReceiveValidEmptyViewsAndZeroCounts) {
  run_everywhere({.tokens = {0, 0, 0, 0}, .hidden = 256, .capacity = 16});
  run_everywhere({.tokens = {0, 16, 16, 16}, .hidden = 256}, [](ExchangeCase& which) {
    for (auto& routes : which.routes) {
      for (std::size_t route = 0; route < routes.experts.size(); ++route) {
        routes.experts[route] = static_cast<std::int32_t>(route % 2);
      }
    }
  });
}

// --- special and illegal ids ---------------------------------------------------------------------

/// The identity experts' weighted outputs: rows times the weights of their lanes.
void weigh_rows(const Dispatched& dispatched, std::size_t hidden, std::size_t lanes) {
  auto* rows = reinterpret_cast<float*>(dispatched.rows);
  const bool is_plain = dispatched.handle.layout() == RowLayout::kPlain;
  for (std::size_t row = 0; row < static_cast<std::size_t>(dispatched.row_count); ++row) {
    float weight = is_plain ? 0.0F : dispatched.topk_weights[row];
    for (std::size_t lane = row * lanes; is_plain && lane < (row + 1) * lanes; ++lane) {
      weight += dispatched.topk_ids[lane] >= 0 ? dispatched.topk_weights[lane] : 0.0F;
    }
    for (std::size_t index = row * hidden; index < (row + 1) * hidden; ++index) {
      rows[index] *= weight;
    }
  }
}

TEST(SpecialIds, UnusedLanesCarryNothingAndCountNothing) {
  const std::vector<std::int32_t> experts = {0, -1, -1, -1, 3, 1, -1, 0};
  const std::vector<float> factors = {0.25F, 0.0F, 1.0F, 0.75F};
  const auto on_rank = [&](Communicator& communicator) {
    for (const Path& path : all_paths()) {
      SCOPED_TRACE(path.describe());
      const BufferOptions options{.max_tokens_per_rank = 5,
                                  .hidden = 128,
                                  .topk = 2,
                                  .experts = 4,
                                  .element = ElementType::kFp32};
      auto buffer = ElasticBuffer::open(communicator, options);
      ASSERT_TRUE(buffer.ok());
      const auto tokens = tagged_tokens(4, 128, communicator.rank(), 1);
      const std::vector<float> weights = {0.25F, 0.75F, 0.25F, 0.75F, 0.25F, 0.75F, 0.25F, 0.75F};
      auto dispatched =
          buffer->dispatch({tokens.data(), 4, experts, weights},
                           {.layout = path.layout, .mode = path.mode, .protocol = path.protocol});
      ASSERT_TRUE(dispatched.ok()) << dispatched.status().to_string();
      // Experts 0 and 1 are rank 0's, 3 is rank 1's; both ranks send the same.
      const std::vector<std::int64_t> counts(dispatched->rows_per_expert.begin(),
                                             dispatched->rows_per_expert.end());
      EXPECT_EQ(counts, communicator.rank() == 0 ? (std::vector<std::int64_t>{4, 2})
                                                 : (std::vector<std::int64_t>{0, 2}));
      weigh_rows(*dispatched, 128, 2);
      std::vector<float> combined(tokens.size());
      ASSERT_TRUE(buffer
                      ->combine({dispatched->rows, dispatched->row_count}, dispatched->handle,
                                combined.data())
                      .ok());
      for (std::size_t index = 0; index < combined.size(); ++index) {
        ASSERT_EQ(combined[index], tokens[index] * factors[index / 128]) << "element " << index;
      }
    }
  };
  run_ranks(2, on_rank, patient());
}

TEST(SpecialIds, IllegalIdsAreRefusedNamingRowColumnAndValue) {
  struct Illegal {
    std::vector<std::int32_t> experts;
    std::vector<std::string> words;
  };
  const std::vector<Illegal> cases = {
      {{0, 1, 2, 3, 2, 2}, {"row 2", "expert 2", "columns 0 and 1"}},
      {{4, 0, 0, 1, 0, 1}, {"row 0", "column 0", "is 4", "0 .. 3"}},
      {{0, 1, -2, 0, 0, 1}, {"row 1", "column 0", "is -2", "0 .. 3"}},
  };
  const auto on_rank = [&](Communicator& communicator) {
    const BufferOptions options{.max_tokens_per_rank = 5, .hidden = 128, .topk = 2, .experts = 4};
    auto buffer = ElasticBuffer::open(communicator, options);
    ASSERT_TRUE(buffer.ok());
    const std::vector<std::uint16_t> tokens(3 * 128);
    for (const Illegal& illegal : cases) {
      const std::vector<std::int32_t> legal = {0, 1, 1, 2, 2, 3};
      const bool is_faulty = communicator.rank() == 1;
      const Status status =
          buffer->dispatch({tokens.data(), 3, is_faulty ? illegal.experts : legal, {}}).status();
      EXPECT_EQ(status.kind(), is_faulty ? StatusKind::kInvalidArgument : StatusKind::kPeerRefused);
      for (const std::string& word : illegal.words) {
        EXPECT_THAT(std::string(status.message()), HasSubstr(word));
      }
    }
  };
  run_ranks(2, on_rank, patient());
}

// --- sizes ---------------------------------------------------------------------------------------

TEST(UnequalSizes, EveryMixOfTokenCountsIsExactInAnyOrderWithNarrowAndWideIds) {
  const std::vector<std::vector<std::int64_t>> mixes = {
      {0, 1, 7, 64}, {5, 5, 5, 5}, {6, 6, 6, 6}, {3, 1, 4, 1}};
  const auto on_rank = [&](Communicator& communicator) {
    for (const Path& path : mode_paths()) {
      const CaseShape base{.hidden = 128, .layout = path.layout, .mode = path.mode, .capacity = 64};
      auto buffer = ElasticBuffer::open(communicator, shaped_case(base).buffer);
      ASSERT_TRUE(buffer.ok()) << buffer.status().to_string();
      for (std::size_t turn = 0; turn < 3 * mixes.size(); ++turn) {
        CaseShape shape = base;
        shape.tokens = mixes[(turn * 3 + turn / 4) % mixes.size()];
        shape.seed = turn;
        ExchangeCase which = shaped_case(shape);
        which.wide_ids = turn % 2 == 1;
        SCOPED_TRACE(which.describe());
        ASSERT_NO_FATAL_FAILURE(run_rounds(which, *buffer, communicator.rank()));
      }
    }
  };
  run_ranks(4, on_rank, patient());
}

TEST(Capacity, OneTokenTooManyIsRefusedEverywhereAndExactlyTheCapacityWorks) {
  const auto on_rank = [](Communicator& communicator) {
    const ExchangeCase full = shaped_case({.tokens = {128, 128, 128, 128}, .hidden = 256});
    auto buffer = ElasticBuffer::open(communicator, full.buffer);
    ASSERT_TRUE(buffer.ok());
    const std::int64_t token_count = communicator.rank() == 2 ? 129 : 128;
    const std::vector<std::uint16_t> tokens(static_cast<std::size_t>(token_count) * 256);
    const std::vector<std::int32_t> experts(static_cast<std::size_t>(token_count) * 2, -1);
    const Status status = buffer->dispatch({tokens.data(), token_count, experts, {}}).status();
    EXPECT_EQ(status.kind(),
              communicator.rank() == 2 ? StatusKind::kCapacity : StatusKind::kPeerRefused);
    EXPECT_EQ(status.culprit(), communicator.rank() == 2 ? -1 : 2);
    EXPECT_THAT(std::string(status.message()), HasSubstr("129"));
    EXPECT_THAT(std::string(status.message()), HasSubstr("128"));
    run_rounds(full, *buffer, communicator.rank());
  };
  run_ranks(4, on_rank, patient());
}

// Raw bytes stand for types that dispatch only moves: fp8 rows with a 4-byte scale per 128.
TEST(UnusualShapes, EveryHiddenSizeIsExactInEveryElementType) {
  const auto on_rank = [](Communicator& communicator) {
    int turn = 0;
    for (const std::int64_t hidden :
         {16, 24, 100, 128, 1536, 2048, 2880, 3072, 3584, 4097, 6656, 7168}) {
      for (const ElementType element :
           {ElementType::kBf16, ElementType::kFp32, ElementType::kBytes}) {
        const Path path = mode_paths()[static_cast<std::size_t>(turn++ % 4)];
        const std::int64_t scale_bytes = 4 * ((hidden + 127) / 128);
        const ExchangeCase which =
            shaped_case({.tokens = {33, 33, 33, 33},
                         .hidden = element == ElementType::kBytes ? hidden + scale_bytes : hidden,
                         .element = element,
                         .layout = path.layout,
                         .mode = path.mode});
        SCOPED_TRACE(which.describe());
        ASSERT_NO_FATAL_FAILURE(run_case(which, communicator));
      }
    }
  };
  run_ranks(4, on_rank, patient());
}

TEST(UnusualShapes, EveryTopkIsExact) {
  for (const int topk : {1, 2, 8, 11, 16, 22, 64}) {
    run_everywhere({.tokens = {33, 33, 33, 33}, .hidden = 100, .experts = 64, .topk = topk});
  }
}

TEST(UnusualShapes, ExpertsThatRanksDoNotDivideAreSplitAsDocumented) {
  run_everywhere({.tokens = {33, 33, 33, 33}, .experts = 10});
  run_everywhere({.tokens = {9, 9, 9, 9, 9, 9, 9}, .experts = 896, .topk = 16});
  const auto on_rank = [](Communicator& communicator) {
    auto buffer = ElasticBuffer::open(communicator, shaped_case({.experts = 10}).buffer);
    ASSERT_TRUE(buffer.ok());
    EXPECT_EQ(buffer->local_expert_count(), communicator.rank() < 2 ? 3 : 2);
    const auto refused = ElasticBuffer::open(communicator, shaped_case({.experts = 3}).buffer);
    EXPECT_EQ(refused.status().kind(), StatusKind::kInvalidArgument);
    EXPECT_THAT(std::string(refused.status().message()), HasSubstr("experts is 3; allowed: 4"));
  };
  run_ranks(4, on_rank, patient());
}

TEST(LargeSizes, ThePlanIsIn64BitsAndAllocatesNothing) {
  BufferOptions options{.max_tokens_per_rank = 4096, .hidden = 7168, .topk = 8, .experts = 256};
  options.row_capacity = 64 * 4096;
  const auto plan = plan_memory(options, 64);
  ASSERT_TRUE(plan.ok()) << plan.status().to_string();
  EXPECT_EQ(plan->rows_bytes, 3'758'096'384U);
  EXPECT_EQ(plan->outputs_bytes, 3'758'096'384U);
  EXPECT_GT(plan->reserved_bytes, 2 * 3'758'096'384U);
  EXPECT_EQ(plan->worst_case_rows, std::int64_t{64} * 4096 * 4);
  options.row_capacity = 0;
  const auto affordable = plan_memory(options, 64);
  ASSERT_TRUE(affordable.ok());
  EXPECT_LE(affordable->rows_bytes + affordable->outputs_bytes, std::uint64_t{2} << 30);
}

// --- numerics ------------------------------------------------------------------------------------

/// The sum of experts' constants for one token whose lanes go to `experts` in that order.
template <typename Element>
std::vector<float> sum_of_constants(ElasticBuffer& buffer, const std::vector<float>& of_expert,
                                    const std::vector<std::int32_t>& experts, RowLayout layout,
                                    float (*widen)(Element), Element (*narrow)(float)) {
  const std::vector<Element> token(128);
  auto got = buffer.dispatch({token.data(), 1, experts, {}}, {.layout = layout});
  EXPECT_TRUE(got.ok()) << got.status().to_string();
  auto* rows = reinterpret_cast<Element*>(got->rows);
  for (std::size_t row = 0; row < static_cast<std::size_t>(got->row_count); ++row) {
    float value = 0;
    if (layout == RowLayout::kPlain) {
      for (const std::int32_t local : got->topk_ids.subspan(row * 8, 8)) {
        value += local < 0
                     ? 0.0F
                     : of_expert[static_cast<std::size_t>(buffer.first_local_expert() + local)];
      }
    } else {
      for (std::size_t local = 0; local < got->expert_begin.size(); ++local) {
        if (static_cast<std::size_t>(got->expert_begin[local]) <= row) {
          value = of_expert[static_cast<std::size_t>(buffer.first_local_expert()) + local];
        }
      }
    }
    std::fill_n(rows + row * 128, 128, narrow(value));
  }
  std::vector<Element> combined(128);
  EXPECT_TRUE(buffer.combine({got->rows, got->row_count}, got->handle, combined.data()).ok());
  std::vector<float> wide(128);
  std::transform(combined.begin(), combined.end(), wide.begin(), widen);
  return wide;
}

TEST(Sums, OfManyBf16ContributionsAreRoundedOnceInEveryOrder) {
  const std::vector<float> of_expert = {256, 1, 1, 1, 1, 1, 1, 0};
  const std::vector<float> reversed(of_expert.rbegin(), of_expert.rend());
  const std::vector<float> exact(128, 262.0F);
  const auto on_rank = [&](Communicator& communicator) {
    BufferOptions options{.max_tokens_per_rank = 1, .hidden = 128, .topk = 8, .experts = 8};
    auto narrow = ElasticBuffer::open(communicator, options);
    options.element = ElementType::kFp32;
    auto wide = ElasticBuffer::open(communicator, options);
    ASSERT_TRUE(narrow.ok() && wide.ok());
    std::vector<std::int32_t> lanes = {0, 1, 2, 3, 4, 5, 6, 7};
    for (int turn = 0; turn < 8; ++turn) {
      for (const auto& constants : {of_expert, reversed}) {
        EXPECT_EQ((sum_of_constants<Bf16>(*narrow, constants, lanes, RowLayout::kExpanded, to_fp32,
                                          to_bf16)),
                  exact);
        // Plain: an expert rank's partial sum crosses the wire in the row's type, here fp32.
        EXPECT_EQ((sum_of_constants<float>(
                      *wide, constants, lanes, RowLayout::kPlain, [](float value) { return value; },
                      [](float value) { return value; })),
                  exact);
      }
      std::rotate(lanes.begin(), lanes.begin() + 1, lanes.end());
    }
  };
  run_ranks(2, on_rank, patient());
}

}  // namespace
}  // namespace crossdock::testing
