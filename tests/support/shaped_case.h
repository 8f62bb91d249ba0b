// SPDX-License-Identifier: Apache-2.0
// Cases of a chosen shape with random routing, and what a test does with them without the slow
// reference: one bare round whose sums are known from the tokens alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "crossdock/elastic_buffer.h"
#include "tests/support/exchange_case.h"

namespace crossdock::testing {

struct CaseShape {
  std::vector<std::int64_t> tokens = {16, 16, 16, 16};  // [rank]
  std::int64_t hidden = 64;
  int experts = 8;
  int topk = 2;
  ElementType element = ElementType::kBf16;
  RowLayout layout = RowLayout::kPlain;
  Mode mode = Mode::kAuto;
  std::string protocol = "auto";
  std::int64_t capacity = 0;  // max_tokens_per_rank; 0: the largest of `tokens`, at least 1
  std::uint64_t seed = 1;
};

/// Every token chooses topk different experts.
ExchangeCase shaped_case(const CaseShape& shape);

/// Every mode with every layout with every protocol.
struct Path {
  Mode mode;
  RowLayout layout;
  std::string protocol;
  [[nodiscard]] std::string describe() const;
};
std::vector<Path> all_paths();
/// Every mode with every layout, one protocol.
std::vector<Path> mode_paths();

/// fp32 tokens [T, H] of one rank: integers that no sum of a few rounds away. `tag` tells rounds
/// apart.
std::vector<float> tagged_tokens(std::int64_t token_count, std::int64_t hidden, int rank,
                                 std::uint64_t tag);

/// What identity experts and combine make of those tokens: each counted once per rank it goes to
/// (plain) or once per route (expanded).
std::vector<float> expected_sums(const BufferOptions& options, int rank_count, RowLayout layout,
                                 const std::vector<float>& tokens,
                                 const std::vector<std::int32_t>& experts);

/// One dispatch of `tokens`, experts that return their input, one combine.
struct BareRound {
  Status dispatch;
  Status combine;
  std::int64_t row_count = -1;
  std::vector<float> combined;  // [T, H]

  [[nodiscard]] Status first_error() const { return dispatch.ok() ? combine : dispatch; }
};
/// Called between the two, by tests that do something there.
using BetweenCalls = std::function<void(const Dispatched&, const DispatchInput&)>;
BareRound run_bare_round(ElasticBuffer& buffer, const std::vector<float>& tokens,
                         const std::vector<std::int32_t>& experts, const DispatchOptions& options,
                         const BetweenCalls& between = {});

}  // namespace crossdock::testing
