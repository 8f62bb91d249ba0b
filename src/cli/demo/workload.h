// SPDX-License-Identifier: Apache-2.0
// What a demonstration sends through the layer: tokens of a text with the gate's choice, or
// recorded arrays. Everything follows from files and seed, so any process can make any rank's part
// again. Thread rule: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/npy.h"
#include "cli/demo/moe_layer.h"
#include "crossdock/status.h"
#include "crossdock/types.h"

namespace crossdock::demo {

/// One rank's part of one round.
struct RankInput {
  std::int64_t token_count = 0;
  std::vector<std::byte> tokens;       // [T, H]
  std::vector<std::int32_t> topk_ids;  // [T, K]
  std::vector<float> topk_weights;     // [T, K]
};

class Workload {
 public:
  virtual ~Workload() = default;
  [[nodiscard]] virtual std::int64_t hidden() const = 0;
  [[nodiscard]] virtual int topk() const = 0;
  [[nodiscard]] virtual int experts() const = 0;
  [[nodiscard]] virtual ElementType element() const = 0;
  [[nodiscard]] virtual std::int64_t tokens_of(int rank) const = 0;
  [[nodiscard]] virtual std::int64_t max_tokens_per_rank() const = 0;
  [[nodiscard]] virtual RankInput input(std::uint64_t round, int rank) = 0;
  /// What an expert makes of a row, fp32; out may be row.
  virtual void expert(int expert, std::span<const float> row, std::span<float> out) = 0;
  /// One line for people: where tokens come from, and what a token is.
  [[nodiscard]] virtual std::string describe() const = 0;
  [[nodiscard]] virtual std::string describe_token(std::uint64_t round, int rank,
                                                   std::int64_t token) const = 0;
};

struct TextOptions {
  std::string path;  // empty: the first text of a short list that every Debian has
  std::int64_t tokens_per_rank = 128;
  int ranks = 8;
  LayerShape layer;
};
/// Byte t of a round's part of the text is a token; a short text starts again.
Result<std::unique_ptr<Workload>> make_text_workload(const TextOptions& options);

enum class ExpertsFunction : std::uint8_t { kIdentity, kSwiglu };

struct RecordedOptions {
  std::string tokens_path;     // [T, H] f4, or u2 with the bits of bf16
  std::string ids_path;        // [T, K] i4 or i8
  std::string weights_path;    // [T, K] f4
  std::optional<int> experts;  // else the largest id + 1, at least one a rank
  int ranks = 8;
  ExpertsFunction function = ExpertsFunction::kIdentity;
  std::int64_t ffn = 128;
  std::uint64_t seed = 1;
};
/// Tokens are split over the ranks in order. Every bad value is kInvalidArgument with its place.
Result<std::unique_ptr<Workload>> make_recorded_workload(const RecordedOptions& options);

}  // namespace crossdock::demo
