// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/npy.h"
#include "base/status_macros.h"
#include "cli/demo/moe_layer.h"
#include "cli/demo/workload.h"
#include "crossdock/status.h"
#include "crossdock/types.h"

namespace crossdock::demo {
namespace {

Status invalid(std::string message) {
  return {StatusKind::kInvalidArgument, Scope::kProcess, std::move(message)};
}

/// A file of two dimensions and one of two types.
Result<NpyArray> load_matrix(const std::string& path, NpyType first, NpyType second) {
  Result<NpyArray> loaded = load_npy(path);
  if (!loaded.ok()) {
    return invalid(std::string(loaded.status().message()));  // A name that the caller gave.
  }
  NpyArray array = std::move(loaded).value();
  if (array.type != first && array.type != second) {
    const std::string other = second == first ? "" : fmt::format(" or {}", to_string(second));
    return invalid(fmt::format("{}: type {}; allowed: {}{}", path, to_string(array.type),
                               to_string(first), other));
  }
  if (array.shape.size() != 2) {
    return invalid(fmt::format("{}: {} dimensions; allowed: 2", path, array.shape.size()));
  }
  return array;
}

struct Recording {
  NpyArray tokens;
  std::vector<std::int32_t> ids;
  NpyArray weights;
  std::int64_t topk = 0;
  int experts = 0;
};

Status check_shapes(const RecordedOptions& options, const NpyArray& tokens, const NpyArray& ids,
                    const NpyArray& weights) {
  if (ids.shape[0] != tokens.shape[0]) {
    return invalid(fmt::format("{}: {} rows, but {} has {}; allowed: as many", options.ids_path,
                               ids.shape[0], options.tokens_path, tokens.shape[0]));
  }
  if (weights.shape != ids.shape) {
    return invalid(fmt::format("{}: shape {} x {}; allowed: that of {}, {} x {}",
                               options.weights_path, weights.shape[0], weights.shape[1],
                               options.ids_path, ids.shape[0], ids.shape[1]));
  }
  if (tokens.shape[1] == 0) {
    return invalid(fmt::format("{}: rows of 0 elements; allowed: at least 1", options.tokens_path));
  }
  if (ids.shape[1] < 1 || ids.shape[1] > 128) {
    return invalid(fmt::format("{}: top-{}; allowed: 1 .. 128", options.ids_path, ids.shape[1]));
  }
  return {};
}

std::int64_t id_at(const NpyArray& ids, std::size_t index) {
  return ids.type == NpyType::kI8 ? ids.as<std::int64_t>()[index] : ids.as<std::int32_t>()[index];
}

constexpr std::int64_t kExpertsMax = 65536;

/// Without --experts: as many as the ids need, and at least one a rank.
Result<int> expert_count(const RecordedOptions& options, const NpyArray& ids) {
  if (options.experts) {
    return *options.experts;
  }
  std::int64_t largest = options.ranks - 1;
  for (std::size_t index = 0; index < ids.element_count(); ++index) {
    const std::int64_t id = id_at(ids, index);
    if (id >= kExpertsMax) {
      return invalid(fmt::format("{}: row {}, column {}: expert {}; allowed: -1 .. {}",
                                 options.ids_path, index / ids.shape[1], index % ids.shape[1], id,
                                 kExpertsMax - 1));
    }
    largest = std::max(largest, id);
  }
  return static_cast<int>(
      std::max<std::int64_t>(largest + 1, static_cast<std::int64_t>(ids.shape[1])));
}

/// Narrow ids, each in range and none twice in a row.
Result<std::vector<std::int32_t>> checked_ids(const RecordedOptions& options, const NpyArray& ids,
                                              int experts) {
  const std::size_t topk = ids.shape[1];
  std::vector<std::int32_t> narrow;
  narrow.reserve(ids.element_count());
  for (std::size_t index = 0; index < ids.element_count(); ++index) {
    const std::int64_t id = id_at(ids, index);
    const std::size_t row = index / topk;
    const std::size_t column = index % topk;
    if (id < -1 || id >= experts) {
      return invalid(fmt::format("{}: row {}, column {}: expert {}; allowed: -1 .. {}",
                                 options.ids_path, row, column, id, experts - 1));
    }
    const auto row_begin = narrow.begin() + static_cast<std::ptrdiff_t>(row * topk);
    const auto twin = std::find(row_begin, narrow.end(), static_cast<std::int32_t>(id));
    if (id >= 0 && twin != narrow.end()) {
      return invalid(fmt::format("{}: row {}: expert {} in columns {} and {}; allowed: once",
                                 options.ids_path, row, id, twin - row_begin, column));
    }
    narrow.push_back(static_cast<std::int32_t>(id));
  }
  return narrow;
}

Result<Recording> load_recording(const RecordedOptions& options) {
  Recording recording;
  CROSSDOCK_ASSIGN_OR_RETURN(recording.tokens,
                             load_matrix(options.tokens_path, NpyType::kF4, NpyType::kU2));
  CROSSDOCK_ASSIGN_OR_RETURN(const NpyArray ids,
                             load_matrix(options.ids_path, NpyType::kI4, NpyType::kI8));
  CROSSDOCK_ASSIGN_OR_RETURN(recording.weights,
                             load_matrix(options.weights_path, NpyType::kF4, NpyType::kF4));
  CROSSDOCK_RETURN_IF_ERROR(check_shapes(options, recording.tokens, ids, recording.weights));
  recording.topk = static_cast<std::int64_t>(ids.shape[1]);
  CROSSDOCK_ASSIGN_OR_RETURN(recording.experts, expert_count(options, ids));
  CROSSDOCK_ASSIGN_OR_RETURN(recording.ids, checked_ids(options, ids, recording.experts));
  return recording;
}

class RecordedWorkload final : public Workload {
 public:
  RecordedWorkload(RecordedOptions options, Recording recording)
      : options_(std::move(options)),
        recording_(std::move(recording)),
        layer_({.hidden = hidden(),
                .ffn = options_.ffn,
                .experts = recording_.experts,
                .topk = topk(),
                .seed = options_.seed}) {}

