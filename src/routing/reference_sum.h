// SPDX-License-Identifier: Apache-2.0
// The sums of combine with every plan, bias and weight, slow and obvious; shares no code with what
// it is compared with. Numbers are fp32 that the element type can hold, so that one reference
// serves all types. Finite numbers only. Thread rule: pure functions.
#pragma once

#include <cstddef>
#include <vector>

#include "crossdock/types.h"
#include "routing/reference.h"

namespace crossdock::routing {

struct ReferenceSums {
  ReductionPlan plan = ReductionPlan::kSingle;
  ElementType element = ElementType::kFp32;      // what sums are rounded to
  std::vector<RowsOfRanks<float>> biases;        // 0 .. 2 times [rank][token][element]
  std::vector<std::vector<float>> gate_weights;  // [rank][t * K + k], or empty
};

/// outputs[d][row] is what the experts of rank d made of that row (gaps are not read).
RowsOfRanks<float> reference_sums(const Exchange& exchange, const RowsOfRanks<float>& outputs,
                                  std::size_t hidden, const ReferenceSums& sums);

/// `value` to the nearest number of the type, ties to even; beyond its largest: infinity.
float round_to(ElementType element, float value);

}  // namespace crossdock::routing
