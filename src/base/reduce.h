// SPDX-License-Identifier: Apache-2.0
// The sum of rows that combine makes: fp32 in the given order, one rounding at the end.
// Invariants: the sum starts from the first row (not from zero), so that one row is an exact copy,
// with -0.0 and NaN payloads; nothing is reassociated or fused, so every machine gives the same
// bits. The one exception is which payload a NaN of several rows carries. Thread rule: any thread;
// rows may be read by others at the same time.
#pragma once

#include <cstddef>
#include <span>

#include "base/copy.h"
#include "crossdock/types.h"

namespace crossdock {

/// out[i] = rows[0][i] + rows[1][i] + ..., of a type that is_summable(): bf16 and fp16 are rounded
/// to nearest, ties to even; another type is a programmer error. No rows give zeros. Pointers of
/// any alignment; `out` overlaps no row, but may be the same as one. Streaming writes go around the
/// cache and need store_fence() before they are announced.
void reduce_rows(ElementType element, void* out, std::span<const void* const> rows,
                 std::size_t element_count, StoreHint hint);

/// Rows, each times its weight in fp32 with a rounding of its own; no weights: rows as they are.
struct WeightedRows {
  std::span<const void* const> rows;
  std::span<const float> weights;  // [rows] or empty
};
/// out[i] = weights[0] * rows[0][i] + weights[1] * rows[1][i] + ..., otherwise as reduce_rows().
void reduce_weighted_rows(ElementType element, void* out, const WeightedRows& terms,
                          std::size_t element_count, StoreHint hint);

/// The same, one element after the other: what both are tested against.
void reduce_rows_scalar(ElementType element, void* out, std::span<const void* const> rows,
                        std::size_t element_count);
void reduce_weighted_rows_scalar(ElementType element, void* out, const WeightedRows& terms,
                                 std::size_t element_count);

/// Asks for the first lines of rows that will be reduced next.
void prefetch_rows(std::span<const void* const> rows, std::size_t row_bytes);

}  // namespace crossdock
