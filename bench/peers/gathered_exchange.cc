// SPDX-License-Identifier: Apache-2.0
#include "bench/peers/gathered_exchange.h"

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/float.h"
#include "bench/peers/peer_exchange.h"
#include "cli/bench/workload.h"
#include "crossdock/types.h"

namespace crossdock::bench {
namespace {

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

void add_row(ElementType element, const std::byte* row, float* sums, std::size_t count) {
  for (std::size_t index = 0; index < count; ++index) {
    if (element == ElementType::kBf16) {
      Bf16 narrow;
      std::memcpy(&narrow, row + index * 2, 2);
      sums[index] += to_fp32(narrow);
    } else {
      float value = 0;
      std::memcpy(&value, row + index * 4, 4);
      sums[index] += value;
    }
  }
}

void round_row(ElementType element, const float* sums, std::byte* row, std::size_t count) {
  if (element == ElementType::kFp32) {
    std::memcpy(row, sums, count * 4);
    return;
  }
  for (std::size_t index = 0; index < count; ++index) {
    const std::uint16_t bits = to_bf16(sums[index]).bits;
    std::memcpy(row + index * 2, &bits, 2);
  }
}

}  // namespace

GatheredExchange::GatheredExchange(const Shape& shape, int rank)
    : shape_(shape),
      rank_(rank),
      all_routes_(at(shape.routes_per_rank()) * at(shape.ranks)),
      all_tokens_(at(shape.tokens * shape.ranks) * shape.row_bytes()),
      expert_begin_(at(shape.local_experts(rank))),
      partial_(at(shape.tokens * shape.ranks * shape.hidden)),
      reduced_(at(shape.tokens * shape.hidden)) {}

void GatheredExchange::dispatch(const std::vector<std::int32_t>& routes, const std::byte* tokens) {
  {
    const PartTimer timer(times_.counts);
    const int count = static_cast<int>(routes.size());
    MPI_Allgather(routes.data(), count, MPI_INT32_T, all_routes_.data(), count, MPI_INT32_T,
                  MPI_COMM_WORLD);
  }
  {
    const PartTimer timer(times_.exchange);
    MPI_Datatype row_type = MPI_BYTE;
    MPI_Type_contiguous(static_cast<int>(shape_.row_bytes()), MPI_BYTE, &row_type);
    MPI_Type_commit(&row_type);
    const int count = static_cast<int>(shape_.tokens);
    MPI_Allgather(tokens, count, row_type, all_tokens_.data(), count, row_type, MPI_COMM_WORLD);
    MPI_Type_free(&row_type);
  }
  const PartTimer timer(times_.permute);
  std::vector<std::size_t> counts(expert_begin_.size(), 0);
  const int first = shape_.first_expert(rank_);
  for (const std::int32_t expert : all_routes_) {
    const std::int64_t local = std::int64_t{expert} - first;
    if (expert >= 0 && local >= 0 && at(local) < counts.size()) {
      ++counts[at(local)];
    }
  }
  std::size_t next = 0;
  for (std::size_t expert = 0; expert < counts.size(); ++expert) {
    expert_begin_[expert] = next;
    next += counts[expert];
  }
  if (rows_.size() < next * shape_.row_bytes()) {  // Grows in the first round only.
    rows_.resize(next * shape_.row_bytes());
  }
  const std::size_t row_bytes = shape_.row_bytes();
  for_each_row([&](std::size_t token, std::size_t row) {
    std::memcpy(rows_.data() + row * row_bytes, all_tokens_.data() + token * row_bytes, row_bytes);
  });
}

void GatheredExchange::combine(const std::vector<std::int32_t>& /*routes*/, std::byte* tokens) {
  const std::size_t hidden = at(shape_.hidden);
  {
    const PartTimer timer(times_.permute);
    std::fill(partial_.begin(), partial_.end(), 0.0F);
    for_each_row([&](std::size_t token, std::size_t row) {
      add_row(shape_.element, rows_.data() + row * shape_.row_bytes(),
              partial_.data() + token * hidden, hidden);
    });
  }
  {
    const PartTimer timer(times_.exchange);
    MPI_Reduce_scatter_block(partial_.data(), reduced_.data(), static_cast<int>(reduced_.size()),
                             MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  }
  const PartTimer timer(times_.permute);
  for (std::size_t token = 0; token < at(shape_.tokens); ++token) {
    round_row(shape_.element, reduced_.data() + token * hidden, tokens + token * shape_.row_bytes(),
              hidden);
  }
}

template <typename Visit>
void GatheredExchange::for_each_row(Visit visit) const {
  std::vector<std::size_t> next = expert_begin_;
  const int first = shape_.first_expert(rank_);
  const auto topk = at(shape_.topk);
  for (std::size_t route = 0; route < all_routes_.size(); ++route) {
    const std::int64_t local = std::int64_t{all_routes_[route]} - first;
    if (all_routes_[route] >= 0 && local >= 0 && at(local) < next.size()) {
      visit(route / topk, next[at(local)]++);
    }
  }
}

}  // namespace crossdock::bench
