// SPDX-License-Identifier: Apache-2.0
// The little dense arithmetic that the demonstration's layer needs. One output depends on its own
// inputs only, in a fixed order, so a row has the same bits whichever rows are computed beside it.
// Thread rule: pure functions.
#pragma once

#include <cstddef>
#include <span>

#include "crossdock/types.h"

namespace crossdock::demo {

/// out[j] = sum over i of in[i] * weights[i * out.size() + j], i ascending.
void multiply(std::span<const float> in, std::span<const float> weights, std::span<float> out);

/// Rows of kBf16 or kFp32 to fp32 and back (one rounding).
void widen(ElementType element, const std::byte* row, std::span<float> out);
void narrow(ElementType element, std::span<const float> in, std::byte* row);

}  // namespace crossdock::demo
