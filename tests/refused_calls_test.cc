// SPDX-License-Identifier: Apache-2.0
// Bad input to what goes beyond a plain round: scales, statistics, weights and paths of combine,
// fixed row counts, racing, plans. The faulty rank is told what is allowed, the others why it
// refused, and the buffer works on.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/support/refusals.h"

namespace crossdock::testing {
namespace {

using SpoilBuffer = std::function<void(BufferOptions&)>;
using SpoilDispatch = std::function<void(DispatchInput&, DispatchOptions&)>;
struct CombineCall {
  CombineInput input;
  CombineOptions options;
};
using SpoilCombine = std::function<void(CombineCall&)>;

struct Refusal {
  StatusKind kind = StatusKind::kInvalidArgument;
  std::vector<std::string> words;
};

ExchangeCase case_of(RowLayout layout, const SpoilBuffer& change) {
  ExchangeCase which = small_case({Mode::kThroughput, layout, "auto"});
  change(which.buffer);
  return which;
}

void run_bad_dispatch(const ExchangeCase& which, const SpoilDispatch& spoil,
                      const Refusal& refusal) {
  run_ranks(
      kRankCount,
      [&](Communicator& communicator) {
        run_around(which, communicator, [&](ElasticBuffer& buffer) {
          const Call call = good_call(which, communicator.rank());
          const std::vector<std::byte> scales(1 << 12);
          DispatchInput input = call.input();
          input.scales = which.buffer.scale_bytes == 0 ? nullptr : scales.data();
          DispatchOptions options = call.options;
          if (communicator.rank() == kFaulty) {
            spoil(input, options);
          }
          expect_refused(buffer.dispatch(input, options).status(), communicator.rank(),
                         refusal.kind, refusal.words);
        });
      },
      patient());
}

void run_bad_combine(const ExchangeCase& which, const SpoilCombine& spoil, const Refusal& refusal) {
  run_ranks(
      kRankCount,
      [&](Communicator& communicator) {
        run_around(which, communicator, [&](ElasticBuffer& buffer) {
          const Call call = good_call(which, communicator.rank());
          auto dispatched = buffer.dispatch(call.input(), call.options);
          ASSERT_TRUE(dispatched.ok()) << dispatched.status().to_string();
          std::vector<std::byte> tokens(call.tokens.size());
          CombineCall combine{.input = {dispatched->outputs, dispatched->row_count}, .options = {}};
          if (communicator.rank() == kFaulty) {
            spoil(combine);
          }
          expect_refused(
              buffer.combine(combine.input, dispatched->handle, tokens.data(), combine.options),
              communicator.rank(), refusal.kind, refusal.words);
        });
      },
      patient());
}

void keep(BufferOptions& /*options*/) {}

TEST(BadDispatchInput, MissingScalesAreRefused) {
  run_bad_dispatch(case_of(RowLayout::kPlain, [](auto& buffer) { buffer.scale_bytes = 12; }),
                   [](auto& input, auto&) { input.scales = nullptr; },
                   {StatusKind::kInvalidArgument, {"scales is null", "16 times 12 bytes"}});
}

TEST(BadDispatchInput, ScalesThatNobodyAwaitsAreRefused) {
  const int scale = 0;
  run_bad_dispatch(case_of(RowLayout::kPlain, keep),
                   [&](auto& input, auto&) { input.scales = &scale; },
                   {StatusKind::kInvalidArgument, {"scales are given", "scale_bytes is 0"}});
}

TEST(BadDispatchInput, StatisticsOfTheWrongSizeAreRefused) {
  std::vector<std::int64_t> statistics(3);
  run_bad_dispatch(case_of(RowLayout::kExpanded, keep),
                   [&](auto& input, auto&) { input.receive_statistics = statistics; },
                   {StatusKind::kInvalidArgument, {"receive_statistics has 3 counts", "0 or 2"}});
}

TEST(BadDispatchInput, AWorstCaseBeyondTheRowCapacityIsRefused) {
  run_bad_dispatch(case_of(RowLayout::kPlain, [](auto& buffer) { buffer.row_capacity = 63; }),
                   [](auto&, auto& options) { options.row_count = RowCount::kWorstCase; },
                   {StatusKind::kCapacity, {"worst-case rows are 64", "row_capacity, 63"}});
}

TEST(BadDispatchInput, RacingWithoutItsLandingAreaIsRefused) {
  run_bad_dispatch(case_of(RowLayout::kExpanded, keep),
                   [](auto&, auto& options) { options.mode = Mode::kRacing; },
                   {StatusKind::kInvalidArgument, {"racing mode needs", "racing_tokens"}});
}

TEST(BadCombineInput, GateWeightsInThePlainLayoutAreRefused) {
  const std::vector<float> weights(32, 1.0F);
  run_bad_combine(case_of(RowLayout::kPlain, keep),
                  [&](CombineCall& call) { call.input.gate_weights = weights; },
                  {StatusKind::kUnsupported, {"gate_weights with the plain layout"}});
}

TEST(BadCombineInput, GateWeightsOfTheWrongNumberAreRefused) {
  const std::vector<float> weights(31, 1.0F);
  run_bad_combine(case_of(RowLayout::kExpanded, keep),
                  [&](CombineCall& call) { call.input.gate_weights = weights; },
                  {StatusKind::kInvalidArgument, {"gate_weights has 31", "0 or 32"}});
}

TEST(BadCombineInput, GatheringWithoutWeightsIsRefused) {
  run_bad_combine(case_of(RowLayout::kExpanded, keep),
                  [](CombineCall& call) { call.options.topk_weights = TopkWeights::kGather; },
                  {StatusKind::kInvalidArgument, {"topk_weights has"}});
}

TEST(BadCombineInput, PushingInABufferThatWasNotMadeForItIsRefused) {
  run_bad_combine(case_of(RowLayout::kExpanded, keep),
                  [](CombineCall& call) { call.options.path = CombinePath::kPush; },
                  {StatusKind::kUnsupported, {"path is push", "combine_path"}});
}

TEST(BadCombineInput, RowsOfATypeWithoutSumsAreRefusedOnEveryRank) {
  for (const ElementType element :
       {ElementType::kFp8E4m3, ElementType::kInt8, ElementType::kBytes}) {
    const ExchangeCase which =
        case_of(RowLayout::kPlain, [=](auto& buffer) { buffer.element = element; });
    run_ranks(
        kRankCount,
        [&](Communicator& communicator) {
          auto buffer = ElasticBuffer::open(communicator, which.buffer);
          ASSERT_TRUE(buffer.ok());
          const Call call = good_call(which, communicator.rank());
          auto dispatched = buffer->dispatch(call.input(), call.options);
          ASSERT_TRUE(dispatched.ok());
          std::vector<std::byte> tokens(call.tokens.size());
          const Status status = buffer->combine({dispatched->outputs, dispatched->row_count},
                                                dispatched->handle, tokens.data());
          EXPECT_EQ(status.kind(), StatusKind::kUnsupported);
          expect_line(status,
                      {std::string(to_string(element)) + " cannot be summed", "bf16, fp16, fp32"});
        },
        patient());
  }
}

TEST(BadCombineInput, DispatchedRowsOfAnotherTypeAreRefused) {
  run_ranks(
      kRankCount,
      [&](Communicator& communicator) {
        const ExchangeCase which = case_of(RowLayout::kPlain, [](auto& buffer) {
          buffer.element = ElementType::kFp8E4m3;
          buffer.output_element = ElementType::kBf16;
        });
        run_around(which, communicator, [&](ElasticBuffer& buffer) {
          const Call call = good_call(which, communicator.rank());
          auto dispatched = buffer.dispatch(call.input(), call.options);
          ASSERT_TRUE(dispatched.ok());
          std::vector<std::byte> tokens(call.tokens.size());
          const bool is_faulty = communicator.rank() == kFaulty;
          expect_refused(
              buffer.combine(
                  {is_faulty ? dispatched->rows : dispatched->outputs, dispatched->row_count},
                  dispatched->handle, tokens.data()),
              communicator.rank(), StatusKind::kInvalidArgument, {"fp8_e4m3", "rows of bf16"});
        });
      },
      patient());
}

TEST(BadPlan, OtherTokensThanThePlanHasOrIdsAreRefused) {
  const ExchangeCase which = case_of(RowLayout::kExpanded, keep);
  const auto on_rank = [&](Communicator& communicator) {
    run_around(which, communicator, [&](ElasticBuffer& buffer) {
      const Call call = good_call(which, communicator.rank());
      auto dispatched = buffer.dispatch(call.input(), call.options);
      ASSERT_TRUE(dispatched.ok());
      const DispatchPlan plan = dispatched->handle.plan();
      dispatched->handle = {};
      const bool is_faulty = communicator.rank() == kFaulty;
      DispatchInput fewer = call.input();
      fewer.topk_ids = {};
      fewer.token_count -= is_faulty ? 1 : 0;
      fewer.topk_weights = {};
      expect_refused(buffer.dispatch_again(fewer, plan).status(), communicator.rank(),
                     StatusKind::kInvalidArgument, {"15 tokens along the plan", "exactly 16"});
      DispatchInput with_ids = call.input();
      if (!is_faulty) {
        with_ids.topk_ids = {};
      }
      expect_refused(buffer.dispatch_again(with_ids, plan).status(), communicator.rank(),
                     StatusKind::kInvalidArgument, {"topk_ids has 32 ids", "none"});
    });
  };
  run_ranks(kRankCount, on_rank, patient());
}

TEST(BadPlan, PlansOfDifferentRoundsAreAMismatchAndAnotherBuffersIsRefused) {
  const ExchangeCase which = case_of(RowLayout::kExpanded, keep);
  const auto on_rank = [&](Communicator& communicator) {
    auto other = ElasticBuffer::open(communicator, which.buffer);
    ASSERT_TRUE(other.ok());
    const Call call = good_call(which, communicator.rank());
    const DispatchPlan foreign = other->dispatch(call.input(), call.options)->handle.plan();
    run_around(which, communicator, [&](ElasticBuffer& buffer) {
      const DispatchPlan first = buffer.dispatch(call.input(), call.options)->handle.plan();
      const DispatchPlan second = buffer.dispatch(call.input(), call.options)->handle.plan();
      const bool is_faulty = communicator.rank() == kFaulty;
      DispatchInput input = call.input();
      input.topk_ids = {};
      expect_mismatch(buffer.dispatch_again(input, is_faulty ? first : second).status(),
                      communicator.rank(), "round of the plan");
      expect_refused(buffer.dispatch_again(input, is_faulty ? foreign : second).status(),
                     communicator.rank(), StatusKind::kInvalidArgument, {"another buffer"});
    });
  };
  run_ranks(kRankCount, on_rank, patient());
}

}  // namespace
}  // namespace crossdock::testing
