// SPDX-License-Identifier: Apache-2.0
// The floor without communication: one process holds all ranks' tokens and lets OpenMP threads copy
// them into expert order, and sum them back. What a single-process MoE layer does.
//
//   crossdock-peer-openmp --ranks 8 --operation dispatch --tokens 1024 --hidden 2048 --experts 64
//       --topk 8 --dtype bf16 --seed 1 --iterations 20 --warmup 3
// prints one JSON object; exit code 0, 1 (a row differs) or 2 (usage).
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "base/copy.h"
#include "base/reduce.h"
#include "bench/peers/peer_bench.h"
#include "bench/peers/peer_exchange.h"
#include "bench/peers/peer_options.h"
#include "bench/peers/wire.h"
#include "cli/bench/workload.h"

namespace crossdock::bench {
namespace {

/// Nobody else is there.
class LoneWire final : public Wire {
 public:
  [[nodiscard]] int rank() const override { return 0; }
  [[nodiscard]] int size() const override { return 1; }
  void barrier() override {}
  void all_to_all(const std::int64_t* from, std::int64_t* to, std::size_t part_count) override {
    std::memcpy(to, from, part_count * sizeof(std::int64_t));
  }
  void all_to_all_v(const std::byte* from, std::span<const std::int64_t> send_counts, std::byte* to,
                    std::span<const std::int64_t> /*receive_counts*/,
                    std::size_t row_bytes) override {
    std::memcpy(to, from, static_cast<std::size_t>(send_counts[0]) * row_bytes);
  }
  std::vector<std::byte> gather(std::span<const std::byte> part) override {
    return {part.begin(), part.end()};
  }
};

/// The tokens of all ranks as one rank's, permuted by threads.
class ThreadedPermute final : public PeerExchange {
 public:
  explicit ThreadedPermute(const Shape& shape)
      : shape_(shape),
        position_(static_cast<std::size_t>(shape.routes_per_rank())),
        rows_(position_.size() * shape.row_bytes()) {}

  void dispatch(const std::vector<std::int32_t>& routes, const std::byte* tokens) override {
    {
      const PartTimer timer(times_.counts);
      plan(routes);
    }
    const PartTimer timer(times_.permute);
    const std::size_t row_bytes = shape_.row_bytes();
    const auto topk = static_cast<std::size_t>(shape_.topk);
#pragma omp parallel for schedule(static)
    for (std::size_t route = 0; route < routes.size(); ++route) {
      if (routes[route] >= 0) {
        std::memcpy(rows_.data() + position_[route] * row_bytes, tokens + route / topk * row_bytes,
                    row_bytes);
      }
    }
  }

  void combine(const std::vector<std::int32_t>& routes, std::byte* tokens) override {
    const PartTimer timer(times_.permute);
    const std::size_t row_bytes = shape_.row_bytes();
    const auto topk = static_cast<std::size_t>(shape_.topk);
#pragma omp parallel for schedule(static)
    for (std::size_t first = 0; first < routes.size(); first += topk) {
      std::vector<const void*> token_rows;
      for (std::size_t route = first; route < first + topk; ++route) {
        if (routes[route] >= 0) {
          token_rows.push_back(rows_.data() + position_[route] * row_bytes);
        }
      }
      reduce_rows(shape_.element, tokens + first / topk * row_bytes, token_rows,
                  static_cast<std::size_t>(shape_.hidden), StoreHint::kKeep);
    }
  }
  [[nodiscard]] std::byte* rows() override { return rows_.data(); }

 private:
  /// Row of every route: by expert, then token.
  void plan(const std::vector<std::int32_t>& routes) {
    std::vector<std::size_t> next(static_cast<std::size_t>(shape_.experts) + 1, 0);
    for (const std::int32_t expert : routes) {
      next[static_cast<std::size_t>(expert + 1)] += expert >= 0 ? 1 : 0;
    }
    for (std::size_t expert = 1; expert < next.size(); ++expert) {
      next[expert] += next[expert - 1];
    }
    for (std::size_t route = 0; route < routes.size(); ++route) {
      if (routes[route] >= 0) {
        position_[route] = next[static_cast<std::size_t>(routes[route])]++;
      }
    }
  }

  Shape shape_;
  std::vector<std::size_t> position_;  // [R * T * K]
  std::vector<std::byte> rows_;        // [R * T * K, H]
};

int run_peer(const std::vector<std::string_view>& arguments) {
  auto options = parse_peer_options(arguments, 0);
  if (!options.ok()) {
    return refuse_usage("crossdock-peer-openmp", options.status().message());
  }
  // One rank with everybody's tokens. Their routes are drawn anew: what counts is how many.
  options->shape.tokens *= options->shape.ranks;
  options->shape.ranks = 1;
  LoneWire wire;
  ThreadedPermute exchange(options->shape);
  PeerBench bench(*options, wire, exchange);
  bench.run();
  return bench.report("openmp_permute") ? 0 : 1;
}

}  // namespace
}  // namespace crossdock::bench

int main(int argc, char** argv) { return crossdock::bench::run_peer({argv + 1, argv + argc}); }
