// SPDX-License-Identifier: Apache-2.0
#include "cli/demo/moe_layer.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "cli/demo/dense.h"
#include "cli/random.h"

namespace crossdock::demo {
namespace {

constexpr std::size_t kByteValues = 256;
// The parts of a seed, so that no two tables are the same numbers.
constexpr std::uint64_t kEmbeddingPart = 1;
constexpr std::uint64_t kScoresPart = 2;
constexpr std::uint64_t kExpertPart = 1000;
constexpr float kScoreScale = 2.5F;  // About as sharp as a trained gate.

/// Uniform with the spread that keeps sums of `fan_in` products near 1.
std::vector<float> random_weights(std::uint64_t seed, std::size_t count, std::size_t fan_in,
                                  float scale) {
  Random random(seed);
  const float spread =
      scale * std::sqrt(3.0F / static_cast<float>(std::max<std::size_t>(fan_in, 1)));
  std::vector<float> weights(count);
  for (float& weight : weights) {
    weight = random.symmetric() * spread;
  }
  return weights;
}

float silu(float value) { return value / (1.0F + std::exp(-value)); }

}  // namespace

MoeLayer::MoeLayer(const LayerShape& shape)
    : shape_(shape),
      embedding_(random_weights(mix(shape.seed, kEmbeddingPart), kByteValues * shape.hidden_size(),
                                1, 1.0F)),
      scores_(random_weights(mix(shape.seed, kScoresPart),
                             shape.hidden_size() * static_cast<std::size_t>(shape.experts),
                             shape.hidden_size(), kScoreScale)),
      experts_(static_cast<std::size_t>(shape.experts)) {}

void MoeLayer::embed(std::span<const unsigned char> text, std::size_t position,
                     std::span<float> out) const {
  const std::size_t hidden = shape_.hidden_size();
  const auto row_before = [&](std::size_t distance) {
    const unsigned char byte = position >= distance ? text[position - distance] : 0;
    return embedding_.data() + byte * hidden;
  };
  const float* const here = row_before(0);
  const float* const before = row_before(1);
  const float* const earlier = row_before(2);
  // Shifted, so that "ab" and "ba" differ.
  const std::size_t shift = hidden / 3;
  float squares = 0;
  for (std::size_t i = 0; i < hidden; ++i) {
    const float angle =
        static_cast<float>(position % 4096) * 0.01F * static_cast<float>(i % 64 + 1);
    out[i] = here[i] + 0.5F * before[(i + shift) % hidden] +
             0.25F * earlier[(i + 2 * shift) % hidden] + 0.1F * std::sin(angle);
    squares += out[i] * out[i];
  }
  const float scale = 1.0F / std::sqrt(squares / static_cast<float>(hidden) + 1e-6F);
  for (float& value : out) {
    value *= scale;
  }
}

Gate MoeLayer::gate(std::span<const float> row) const {
  std::vector<float> scores(static_cast<std::size_t>(shape_.experts));
  multiply(row, scores_, scores);
  const float largest = *std::max_element(scores.begin(), scores.end());
  for (float& score : scores) {
    score = std::exp(score - largest);
  }
  std::vector<std::int32_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  const auto probability = [&](std::int32_t expert) {
    return scores[static_cast<std::size_t>(expert)];
  };
  std::partial_sort(
      order.begin(), order.begin() + shape_.topk, order.end(), [&](std::int32_t a, std::int32_t b) {
        return probability(a) != probability(b) ? probability(a) > probability(b) : a < b;
      });
  order.resize(static_cast<std::size_t>(shape_.topk));
  Gate gate{.experts = order, .weights = {}};
  float sum = 0;
  for (const std::int32_t expert : order) {
    sum += probability(expert);
  }
  for (const std::int32_t expert : order) {
    gate.weights.push_back(probability(expert) / sum);
  }
  return gate;
}

const MoeLayer::ExpertWeights& MoeLayer::weights_of(int expert) {
  ExpertWeights& weights = experts_[static_cast<std::size_t>(expert)];
  if (weights.in.empty()) {
    const std::size_t hidden = shape_.hidden_size();
    const auto ffn = static_cast<std::size_t>(shape_.ffn);
    const std::uint64_t seed = mix(shape_.seed, kExpertPart + static_cast<std::uint64_t>(expert));
    weights.in = random_weights(seed, hidden * 2 * ffn, hidden, 1.0F);
    weights.out = random_weights(mix(seed, 1), ffn * hidden, ffn, 2.0F);
  }
  return weights;
}

void MoeLayer::expert(int expert, std::span<const float> row, std::span<float> out) {
  const ExpertWeights& weights = weights_of(expert);
  const auto ffn = static_cast<std::size_t>(shape_.ffn);
  std::vector<float> wide(2 * ffn);
  multiply(row, weights.in, wide);
  for (std::size_t i = 0; i < ffn; ++i) {
    wide[i] = silu(wide[i]) * wide[ffn + i];
  }
  multiply(std::span(wide).first(ffn), weights.out, out);
}

}  // namespace crossdock::demo
