// SPDX-License-Identifier: Apache-2.0
// A small mixture-of-experts layer whose weights all follow from a seed: token embedding, gate, and
// SwiGLU experts. What is not learned is real: which experts a text's tokens go to depends on the
// text. Thread rule: const functions from any thread, except expert(), which makes an expert's
// weights at its first use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "crossdock/types.h"

namespace crossdock::demo {

struct LayerShape {
  std::int64_t hidden = 512;
  std::int64_t ffn = 128;
  int experts = 64;
  int topk = 8;
  std::uint64_t seed = 1;

  [[nodiscard]] std::size_t hidden_size() const { return static_cast<std::size_t>(hidden); }
};

/// A token's experts, the most probable first, and their probabilities scaled to sum to 1.
struct Gate {
  std::vector<std::int32_t> experts;
  std::vector<float> weights;
};

class MoeLayer {
 public:
  explicit MoeLayer(const LayerShape& shape);

  [[nodiscard]] const LayerShape& shape() const { return shape_; }
  /// The token at text[position]: its byte's embedding, mixed with those of the two bytes before
  /// and with the position, and scaled to root mean square 1. [H] fp32.
  void embed(std::span<const unsigned char> text, std::size_t position, std::span<float> out) const;
  /// Softmax over all experts' scores of a row as the experts will see it; ties to the lower
  /// expert.
  [[nodiscard]] Gate gate(std::span<const float> row) const;
  /// out = down(silu(gate(row)) * up(row)) of one expert, fp32. out may be row.
  void expert(int expert, std::span<const float> row, std::span<float> out);

 private:
  struct ExpertWeights {
    std::vector<float> in;   // [H][2F]: the gate's columns, then up's
    std::vector<float> out;  // [F][H]
  };
  const ExpertWeights& weights_of(int expert);

  LayerShape shape_;
  std::vector<float> embedding_;  // [256][H]
  std::vector<float> scores_;     // [H][E]
  std::vector<ExpertWeights> experts_;
};

}  // namespace crossdock::demo
