// SPDX-License-Identifier: Apache-2.0
// Buffers that cannot be, or about which ranks disagree, and buffers that were closed: every rank
// gets an error, and a right buffer then opens on the same communicator.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/support/refusals.h"

namespace crossdock::testing {
namespace {

struct BufferDifference {
  std::string field;
  std::vector<std::string> values;  // both must be in the line
  std::function<void(BufferOptions&)> change;
};

void PrintTo(const BufferDifference& difference, std::ostream* out) { *out << difference.field; }

std::vector<BufferDifference> buffer_differences() {
  return {
      {"max_tokens_per_rank", {"16", "15"}, [](auto& made) { made.max_tokens_per_rank = 15; }},
      {"hidden", {"64", "72"}, [](auto& made) { made.hidden = 72; }},
      {"topk", {"2", "3"}, [](auto& made) { made.topk = 3; }},
      {"experts", {"8", "9"}, [](auto& made) { made.experts = 9; }},
      {"element", {"bf16", "fp32"}, [](auto& made) { made.element = ElementType::kFp32; }},
      {"output_element",
       {"bf16", "fp16"},
       [](auto& made) { made.output_element = ElementType::kFp16; }},
      {"scale_bytes", {"0", "12"}, [](auto& made) { made.scale_bytes = 12; }},
      {"racing_tokens", {"0", "4"}, [](auto& made) { made.racing_tokens = 4; }},
      {"combine_path",
       {"auto", "push"},
       [](auto& made) { made.combine_path = CombinePath::kPush; }},
      {"row_capacity", {"0", "100"}, [](auto& made) { made.row_capacity = 100; }},
      {"max_expert_alignment", {"4", "5"}, [](auto& made) { made.max_expert_alignment = 5; }},
      {"latency_tokens", {"128", "8"}, [](auto& made) { made.latency_tokens = 8; }},
      {"open_rounds", {"1", "2"}, [](auto& made) { made.open_rounds = 2; }},
      {"memory_budget_bytes", {"0", "99999"}, [](auto& made) { made.memory_budget_bytes = 99999; }},
      {"protocol", {"auto", "barrier"}, [](auto& made) { made.protocol = "barrier"; }},
      {"schedule", {"auto", "rotation"}, [](auto& made) { made.schedule = "rotation"; }},
  };
}

/// A buffer is refused on every rank; then a right one opens on the same communicator and works.
void run_buffer_refusal(const std::function<void(BufferOptions&, int rank)>& spoil,
                        const std::function<void(const Status&, int rank)>& expect, RankKind kind) {
  run_ranks(
      kRankCount,
      [&](Communicator& communicator) {
        ExchangeCase which = small_case({Mode::kAuto, RowLayout::kExpanded, "auto"});
        BufferOptions options = which.buffer;
        spoil(options, communicator.rank());
        const std::int64_t start = monotonic_ns();
        const auto refused = ElasticBuffer::open(communicator, options);
        EXPECT_LT(milliseconds_since(start), kQuickMs);
        ASSERT_FALSE(refused.ok());
        expect(refused.status(), communicator.rank());
        EXPECT_TRUE(communicator.health().ok());
        run_case(which, communicator);
      },
      patient(kind));
}

TEST(CommunicatorOptionsRefused, AQueueDepthOutOfRangeIsNamed) {
  for (const std::int64_t depth : {-1L, 1L, 65537L}) {
    const auto refused = Communicator::open(ThreadTeam(1), 0, {.queue_depth = depth});
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.status().kind(), StatusKind::kInvalidArgument);
    EXPECT_EQ(refused.status().message(),
              "queue_depth is " + std::to_string(depth) + "; allowed: 0, 2 .. 65536");
  }
}

class BufferOptionsDisagree : public ::testing::TestWithParam<BufferDifference> {};

TEST_P(BufferOptionsDisagree, IsAMismatchOnEveryRankThatNamesTheFieldTheRankAndBothValues) {
  for (const RankKind kind : {RankKind::kThreads, RankKind::kProcesses}) {
    run_buffer_refusal(
        [](BufferOptions& options, int rank) {
          if (rank == kFaulty) {
            GetParam().change(options);
          }
        },
        [](const Status& status, int rank) {
          expect_mismatch(status, rank, GetParam().field);
          expect_line(status, GetParam().values);
          EXPECT_EQ(status.culprit(), kFaulty);
        },
        kind);
  }
}

INSTANTIATE_TEST_SUITE_P(Fields, BufferOptionsDisagree, ::testing::ValuesIn(buffer_differences()),
                         [](const auto& instance) { return instance.param.field; });

// --- buffers that cannot be ----------------------------------------------------------------------

struct BadBuffer {
  std::string name;
  std::vector<std::string> words;
  std::function<void(BufferOptions&)> spoil;
};

void PrintTo(const BadBuffer& bad, std::ostream* out) { *out << bad.name; }

class BadBufferOptions : public ::testing::TestWithParam<BadBuffer> {};

TEST_P(BadBufferOptions, AreRefusedWithTheValueAndWhatIsAllowed) {
  const auto expect_own = [](const Status& status, int /*rank*/) {
    EXPECT_EQ(status.kind(), StatusKind::kInvalidArgument) << status.to_string();
    expect_line(status, GetParam().words);
  };
  run_buffer_refusal([](BufferOptions& options, int /*rank*/) { GetParam().spoil(options); },
                     expect_own, RankKind::kThreads);
  // One rank alone: it has its own line, the others are told that it differs.
  run_buffer_refusal(
      [](BufferOptions& options, int rank) {
        if (rank == kFaulty) {
          GetParam().spoil(options);
        }
      },
      [&](const Status& status, int rank) {
        if (rank == kFaulty) {
          expect_own(status, rank);
        } else {
          EXPECT_EQ(status.kind(), StatusKind::kMismatch) << status.to_string();
          EXPECT_EQ(status.scope(), Scope::kOperation);
          EXPECT_EQ(status.culprit(), kFaulty) << status.to_string();
        }
      },
      RankKind::kThreads);
}

INSTANTIATE_TEST_SUITE_P(
    Values, BadBufferOptions,
    ::testing::Values(
        BadBuffer{"HiddenZero", {"hidden is 0", "1 .. "}, [](auto& made) { made.hidden = 0; }},
        BadBuffer{"TopkAboveExperts", {"topk is 9", "1 .. 8"}, [](auto& made) { made.topk = 9; }},
        BadBuffer{"TopkZero", {"topk is 0", "1 .. 8"}, [](auto& made) { made.topk = 0; }},
        BadBuffer{"FewerExpertsThanRanks",
                  {"experts is 3", "4 .. "},
                  [](auto& made) { made.experts = 3; }},
        BadBuffer{"CapacityZero",
                  {"max_tokens_per_rank is 0", "1 .. "},
                  [](auto& made) { made.max_tokens_per_rank = 0; }},
        BadBuffer{"CapacityAbsurd",
                  {"max_tokens_per_rank is 4611686018427387904"},
                  [](auto& made) { made.max_tokens_per_rank = std::int64_t{1} << 62; }},
        BadBuffer{"NoOpenRounds",
                  {"open_rounds is 0", "1 .. 8"},
                  [](auto& made) { made.open_rounds = 0; }},
        BadBuffer{"NegativeRowCapacity",
                  {"row_capacity is -1", "0 .. "},
                  [](auto& made) { made.row_capacity = -1; }},
        BadBuffer{"OutputElementWithoutSums",
                  {"output_element is fp8_e4m3", "bf16, fp16, fp32"},
                  [](auto& made) { made.output_element = ElementType::kFp8E4m3; }},
        BadBuffer{"ScaleBytesAbsurd",
                  {"scale_bytes is 65537", "0 .. 65536"},
                  [](auto& made) { made.scale_bytes = 65537; }},
        BadBuffer{"NoThreads", {"threads is 0", "1 .. 256"}, [](auto& made) { made.threads = 0; }},
        BadBuffer{"NegativeRacingTokens",
                  {"racing_tokens is -1", "0 .. "},
                  [](auto& made) { made.racing_tokens = -1; }},
        BadBuffer{"UnknownProtocol",
                  {"pigeon", "tail_fence", "counted", "barrier"},
                  [](auto& made) { made.protocol = "pigeon"; }},
        BadBuffer{"UnknownSchedule",
                  {"whenever", "direct", "rotation"},
                  [](auto& made) { made.schedule = "whenever"; }}),
    [](const auto& instance) { return instance.param.name; });

TEST(BadBuffer, MemoryThatCannotBeHadIsRefusedOnEveryRankWithNeededAvailableAndTheLimit) {
  for (const RankKind kind : {RankKind::kThreads, RankKind::kProcesses}) {
    run_buffer_refusal(
        [](BufferOptions& options, int /*rank*/) {
          options.hidden = 1 << 20;
          options.row_capacity = std::int64_t{1} << 30;
        },
        [](const Status& status, int /*rank*/) {
          EXPECT_EQ(status.kind(), StatusKind::kNoMemory) << status.to_string();
          expect_line(status, {"needed", "available", "limited by", "nothing was touched"});
        },
        kind);
  }
}

// --- closed --------------------------------------------------------------------------------------

TEST(ClosedBuffer, ItsRankAndTheOthersGetAnErrorAtOnceAndANewBufferWorks) {
  for (const RankKind kind : {RankKind::kThreads, RankKind::kProcesses}) {
    const ExchangeCase which = small_case({Mode::kAuto, RowLayout::kPlain, "auto"});
    const auto on_rank = [&](Communicator& communicator) {
      auto buffer = ElasticBuffer::open(communicator, which.buffer);
      ASSERT_TRUE(buffer.ok()) << buffer.status().to_string();
      ASSERT_NO_FATAL_FAILURE(run_rounds(which, *buffer, communicator.rank()));
      const Call call = good_call(which, communicator.rank());
      if (communicator.rank() == kFaulty) {
        buffer->close();
        buffer->close();
      }
      for (int call_count = 0; call_count < 3; ++call_count) {
        const std::int64_t start = monotonic_ns();
        const Status status = buffer->dispatch(call.input(), call.options).status();
        EXPECT_LT(milliseconds_since(start), kQuickMs);
        EXPECT_EQ(status.kind(), StatusKind::kClosed) << status.to_string();
        expect_line(status, communicator.rank() == kFaulty
                                ? std::vector<std::string>{"closed"}
                                : std::vector<std::string>{"closed", "rank 2"});
      }
      EXPECT_TRUE(communicator.health().ok());
      run_case(which, communicator);
    };
    run_ranks(kRankCount, on_rank, patient(kind));
  }
}

}  // namespace
}  // namespace crossdock::testing