  [[nodiscard]] std::int64_t hidden() const override {
    return static_cast<std::int64_t>(recording_.tokens.shape[1]);
  }
  [[nodiscard]] int topk() const override { return static_cast<int>(recording_.topk); }
  [[nodiscard]] int experts() const override { return recording_.experts; }
  [[nodiscard]] ElementType element() const override {
    return recording_.tokens.type == NpyType::kU2 ? ElementType::kBf16 : ElementType::kFp32;
  }
  [[nodiscard]] std::int64_t tokens_of(int rank) const override {
    return first_token(rank + 1) - first_token(rank);
  }
  [[nodiscard]] std::int64_t max_tokens_per_rank() const override {
    std::int64_t most = 1;
    for (int rank = 0; rank < options_.ranks; ++rank) {
      most = std::max(most, tokens_of(rank));
    }
    return most;
  }
  [[nodiscard]] RankInput input(std::uint64_t /*round*/, int rank) override {
    const auto first = static_cast<std::size_t>(first_token(rank));
    const auto count = static_cast<std::size_t>(tokens_of(rank));
    const std::size_t row_bytes = static_cast<std::size_t>(hidden()) * element_bytes(element());
    const auto topk_size = static_cast<std::size_t>(topk());
    const auto rows =
        std::span(recording_.tokens.bytes).subspan(first * row_bytes, count * row_bytes);
    const auto ids = std::span(recording_.ids).subspan(first * topk_size, count * topk_size);
    const auto weights =
        recording_.weights.as<float>().subspan(first * topk_size, count * topk_size);
    return {.token_count = tokens_of(rank),
            .tokens = {rows.begin(), rows.end()},
            .topk_ids = {ids.begin(), ids.end()},
            .topk_weights = {weights.begin(), weights.end()}};
  }
  void expert(int expert, std::span<const float> row, std::span<float> out) override {
    if (options_.function == ExpertsFunction::kSwiglu) {
      layer_.expert(expert, row, out);
    } else if (row.data() != out.data()) {
      std::copy(row.begin(), row.end(), out.begin());
    }
  }
  [[nodiscard]] std::string describe() const override {
    return fmt::format("{} ({} tokens) with {}", options_.tokens_path, recording_.tokens.shape[0],
                       options_.ids_path);
  }
  [[nodiscard]] std::string describe_token(std::uint64_t /*round*/, int rank,
                                           std::int64_t token) const override {
    return fmt::format("row {} of {}", first_token(rank) + token, options_.tokens_path);
  }

 private:
  [[nodiscard]] std::int64_t first_token(int rank) const {
    const auto token_count = static_cast<std::int64_t>(recording_.tokens.shape[0]);
    return token_count / options_.ranks * rank +
           token_count % options_.ranks * rank / options_.ranks;
  }

  RecordedOptions options_;
  Recording recording_;
  MoeLayer layer_;
};

}  // namespace

Result<std::unique_ptr<Workload>> make_recorded_workload(const RecordedOptions& options) {
  CROSSDOCK_ASSIGN_OR_RETURN(Recording recording, load_recording(options));
  return std::unique_ptr<Workload>(
      std::make_unique<RecordedWorkload>(options, std::move(recording)));
}

}  // namespace crossdock::demo
