// SPDX-License-Identifier: Apache-2.0
// Bad input to dispatch on one rank: it says what is wrong and what is allowed before anything is
// sent, the others hear at once which rank refused and why, and the same buffer then works.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/support/refusals.h"

namespace crossdock::testing {
namespace {

struct BadCall {
  std::string name;
  StatusKind kind;
  std::vector<std::string> words;  // of the faulty rank's line
  std::function<void(Call&)> spoil;
};

void PrintTo(const BadCall& bad, std::ostream* out) { *out << bad.name; }

std::vector<BadCall> bad_values() {
  using enum StatusKind;
  const auto add_token = [](Call& call) {
    ++call.token_count;
    call.ids.insert(call.ids.end(), {0, 1});
    call.weights.insert(call.weights.end(), {0.5F, 0.5F});
  };
  return {
      {"IdEqualToTheExpertCount",
       kInvalidArgument,
       {"row 5", "column 1", "is 8", "0 .. 7"},
       [](Call& call) { call.ids[11] = 8; }},
      {"IdBelowMinusOne",
       kInvalidArgument,
       {"row 0", "column 0", "-2", "0 .. 7"},
       [](Call& call) { call.ids[0] = -2; }},
      {"WideIdThatWouldBeLegalIn32Bits",
       kInvalidArgument,
       {"row 1", "column 0", "4294967296", "0 .. 7"},
       [](Call& call) {
         call.wide_ids.assign(call.ids.begin(), call.ids.end());
         call.wide_ids[2] = std::int64_t{1} << 32;
       }},
      {"ExpertTwiceInOneToken",
       kInvalidArgument,
       {"row 3", "expert 5", "columns 0 and 1", "once per token"},
       [](Call& call) { call.ids[6] = call.ids[7] = 5; }},
      {"MoreTokensThanTheCapacity", kCapacity, {"17", "16"}, add_token},
      {"NegativeTokenCount",
       kCapacity,
       {"-3", "0 .. 16"},
       [](Call& call) { call.token_count = -3; }},
      {"TooFewIds", kInvalidArgument, {"31", "32"}, [](Call& call) { call.ids.pop_back(); }},
      {"TooFewWeights",
       kInvalidArgument,
       {"31", "32"},
       [](Call& call) { call.weights.pop_back(); }},
      {"NullTokens",
       kInvalidArgument,
       {"tokens is null", "16 rows of 128 bytes"},
       [](Call& call) { call.no_tokens = true; }},
      {"AlignmentZero",
       kInvalidArgument,
       {"expert_alignment is 0", "1 .. 4"},
       [](Call& call) { call.options.expert_alignment = 0; }},
      {"AlignmentAboveTheBuffers",
       kInvalidArgument,
       {"expert_alignment is 5", "1 .. 4"},
       [](Call& call) { call.options.expert_alignment = 5; }},
      {"CallCapacityAboveTheBuffers",
       kInvalidArgument,
       {"17", "1 .. 16"},
       [](Call& call) { call.options.max_tokens_per_rank = 17; }},
      {"UnknownProtocol",
       kInvalidArgument,
       {"pigeon", "tail_fence", "barrier"},
       [](Call& call) { call.options.protocol = "pigeon"; }},
      {"UnknownSchedule",
       kInvalidArgument,
       {"whenever", "direct", "rotation"},
       [](Call& call) { call.options.schedule = "whenever"; }},
  };
}

void run_bad_call(const BadCall& bad, const Path& path, Communicator& communicator) {
  SCOPED_TRACE(path.describe());
  const ExchangeCase which = small_case(path);
  run_around(which, communicator, [&](ElasticBuffer& buffer) {
    Call call = good_call(which, communicator.rank());
    if (communicator.rank() == kFaulty) {
      bad.spoil(call);
    }
    const auto dispatched = buffer.dispatch(call.input(), call.options);
    ASSERT_FALSE(dispatched.ok());
    expect_refused(dispatched.status(), communicator.rank(), bad.kind, bad.words);
  });
}

// --- dispatch ------------------------------------------------------------------------------------

class BadDispatch : public ::testing::TestWithParam<BadCall> {};

TEST_P(BadDispatch, IsRefusedWithAReasonAndTheBufferWorksOn) {
  run_ranks(
      kRankCount,
      [](Communicator& communicator) {
        for (const Path& path : mode_paths()) {
          run_bad_call(GetParam(), path, communicator);
        }
      },
      patient());
}

INSTANTIATE_TEST_SUITE_P(Values, BadDispatch, ::testing::ValuesIn(bad_values()),
                         [](const auto& instance) { return instance.param.name; });

TEST(BadDispatchOfProcesses, IsRefusedWithAReasonAndTheBufferWorksOn) {
  run_ranks(
      kRankCount,
      [](Communicator& communicator) {
        for (const BadCall& bad : bad_values()) {
          SCOPED_TRACE(bad.name);
          run_bad_call(bad, mode_paths()[bad.name.size() % 4], communicator);
        }
      },
      patient(RankKind::kProcesses));
}

TEST(BadDispatch, RowCapacityExceededIsRefusedOnAllRanksWithNeededAndAvailableRows) {
  for (const RowLayout layout : {RowLayout::kPlain, RowLayout::kExpanded}) {
    for (const RankKind kind : {RankKind::kThreads, RankKind::kProcesses}) {
      ExchangeCase which = small_case({Mode::kThroughput, layout, "auto"});
      which.buffer.row_capacity = 63;
      const auto on_rank = [&](Communicator& communicator) {
        run_around(which, communicator, [&](ElasticBuffer& buffer) {
          // Lane 0 of every token goes to rank 3, whose experts are 6 and 7: 64 rows.
          Call call = good_call(which, communicator.rank());
          for (std::size_t route = 0; route < call.ids.size(); route += 2) {
            call.ids[route] = 6;
            call.ids[route + 1] = 0;
          }
          const Status status = buffer.dispatch(call.input(), call.options).status();
          EXPECT_EQ(status.kind(), StatusKind::kCapacity) << status.to_string();
          expect_line(status, {"rank 0", "64 rows", "63"});
        });
      };
      run_ranks(kRankCount, on_rank, patient(kind));
    }
  }
}

TEST(BadDispatch, LatencyModeThatDoesNotFitIsRefusedWithBothNumbers) {
  ExchangeCase which = small_case({Mode::kThroughput, RowLayout::kPlain, "auto"});
  which.buffer.latency_tokens = 8;
  run_ranks(
      kRankCount,
      [&](Communicator& communicator) {
        run_around(which, communicator, [&](ElasticBuffer& buffer) {
          Call call = good_call(which, communicator.rank());
          call.options.mode = Mode::kLatency;
          const Status status = buffer.dispatch(call.input(), call.options).status();
          EXPECT_EQ(status.kind(), StatusKind::kInvalidArgument) << status.to_string();
          expect_line(status, {"latency mode", "<= 8", "16"});
        });
      },
      patient());
}

// --- ranks that disagree -------------------------------------------------------------------------

struct Difference {
  std::string field;
  std::function<void(Call&)> change;
};

void PrintTo(const Difference& difference, std::ostream* out) { *out << difference.field; }

class DispatchOptionsDisagree : public ::testing::TestWithParam<Difference> {};

TEST_P(DispatchOptionsDisagree, IsAMismatchOnEveryRankThatNamesTheFieldAndTheRank) {
  run_ranks(
      kRankCount,
      [](Communicator& communicator) {
        for (const Path& path : mode_paths()) {
          SCOPED_TRACE(path.describe());
          const ExchangeCase which = small_case(path);
          run_around(which, communicator, [&](ElasticBuffer& buffer) {
            Call call = good_call(which, communicator.rank());
            if (communicator.rank() == kFaulty) {
              GetParam().change(call);
            }
            const Status status = buffer.dispatch(call.input(), call.options).status();
            expect_mismatch(status, communicator.rank(), GetParam().field);
          });
        }
      },
      patient());
}

INSTANTIATE_TEST_SUITE_P(
    Fields, DispatchOptionsDisagree,
    ::testing::Values(
        Difference{"layout",
                   [](Call& call) {
                     call.options.layout = call.options.layout == RowLayout::kPlain
                                               ? RowLayout::kExpanded
                                               : RowLayout::kPlain;
                   }},
        Difference{"mode",
                   [](Call& call) {
                     call.options.mode =
                         call.options.mode == Mode::kLatency ? Mode::kThroughput : Mode::kLatency;
                   }},
        Difference{"expert_alignment", [](Call& call) { call.options.expert_alignment = 2; }},
        Difference{"padding", [](Call& call) { call.options.padding = Padding::kZero; }},
        // The other ranks' bound is the buffer's 16.
        Difference{"max_tokens_per_rank",
                   [](Call& call) {
                     call.options.max_tokens_per_rank = 15;
                     call.token_count = 15;
                     call.ids.resize(30);
                     call.weights.resize(30);
                   }},
        Difference{"protocol", [](Call& call) { call.options.protocol = "barrier"; }},
        Difference{"schedule", [](Call& call) { call.options.schedule = "rotation"; }},
        Difference{"topk_weights", [](Call& call) { call.weights.clear(); }}),
    [](const auto& instance) { return instance.param.field; });

}  // namespace
}  // namespace crossdock::testing
