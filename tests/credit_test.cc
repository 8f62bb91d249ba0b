// SPDX-License-Identifier: Apache-2.0
// The readers-done credit: a handle is combined twice with different rows while one rank is still
// busy reading the first ones. Each combine must give its own rows.
//
// The reader is slow by its work alone: it has all the tokens. It reads the owner's rows from the
// upper half down to the lower half, while the owner writes the next ones from the lower half up,
// so an owner that does not wait is caught by the rows of the lower half.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/rank_runner.h"
#include "tests/support/shaped_case.h"

namespace crossdock::testing {
namespace {

constexpr int kRankCount = 3;
constexpr int kOwner = 0;   // of the experts 0 and 1
constexpr int kReader = 1;  // of all tokens
constexpr std::int64_t kTokens = 2048;
constexpr std::int64_t kHidden = 512;
constexpr int kRepeats = 20;

enum class Rows { kOwnMemory, kInPlace };

// Row n of a combine holds one value everywhere, so that a mixed row shows.
float value_of(int combine, std::int64_t row) {
  return static_cast<float>(combine * 10'000 + row % 9973);
}

void fill(float* rows, std::int64_t row_count, int combine) {
  for (std::int64_t row = 0; row < row_count; ++row) {
    std::fill_n(rows + row * kHidden, kHidden, value_of(combine, row));
  }
}

// Tokens of the first half go to expert 1, whose rows come after those of expert 0.
std::vector<std::int32_t> reader_experts() {
  std::vector<std::int32_t> experts(kTokens, 0);
  std::fill_n(experts.begin(), kTokens / 2, 1);
  return experts;
}

std::int64_t row_of(std::int64_t token) {
  return token < kTokens / 2 ? kTokens / 2 + token : token - kTokens / 2;
}

void expect_rows_of(int combine, const std::vector<float>& tokens) {
  for (std::size_t index = 0; index < tokens.size(); ++index) {
    const auto token = static_cast<std::int64_t>(index) / kHidden;
    ASSERT_EQ(tokens[index], value_of(combine, row_of(token)))
        << "combine " << combine << ", token " << token;
  }
}

void combine_twice(ElasticBuffer& buffer, Dispatched& dispatched, Rows where, int first) {
  std::vector<float> own(static_cast<std::size_t>(dispatched.row_count * kHidden));
  auto* const rows =
      where == Rows::kInPlace ? reinterpret_cast<float*>(dispatched.outputs) : own.data();
  const auto token_count = static_cast<std::size_t>(dispatched.handle.token_count());
  std::vector<float> tokens(token_count * kHidden);
  std::vector<float> nothing(1);
  for (int combine = first; combine < first + 2; ++combine) {
    if (where == Rows::kInPlace) {
      ASSERT_TRUE(buffer.wait_readers(dispatched.handle).ok());
    }
    fill(rows, dispatched.row_count, combine);
    const Status status = buffer.combine({rows, dispatched.row_count}, dispatched.handle,
                                         tokens.empty() ? nothing.data() : tokens.data());
    ASSERT_TRUE(status.ok()) << status.to_string();
    ASSERT_NO_FATAL_FAILURE(expect_rows_of(combine, tokens));
  }
}

void run_credits(Rows where, Mode mode) {
  RunOptions run;
  run.communicator.timeout = std::chrono::seconds(60);
  const auto on_rank = [&](Communicator& communicator) {
    const BufferOptions options{.max_tokens_per_rank = kTokens,
                                .hidden = kHidden,
                                .topk = 1,
                                .experts = 2 * kRankCount,
                                .element = ElementType::kFp32,
                                .latency_tokens = mode == Mode::kLatency ? kTokens : 0};
    auto buffer = ElasticBuffer::open(communicator, options);
    ASSERT_TRUE(buffer.ok()) << buffer.status().to_string();
    const bool is_reader = communicator.rank() == kReader;
    const std::vector<float> tokens(is_reader ? kTokens * kHidden : 1);
    const auto experts = is_reader ? reader_experts() : std::vector<std::int32_t>{};
    for (int repeat = 0; repeat < kRepeats; ++repeat) {
      auto dispatched = buffer->dispatch(
          {.tokens = tokens.data(), .token_count = is_reader ? kTokens : 0, .topk_ids = experts},
          {.layout = RowLayout::kExpanded, .mode = mode});
      ASSERT_TRUE(dispatched.ok()) << dispatched.status().to_string();
      ASSERT_EQ(dispatched->row_count, communicator.rank() == kOwner ? kTokens : 0);
      ASSERT_NO_FATAL_FAILURE(combine_twice(*buffer, *dispatched, where, 2 * repeat));
    }
  };
  run_ranks(kRankCount, on_rank, run);
}

TEST(ReadersDoneCredit, GivesEachCombineItsOwnRowsWhenTheyAreCopiedIn) {
  run_credits(Rows::kOwnMemory, Mode::kThroughput);
  run_credits(Rows::kOwnMemory, Mode::kLatency);
}

TEST(ReadersDoneCredit, GivesEachCombineItsOwnRowsWhenTheyAreWrittenInPlace) {
  run_credits(Rows::kInPlace, Mode::kThroughput);
}

}  // namespace
}  // namespace crossdock::testing
