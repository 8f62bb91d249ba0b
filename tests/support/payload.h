// SPDX-License-Identifier: Apache-2.0
// What rows, scales, biases and weights of a case hold: computed from the seed, the same wherever
// it is asked for. Numbers are fp32 that their element type can hold.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "crossdock/types.h"
#include "tests/support/exchange_case.h"

namespace crossdock::testing {

[[nodiscard]] ElementType output_element(const ExchangeCase& which);
[[nodiscard]] std::size_t row_bytes(const ExchangeCase& which);
[[nodiscard]] std::size_t output_row_bytes(const ExchangeCase& which);
[[nodiscard]] std::size_t scale_bytes(const ExchangeCase& which);

/// The dispatched row of a token, and what travels beside it.
void fill_row(const ExchangeCase& which, int rank, int token, std::byte* row);
void fill_scale(const ExchangeCase& which, int rank, int token, std::byte* scale);

/// What the experts make of a row: every element times a number of their own, rounded to the output
/// element.
std::vector<float> expert_output(const ExchangeCase& which, const std::byte* row,
                                 const std::vector<int>& experts);

/// [H] of the output element.
std::vector<float> bias_row(const ExchangeCase& which, int index, int rank, int token);
/// [T, K] of that rank; empty when the case has none.
std::vector<float> gate_weights(const ExchangeCase& which, int rank);
/// What the rank of an expert holds for one lane of one of its rows.
float row_weight(int rank, std::size_t row, std::size_t lane);

/// Numbers that the type can hold, as its bytes.
void write_values(ElementType element, std::span<const float> values, std::byte* row);

}  // namespace crossdock::testing
