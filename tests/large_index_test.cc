// SPDX-License-Identifier: Apache-2.0
// Rows whose number passes 16 bits and whose byte offset passes 32: both ends intact and distinct.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#include "base/float.h"
#include "base/sanitizers.h"
#include "tests/support/rank_runner.h"
#include "tests/support/shaped_case.h"

namespace crossdock::testing {
namespace {

RunOptions patient() {
  RunOptions options;
  options.communicator.timeout = std::chrono::seconds(100);
  return options;
}

TEST(LargeIndex, RowsBeyond65535AreIntact) {
  for (const RowLayout layout : {RowLayout::kPlain, RowLayout::kExpanded}) {
    ExchangeCase which = shaped_case(
        {.tokens = {65'537, 65'537}, .hidden = 16, .experts = 2, .topk = 1, .layout = layout});
    for (std::size_t rank = 0; rank < 2; ++rank) {
      auto& experts = which.routes[rank].experts;
      std::fill(experts.begin(), experts.end(), static_cast<std::int32_t>(1 - rank));
    }
    run_ranks(2, [&](Communicator& communicator) { run_case(which, communicator); }, patient());
  }
}

std::int64_t available_kib() {
  std::ifstream file("/proc/meminfo");
  std::string name;
  std::int64_t value = 0;
  std::string rest;
  while (file >> name >> value && std::getline(file, rest)) {
    if (name == "MemAvailable:") {
      return value;
    }
  }
  return 0;
}

// 4,097 tokens of 128 lanes make 524,416 rows of 8 KiB: row 524,288 starts at element 2^31. A value
// of bf16 has 8 bits, so token t is marked by two elements.
void mark_token(std::uint16_t* row, std::size_t token) {
  row[0] = to_bf16(static_cast<float>(token % 128)).bits;
  row[4095] = to_bf16(static_cast<float>(token / 128)).bits;
}

TEST(LargeIndex, RowsBeyondFourGibibytesAreIntact) {
  constexpr std::size_t kTokens = 4097;
  constexpr std::size_t kLanes = 128;
  constexpr std::size_t kHidden = 4096;
  if (kAddressSanitizer || kThreadSanitizer || available_kib() < std::int64_t{11} << 20) {
    GTEST_SKIP() << "needs 11 GiB of available memory and no sanitizer's shadow of it";
  }
  const auto on_rank = [&](Communicator& communicator) {
    auto buffer = ElasticBuffer::open(communicator, {.max_tokens_per_rank = kTokens,
                                                     .hidden = kHidden,
                                                     .topk = kLanes,
                                                     .experts = kLanes,
                                                     .row_capacity = kTokens * kLanes,
                                                     .latency_tokens = 0});
    ASSERT_TRUE(buffer.ok()) << buffer.status().to_string();
    std::vector<std::uint16_t> tokens(kTokens * kHidden);
    std::vector<std::int32_t> experts(kTokens * kLanes);
    for (std::size_t token = 0; token < kTokens; ++token) {
      mark_token(&tokens[token * kHidden], token);
      std::iota(&experts[token * kLanes], &experts[token * kLanes] + kLanes, 0);
    }
    auto got =
        buffer->dispatch({.tokens = tokens.data(), .token_count = kTokens, .topk_ids = experts},
                         {.layout = RowLayout::kExpanded});
    ASSERT_TRUE(got.ok()) << got.status().to_string();
    for (const std::size_t row : {std::size_t{0}, std::size_t{524'287}, std::size_t{524'288},
                                  std::size_t{524'289}, kTokens * kLanes - 1}) {
      // By expert, then by token.
      const std::size_t token = row % kTokens;
      ASSERT_EQ(std::memcmp(got->rows + row * kHidden * 2, &tokens[token * kHidden], kHidden * 2),
                0)
          << "row " << row;
      ASSERT_EQ(got->source_token[row], static_cast<std::int32_t>(token));
    }
    std::vector<std::uint16_t> combined(kTokens * kHidden);
    ASSERT_TRUE(buffer->combine({got->rows, got->row_count}, got->handle, combined.data()).ok());
    for (const std::size_t token : {std::size_t{0}, std::size_t{3969}, kTokens - 1}) {
      for (const std::size_t element : {std::size_t{0}, kHidden - 1}) {
        const std::size_t index = token * kHidden + element;
        EXPECT_EQ(to_fp32(Bf16{combined[index]}), 128 * to_fp32(Bf16{tokens[index]}));
      }
    }
  };
  run_ranks(1, on_rank, patient());
}

}  // namespace
}  // namespace crossdock::testing
