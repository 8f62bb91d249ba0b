// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/workload.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "cli/random.h"
#include "crossdock/types.h"

namespace crossdock::bench {
namespace {

/// The words of a row: 64 bits at a time, each from its index alone.
class RowWords {
 public:
  RowWords(const Shape& shape, const RowName& name) {
    const auto lane = static_cast<std::uint64_t>(name.lane) + 1;
    const auto source = static_cast<std::uint64_t>(name.source);
    const auto token = static_cast<std::uint64_t>(name.token);
    base_ = mix(mix(mix(shape.seed, name.round), (source << 32) | lane), token);
    if (shape.element == ElementType::kBf16) {
      keep_ = 0x83ff83ff83ff83ffULL;  // Sign, three low exponent bits, mantissa.
      set_ = 0x3c003c003c003c00ULL;
    } else if (shape.element == ElementType::kFp32) {
      keep_ = 0x83ffffff83ffffffULL;
      set_ = 0x3c0000003c000000ULL;
    }
  }
  [[nodiscard]] std::uint64_t at(std::uint64_t index) const {
    const std::uint64_t word = base_ + index * 0x9e3779b97f4a7c15ULL;
    return ((word ^ (word >> 29)) & keep_) | set_;
  }

 private:
  std::uint64_t base_ = 0;
  std::uint64_t keep_ = ~std::uint64_t{0};
  std::uint64_t set_ = 0;
};

}  // namespace

int Shape::first_expert(int rank) const {
  return rank * (experts / ranks) + std::min(rank, experts % ranks);
}

int Shape::local_experts(int rank) const {
  return experts / ranks + (rank < experts % ranks ? 1 : 0);
}

int Shape::owner(int expert) const {
  const int small = experts / ranks;
  const int in_large = (experts % ranks) * (small + 1);
  if (expert < in_large) {
    return expert / (small + 1);
  }
  return experts % ranks + (expert - in_large) / small;
}

void fill_row(const Shape& shape, const RowName& name, std::byte* row) {
  const RowWords words(shape, name);
  const std::size_t row_bytes = shape.row_bytes();
  std::size_t index = 0;
  for (; (index + 1) * 8 <= row_bytes; ++index) {
    const std::uint64_t word = words.at(index);
    std::memcpy(row + index * 8, &word, 8);
  }
  const std::uint64_t last = words.at(index);
  std::memcpy(row + index * 8, &last, row_bytes - index * 8);
}

bool row_matches(const Shape& shape, const RowName& name, const std::byte* row) {
  const RowWords words(shape, name);
  const std::size_t row_bytes = shape.row_bytes();
  std::uint64_t difference = 0;
  std::size_t index = 0;
  for (; (index + 1) * 8 <= row_bytes; ++index) {
    std::uint64_t word = 0;
    std::memcpy(&word, row + index * 8, 8);
    difference |= word ^ words.at(index);
  }
  const std::uint64_t last = words.at(index);
  return difference == 0 && std::memcmp(row + index * 8, &last, row_bytes - index * 8) == 0;
}

void fill_tokens(const Shape& shape, std::uint64_t round, int rank, std::span<std::byte> tokens) {
  for (std::int64_t token = 0; token < shape.tokens; ++token) {
    fill_row(shape, {.round = round, .source = rank, .token = token},
             tokens.data() + static_cast<std::size_t>(token) * shape.row_bytes());
  }
}

}  // namespace crossdock::bench
