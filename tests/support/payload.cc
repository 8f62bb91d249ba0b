// SPDX-License-Identifier: Apache-2.0
#include "tests/support/payload.h"

#include <cstdint>
#include <cstring>

#include "base/float.h"
#include "routing/reference_sum.h"

namespace crossdock::testing {
namespace {

// splitmix64: the value of element `index` of a row, the same wherever it is computed.
std::uint64_t mix(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15ULL;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
  return value ^ (value >> 31);
}

std::uint64_t element_seed(std::uint64_t seed, int rank, int token, std::size_t index) {
  return mix(mix(mix(seed + static_cast<std::uint64_t>(rank)) + static_cast<std::uint64_t>(token)) +
             index);
}

// Small numbers with few mantissa bits would sum without rounding; these do not.
float token_value(std::uint64_t bits) {
  return static_cast<float>(static_cast<std::int64_t>(bits % 20001) - 10000) / 1024.0F;
}

template <typename Value>
void store(std::byte* row, std::size_t index, Value value) {
  std::memcpy(row + index * sizeof value, &value, sizeof value);
}

template <typename Value>
Value load(const std::byte* row, std::size_t index) {
  Value value;
  std::memcpy(&value, row + index * sizeof value, sizeof value);
  return value;
}

void write_value(ElementType element, float value, std::size_t index, std::byte* row) {
  switch (element) {
    case ElementType::kBf16:
      return store(row, index, to_bf16(value));
    case ElementType::kFp16:
      return store(row, index, to_fp16(value));
    case ElementType::kFp32:
      return store(row, index, value);
    case ElementType::kFp8E4m3:
      return store(row, index, to_fp8_e4m3(value));
    case ElementType::kInt8:
      return store(row, index, static_cast<std::int8_t>(value * 8.0F));
    case ElementType::kBytes:
      return store(row, index, static_cast<std::uint8_t>(128.0F + value * 8.0F));
  }
}

float read_value(ElementType element, const std::byte* row, std::size_t index) {
  switch (element) {
    case ElementType::kBf16:
      return to_fp32(load<Bf16>(row, index));
    case ElementType::kFp16:
      return to_fp32(load<Fp16>(row, index));
    case ElementType::kFp32:
      return load<float>(row, index);
    case ElementType::kFp8E4m3:
      return to_fp32(load<Fp8E4m3>(row, index));
    case ElementType::kInt8:
      return static_cast<float>(load<std::int8_t>(row, index));
    case ElementType::kBytes:
      return static_cast<float>(load<std::uint8_t>(row, index));
  }
  return 0;
}

std::size_t hidden_of(const ExchangeCase& which) {
  return static_cast<std::size_t>(which.buffer.hidden);
}

}  // namespace

ElementType output_element(const ExchangeCase& which) {
  return which.buffer.output_element.value_or(which.buffer.element);
}

std::size_t row_bytes(const ExchangeCase& which) {
  return hidden_of(which) * element_bytes(which.buffer.element);
}

std::size_t output_row_bytes(const ExchangeCase& which) {
  return hidden_of(which) * element_bytes(output_element(which));
}

std::size_t scale_bytes(const ExchangeCase& which) {
  return static_cast<std::size_t>(which.buffer.scale_bytes);
}

void fill_row(const ExchangeCase& which, int rank, int token, std::byte* row) {
  for (std::size_t index = 0; index < hidden_of(which); ++index) {
    write_value(which.buffer.element, token_value(element_seed(which.seed, rank, token, index)),
                index, row);
  }
}

void fill_scale(const ExchangeCase& which, int rank, int token, std::byte* scale) {
  for (std::size_t index = 0; index < scale_bytes(which); ++index) {
    scale[index] = static_cast<std::byte>(element_seed(~which.seed, rank, token, index));
  }
}

std::vector<float> expert_output(const ExchangeCase& which, const std::byte* row,
                                 const std::vector<int>& experts) {
  float scale = 0.5F;
  for (const int expert : experts) {
    scale += 0.37F * static_cast<float>(expert % 7 + 1);
  }
  std::vector<float> output;
  for (std::size_t index = 0; index < hidden_of(which); ++index) {
    output.push_back(routing::round_to(output_element(which),
                                       read_value(which.buffer.element, row, index) * scale));
  }
  return output;
}

std::vector<float> bias_row(const ExchangeCase& which, int index, int rank, int token) {
  std::vector<float> bias;
  const std::uint64_t seed = mix(which.seed) + static_cast<std::uint64_t>(index);
  for (std::size_t at = 0; at < hidden_of(which); ++at) {
    bias.push_back(
        routing::round_to(output_element(which), token_value(element_seed(seed, rank, token, at))));
  }
  return bias;
}

std::vector<float> gate_weights(const ExchangeCase& which, int rank) {
  std::vector<float> weights;
  const auto& routes = which.routes[static_cast<std::size_t>(rank)].experts;
  for (std::size_t route = 0; which.with_gate_weights && route < routes.size(); ++route) {
    weights.push_back(token_value(element_seed(mix(mix(which.seed)), rank, 0, route)) / 16.0F);
  }
  return weights;
}

float row_weight(int rank, std::size_t row, std::size_t lane) {
  return static_cast<float>(rank * 100003 + static_cast<int>(row) * 131 + static_cast<int>(lane)) /
         3.0F;
}

void write_values(ElementType element, std::span<const float> values, std::byte* row) {
  for (std::size_t index = 0; index < values.size(); ++index) {
    write_value(element, values[index], index, row);
  }
}

}  // namespace crossdock::testing
