// SPDX-License-Identifier: Apache-2.0
#include "bench/peers/permuted_exchange.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <vector>

#include "base/copy.h"
#include "base/reduce.h"
#include "bench/peers/peer_exchange.h"
#include "bench/peers/wire.h"
#include "cli/bench/workload.h"

namespace crossdock::bench {
namespace {

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

std::int64_t sum_of(const std::vector<std::int64_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

}  // namespace

PermutedExchange::PermutedExchange(const Shape& shape, Wire& wire)
    : shape_(shape),
      wire_(wire),
      local_experts_(at(shape.local_experts(wire.rank()))),
      local_experts_max_(at(shape.local_experts(0))),
      expert_counts_(at(shape.experts)),
      outgoing_(at(shape.ranks) * local_experts_max_),
      incoming_(at(shape.ranks) * local_experts_max_),
      rows_to_(at(shape.ranks)),
      rows_from_(at(shape.ranks)),
      send_position_(at(shape.routes_per_rank())),
      expert_begin_(at(shape.experts)),
      sent_(at(shape.routes_per_rank()) * shape.row_bytes()) {}

void PermutedExchange::dispatch(const std::vector<std::int32_t>& routes, const std::byte* tokens) {
  exchange_counts(routes);
  const std::size_t row_bytes = shape_.row_bytes();
  {
    const PartTimer timer(times_.permute);
    plan_send(routes);
    const auto topk = at(shape_.topk);
    for (std::size_t route = 0; route < routes.size(); ++route) {
      if (routes[route] >= 0) {
        std::memcpy(sent_.data() + send_position_[route] * row_bytes,
                    tokens + route / topk * row_bytes, row_bytes);
      }
    }
  }
  {
    const PartTimer timer(times_.exchange);
    wire_.all_to_all_v(sent_.data(), rows_to_, received_.data(), rows_from_, row_bytes);
  }
  permute_blocks(Direction::kToExperts);
}

void PermutedExchange::combine(const std::vector<std::int32_t>& routes, std::byte* tokens) {
  permute_blocks(Direction::kToSources);
  const std::size_t row_bytes = shape_.row_bytes();
  {
    const PartTimer timer(times_.exchange);
    wire_.all_to_all_v(received_.data(), rows_from_, sent_.data(), rows_to_, row_bytes);
  }
  const PartTimer timer(times_.permute);
  const auto topk = at(shape_.topk);
  std::vector<const void*> rows;
  for (std::size_t route = 0; route < routes.size(); route += topk) {
    rows.clear();
    for (std::size_t lane = 0; lane < topk; ++lane) {
      if (routes[route + lane] >= 0) {
        rows.push_back(sent_.data() + send_position_[route + lane] * row_bytes);
      }
    }
    reduce_rows(shape_.element, tokens + route / topk * row_bytes, rows, at(shape_.hidden),
                StoreHint::kKeep);
  }
}

void PermutedExchange::exchange_counts(const std::vector<std::int32_t>& routes) {
  const PartTimer timer(times_.counts);
  std::fill(expert_counts_.begin(), expert_counts_.end(), 0);
  for (const std::int32_t expert : routes) {
    if (expert >= 0) {
      ++expert_counts_[at(expert)];
    }
  }
  for (int peer = 0; peer < shape_.ranks; ++peer) {
    const auto first = expert_counts_.begin() + shape_.first_expert(peer);
    std::int64_t* const part = outgoing_.data() + at(peer) * local_experts_max_;
    std::copy(first, first + shape_.local_experts(peer), part);
    rows_to_[at(peer)] =
        std::accumulate(first, first + shape_.local_experts(peer), std::int64_t{0});
  }
  wire_.all_to_all(outgoing_.data(), incoming_.data(), local_experts_max_);
  plan_receive();
}

void PermutedExchange::plan_receive() {
  for (std::size_t source = 0; source < rows_from_.size(); ++source) {
    const auto part = incoming_.begin() + static_cast<std::ptrdiff_t>(source * local_experts_max_);
    rows_from_[source] =
        std::accumulate(part, part + static_cast<std::ptrdiff_t>(local_experts_), std::int64_t{0});
  }
  const std::size_t byte_count = at(sum_of(rows_from_)) * shape_.row_bytes();
  if (received_.size() < byte_count) {  // Grows in the first round only.
    received_.resize(byte_count);
    rows_.resize(byte_count);
  }
}

void PermutedExchange::plan_send(const std::vector<std::int32_t>& routes) {
  std::size_t next = 0;
  for (std::size_t expert = 0; expert < expert_begin_.size(); ++expert) {
    expert_begin_[expert] = next;
    next += at(expert_counts_[expert]);
  }
  for (std::size_t route = 0; route < routes.size(); ++route) {
    if (routes[route] >= 0) {
      send_position_[route] = expert_begin_[at(routes[route])]++;
    }
  }
}

void PermutedExchange::permute_blocks(Direction direction) {
  const PartTimer timer(times_.permute);
  const std::size_t row_bytes = shape_.row_bytes();
  std::size_t expert_row = 0;
  for (std::size_t expert = 0; expert < local_experts_; ++expert) {
    std::size_t source_row = 0;  // First row of the source's part.
    for (std::size_t source = 0; source < rows_from_.size(); ++source) {
      const std::int64_t* const counts = incoming_.data() + source * local_experts_max_;
      const std::size_t in_source =
          source_row + at(std::accumulate(counts, counts + expert, std::int64_t{0}));
      std::byte* const by_expert = rows_.data() + expert_row * row_bytes;
      std::byte* const by_source = received_.data() + in_source * row_bytes;
      const std::size_t byte_count = at(counts[expert]) * row_bytes;
      if (direction == Direction::kToExperts) {
        std::memcpy(by_expert, by_source, byte_count);
      } else {
        std::memcpy(by_source, by_expert, byte_count);
      }
      expert_row += at(counts[expert]);
      source_row += at(rows_from_[source]);
    }
  }
}

}  // namespace crossdock::bench
