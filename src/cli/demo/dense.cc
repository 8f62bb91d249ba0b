// SPDX-License-Identifier: Apache-2.0
#include "cli/demo/dense.h"

#include <cstddef>
#include <cstring>
#include <span>

#include "base/check.h"
#include "base/float.h"
#include "crossdock/types.h"

// Everything between here and HWY_ONCE is compiled once for each instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cli/demo/dense.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace crossdock::demo::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Eight vectors of outputs at a time stay in registers while the inputs pass.
void multiply_columns(const float* in, std::size_t in_count, const float* weights, float* out,
                      std::size_t out_count) {
  const hn::ScalableTag<float> floats;
  const std::size_t lanes = hn::Lanes(floats);
  std::size_t column = 0;
  for (; column + 8 * lanes <= out_count; column += 8 * lanes) {
    auto sum0 = hn::Zero(floats);
    auto sum1 = sum0, sum2 = sum0, sum3 = sum0, sum4 = sum0, sum5 = sum0, sum6 = sum0, sum7 = sum0;
    for (std::size_t i = 0; i < in_count; ++i) {
      const auto value = hn::Set(floats, in[i]);
      const float* const row = weights + i * out_count + column;
      sum0 = hn::Add(sum0, hn::Mul(value, hn::LoadU(floats, row)));
      sum1 = hn::Add(sum1, hn::Mul(value, hn::LoadU(floats, row + lanes)));
      sum2 = hn::Add(sum2, hn::Mul(value, hn::LoadU(floats, row + 2 * lanes)));
      sum3 = hn::Add(sum3, hn::Mul(value, hn::LoadU(floats, row + 3 * lanes)));
      sum4 = hn::Add(sum4, hn::Mul(value, hn::LoadU(floats, row + 4 * lanes)));
      sum5 = hn::Add(sum5, hn::Mul(value, hn::LoadU(floats, row + 5 * lanes)));
      sum6 = hn::Add(sum6, hn::Mul(value, hn::LoadU(floats, row + 6 * lanes)));
      sum7 = hn::Add(sum7, hn::Mul(value, hn::LoadU(floats, row + 7 * lanes)));
    }
    hn::StoreU(sum0, floats, out + column);
    hn::StoreU(sum1, floats, out + column + lanes);
    hn::StoreU(sum2, floats, out + column + 2 * lanes);
    hn::StoreU(sum3, floats, out + column + 3 * lanes);
    hn::StoreU(sum4, floats, out + column + 4 * lanes);
    hn::StoreU(sum5, floats, out + column + 5 * lanes);
    hn::StoreU(sum6, floats, out + column + 6 * lanes);
    hn::StoreU(sum7, floats, out + column + 7 * lanes);
  }
  for (; column < out_count; ++column) {
    float sum = 0;
    for (std::size_t i = 0; i < in_count; ++i) {
      sum += in[i] * weights[i * out_count + column];
    }
    out[column] = sum;
  }
}

}  // namespace crossdock::demo::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace crossdock::demo {
HWY_EXPORT(multiply_columns);

void multiply(std::span<const float> in, std::span<const float> weights, std::span<float> out) {
  CROSSDOCK_CHECK(weights.size() == in.size() * out.size(), "{} weights, {} in, {} out",
                  weights.size(), in.size(), out.size());
  HWY_DYNAMIC_DISPATCH(multiply_columns)
  (in.data(), in.size(), weights.data(), out.data(), out.size());
}

void widen(ElementType element, const std::byte* row, std::span<float> out) {
  if (element == ElementType::kBf16) {
    convert(std::span(reinterpret_cast<const Bf16*>(row), out.size()), out);
  } else {
    std::memcpy(out.data(), row, out.size_bytes());
  }
}

void narrow(ElementType element, std::span<const float> in, std::byte* row) {
  if (element == ElementType::kBf16) {
    convert(in, std::span(reinterpret_cast<Bf16*>(row), in.size()));
  } else {
    std::memcpy(row, in.data(), in.size_bytes());
  }
}

}  // namespace crossdock::demo
#endif  // HWY_ONCE
