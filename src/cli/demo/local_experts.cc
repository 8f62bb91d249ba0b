// SPDX-License-Identifier: Apache-2.0
#include "cli/demo/local_experts.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cli/demo/dense.h"
#include "cli/demo/workload.h"
#include "crossdock/elastic_buffer.h"
#include "crossdock/types.h"

namespace crossdock::demo {
namespace {

/// Every row has one expert and its own weight.
void apply_expanded(Workload& workload, Dispatched& dispatched, int first_expert) {
  const auto hidden = static_cast<std::size_t>(workload.hidden());
  const std::size_t row_bytes = hidden * element_bytes(workload.element());
  std::vector<float> row(hidden);
  for (std::size_t local = 0; local < dispatched.rows_per_expert.size(); ++local) {
    const auto begin = static_cast<std::size_t>(dispatched.expert_begin[local]);
    const auto count = static_cast<std::size_t>(dispatched.rows_per_expert[local]);
    for (std::size_t index = begin; index < begin + count; ++index) {
      widen(workload.element(), dispatched.rows + index * row_bytes, row);
      workload.expert(first_expert + static_cast<int>(local), row, row);
      for (float& value : row) {
        value *= dispatched.topk_weights[index];
      }
      narrow(workload.element(), row, dispatched.outputs + index * row_bytes);
    }
  }
}

/// Every row has all lanes of its token; those of experts here are summed, in lane order.
void apply_plain(Workload& workload, Dispatched& dispatched, int first_expert) {
  const auto hidden = static_cast<std::size_t>(workload.hidden());
  const auto topk = static_cast<std::size_t>(workload.topk());
  const std::size_t row_bytes = hidden * element_bytes(workload.element());
  std::vector<float> row(hidden);
  std::vector<float> out(hidden);
  for (std::size_t index = 0; index < static_cast<std::size_t>(dispatched.row_count); ++index) {
    widen(workload.element(), dispatched.rows + index * row_bytes, row);
    std::vector<float> sum;
    for (std::size_t lane = 0; lane < topk; ++lane) {
      const std::int32_t local = dispatched.topk_ids[index * topk + lane];
      if (local < 0) {
        continue;
      }
      workload.expert(first_expert + local, row, out);
      // A loop of its own: a compiler that fuses product and sum would change the bits.
      for (float& value : out) {
        value *= dispatched.topk_weights[index * topk + lane];
      }
      if (sum.empty()) {
        sum = out;
        continue;
      }
      for (std::size_t i = 0; i < hidden; ++i) {
        sum[i] += out[i];
      }
    }
    sum.resize(hidden);
    narrow(workload.element(), sum, dispatched.outputs + index * row_bytes);
  }
}

}  // namespace

void apply_local_experts(Workload& workload, Dispatched& dispatched, int first_expert) {
  if (dispatched.handle.layout() == RowLayout::kExpanded) {
    apply_expanded(workload, dispatched, first_expert);
  } else {
    apply_plain(workload, dispatched, first_expert);
  }
}

}  // namespace crossdock::demo
