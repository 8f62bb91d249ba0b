// SPDX-License-Identifier: Apache-2.0
#include "cli/demo/reference.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cli/demo/dense.h"
#include "cli/demo/workload.h"
#include "crossdock/types.h"

namespace crossdock::demo {
namespace {

/// One of the addends of a token: fp32 sums that are rounded to the element type before they are
/// added up.
struct Addend {
  int key = -1;  // expanded: the lane; plain: the rank
  int last_lane = -1;
  std::vector<float> sum;
};

void add_to(std::vector<float>& sum, std::span<const float> more) {
  for (std::size_t i = 0; i < sum.size(); ++i) {
    sum[i] += more[i];
  }
}

/// Weighted expert outputs of one token, summed by key, in lane order.
std::vector<Addend> addends_of(Workload& workload, const RankInput& input, std::size_t token,
                               int rank_count, RowLayout layout) {
  const auto hidden = static_cast<std::size_t>(workload.hidden());
  const auto topk = static_cast<std::size_t>(workload.topk());
  const std::size_t row_bytes = hidden * element_bytes(workload.element());
  std::vector<float> row(hidden);
  std::vector<float> out(hidden);
  std::vector<Addend> addends;
  widen(workload.element(), input.tokens.data() + token * row_bytes, row);
  for (std::size_t lane = 0; lane < topk; ++lane) {
    const std::int32_t expert = input.topk_ids[token * topk + lane];
    if (expert < 0) {
      continue;
    }
    workload.expert(expert, row, out);
    for (float& value : out) {
      value *= input.topk_weights[token * topk + lane];
    }
    const int key = layout == RowLayout::kExpanded
                        ? static_cast<int>(lane)
                        : owner_of(expert, workload.experts(), rank_count);
    Addend* same = nullptr;
    for (Addend& addend : addends) {
      same = addend.key == key ? &addend : same;
    }
    if (same == nullptr) {
      addends.push_back({.key = key, .last_lane = static_cast<int>(lane), .sum = out});
    } else {
      add_to(same->sum, out);
      same->last_lane = static_cast<int>(lane);
    }
  }
  return addends;
}

/// The addends in ascending order of their last lane, each rounded, summed in fp32.
std::vector<float> sum_of(const std::vector<Addend>& addends, const Workload& workload) {
  const auto hidden = static_cast<std::size_t>(workload.hidden());
  std::vector<float> sum(hidden, 0.0F);
  std::vector<float> rounded(hidden);
  std::vector<std::byte> narrow_row(hidden * element_bytes(workload.element()));
  bool first = true;
  for (int lane = 0; lane < workload.topk(); ++lane) {
    for (const Addend& addend : addends) {
      if (addend.last_lane != lane) {
        continue;
      }
      narrow(workload.element(), addend.sum, narrow_row.data());
      widen(workload.element(), narrow_row.data(), rounded);
      if (first) {
        sum = rounded;  // Not 0 + x: that would lose the sign of a zero.
      } else {
        add_to(sum, rounded);
      }
      first = false;
    }
  }
  return sum;
}

}  // namespace

int owner_of(int expert, int expert_count, int rank_count) {
  int first = 0;
  for (int rank = 0; rank < rank_count; ++rank) {
    first += expert_count / rank_count + (rank < expert_count % rank_count ? 1 : 0);
    if (expert < first) {
      return rank;
    }
  }
  return -1;
}

std::vector<std::byte> reference_tokens(Workload& workload, std::uint64_t round, int rank,
                                        int rank_count, RowLayout layout) {
  const RankInput input = workload.input(round, rank);
  const std::size_t row_bytes =
      static_cast<std::size_t>(workload.hidden()) * element_bytes(workload.element());
  const auto token_count = static_cast<std::size_t>(input.token_count);
  std::vector<std::byte> tokens(token_count * row_bytes);
  for (std::size_t token = 0; token < token_count; ++token) {
    const std::vector<Addend> addends = addends_of(workload, input, token, rank_count, layout);
    narrow(workload.element(), sum_of(addends, workload), tokens.data() + token * row_bytes);
  }
  return tokens;
}

}  // namespace crossdock::demo
