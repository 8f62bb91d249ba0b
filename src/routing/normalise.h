// SPDX-License-Identifier: Apache-2.0
// The gate's expert ids, checked before anything uses them as an index.
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <span>

#include "crossdock/status.h"

namespace crossdock::routing {

/// Largest number of lanes (top-k) of a token.
inline constexpr int kLanesMax = 128;

/// ids and out are [T, K], row-major. -1 means that the lane is unused; every other id is one of
/// 0 .. expert_count - 1 and not twice in a row. `out` is the same ids in 32 bits, written only on
/// success; it may be `ids` itself.
/// kInvalidArgument (scope operation) names row, column and value of the first id out of range, or,
/// if there is none, row, both columns and value of the first repetition.
/// Programmer errors: sizes other than T * K, K outside 1 .. kLanesMax. Allocates only for errors.
Status normalise_topk(std::span<const std::int32_t> ids, std::int64_t token_count, int topk,
                      int expert_count, std::span<std::int32_t> out);
Status normalise_topk(std::span<const std::int64_t> ids, std::int64_t token_count, int topk,
                      int expert_count, std::span<std::int32_t> out);

}  // namespace crossdock::routing
