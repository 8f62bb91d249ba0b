// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/verify_rows.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/float.h"
#include "cli/bench/contender.h"
#include "cli/bench/placement.h"
#include "cli/bench/workload.h"
#include "crossdock/types.h"

namespace crossdock::bench {
namespace {

/// sums[i] += row[i], or = for the first row.
void accumulate(ElementType element, std::span<const std::byte> row, std::span<float> sums,
                bool first) {
  if (element == ElementType::kFp32) {
    for (std::size_t index = 0; index < sums.size(); ++index) {
      float value = 0;
      std::memcpy(&value, row.data() + index * 4, 4);
      sums[index] = first ? value : sums[index] + value;
    }
    return;
  }
  for (std::size_t index = 0; index < sums.size(); ++index) {
    Bf16 narrow;
    std::memcpy(&narrow, row.data() + index * 2, 2);
    const float value = to_fp32(narrow);
    sums[index] = first ? value : sums[index] + value;
  }
}

bool sums_match(ElementType element, std::span<const float> sums, const std::byte* token) {
  if (element == ElementType::kFp32) {
    return std::memcmp(token, sums.data(), sums.size_bytes()) == 0;
  }
  std::uint32_t difference = 0;
  for (std::size_t index = 0; index < sums.size(); ++index) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, token + index * 2, 2);
    difference |= static_cast<std::uint32_t>(bits ^ to_bf16(sums[index]).bits);
  }
  return difference == 0;
}

/// Rows hold numbers below 2 (workload.h), so K terms in another order move an fp32 sum by less
/// than K * K * 2^-22, and a bf16 result by one step more.
bool sums_are_near(const Shape& shape, std::span<const float> sums, const std::byte* token) {
  const float order_error = static_cast<float>(shape.topk * shape.topk) * 0x1p-22F;
  for (std::size_t index = 0; index < sums.size(); ++index) {
    float value = 0;
    float step = 0;
    if (shape.element == ElementType::kFp32) {
      std::memcpy(&value, token + index * 4, 4);
    } else {
      Bf16 narrow;
      std::memcpy(&narrow, token + index * 2, 2);
      value = to_fp32(narrow);
      step = std::abs(sums[index]) * 0x1p-7F;
    }
    if (!(std::abs(value - sums[index]) <= order_error + step)) {
      return false;
    }
  }
  return true;
}

}  // namespace

Verdict verify_received(const RankRound& part, const std::byte* rows) {
  Verdict verdict;
  for (const RowOrigin& origin : part.placement.origins(part.rank)) {
    const RowName name{.round = part.round, .source = origin.source, .token = origin.token};
    verdict.wrong +=
        row_matches(part.shape, name, rows + verdict.checked * part.shape.row_bytes()) ? 0 : 1;
    ++verdict.checked;
  }
  return verdict;
}

void fill_outputs(const RankRound& part, std::byte* outputs) {
  for (const RowOrigin& origin : part.placement.origins(part.rank)) {
    fill_row(
        part.shape,
        {.round = part.round, .source = origin.source, .token = origin.token, .lane = origin.lane},
        outputs);
    outputs += part.shape.row_bytes();
  }
}

Verdict verify_combined(const RankRound& part, RowContent content, const std::byte* tokens,
                        Sums comparison) {
  const Shape& shape = part.shape;
  Verdict verdict;
  std::vector<std::byte> row(shape.row_bytes());
  std::vector<float> sums(static_cast<std::size_t>(shape.hidden));
  for (std::int64_t token = 0; token < shape.tokens; ++token) {
    bool first = true;
    for (const RowTarget& target : part.placement.targets(part.rank, token)) {
      const int lane = content == RowContent::kToken ? -1 : target.lane;
      fill_row(shape, {.round = part.round, .source = part.rank, .token = token, .lane = lane},
               row.data());
      accumulate(shape.element, row, sums, first);
      first = false;
    }
    if (first) {
      std::fill(sums.begin(), sums.end(), 0.0F);
    }
    const std::byte* const token_row = tokens + verdict.checked * shape.row_bytes();
    const bool is_right = comparison == Sums::kExact ? sums_match(shape.element, sums, token_row)
                                                     : sums_are_near(shape, sums, token_row);
    verdict.wrong += is_right ? 0 : 1;
    ++verdict.checked;
  }
  return verdict;
}

}  // namespace crossdock::bench
