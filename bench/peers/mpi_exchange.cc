// SPDX-License-Identifier: Apache-2.0
#include "bench/peers/mpi_exchange.h"

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include "base/clock.h"
#include "base/copy.h"
#include "base/reduce.h"
#include "cli/bench/workload.h"

namespace crossdock::bench {
namespace {

/// Adds the life of this object to a part.
class PartTimer {
 public:
  explicit PartTimer(Duration& part) : part_(part), begin_(monotonic_clock().now()) {}
  ~PartTimer() { part_ += monotonic_clock().now() - begin_; }
  PartTimer(const PartTimer&) = delete;
  PartTimer& operator=(const PartTimer&) = delete;

 private:
  Duration& part_;
  Instant begin_;
};

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

/// Counts and displacements of MPI are ints: in bytes when they fit, else in rows.
struct IntLayout {
  std::vector<int> counts;
  std::vector<int> displacements;

  IntLayout(const std::vector<std::int64_t>& row_counts, std::int64_t unit) {
    std::int64_t next = 0;
    for (const std::int64_t row_count : row_counts) {
      counts.push_back(static_cast<int>(row_count * unit));
      displacements.push_back(static_cast<int>(next * unit));
      next += row_count;
    }
  }
};

std::int64_t sum_of(const std::vector<std::int64_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

}  // namespace

MpiExchange::MpiExchange(const Shape& shape, int rank)
    : shape_(shape),
      local_experts_(at(shape.local_experts(rank))),
      local_experts_max_(at(shape.local_experts(0))),
      expert_counts_(at(shape.experts)),
      outgoing_(at(shape.ranks) * local_experts_max_),
      incoming_(at(shape.ranks) * local_experts_max_),
      rows_to_(at(shape.ranks)),
      rows_from_(at(shape.ranks)),
      send_position_(at(shape.routes_per_rank())),
      expert_begin_(at(shape.experts)),
      sent_(at(shape.routes_per_rank()) * shape.row_bytes()) {}

void MpiExchange::dispatch(const std::vector<std::int32_t>& routes, const std::byte* tokens) {
  exchange_counts(routes);
  const std::size_t row_bytes = shape_.row_bytes();
  {
    const PartTimer timer(times_.permute);
    plan_send(routes);
    const auto topk = at(shape_.topk);
    for (std::size_t route = 0; route < routes.size(); ++route) {
      std::memcpy(sent_.data() + send_position_[route] * row_bytes,
                  tokens + route / topk * row_bytes, row_bytes);
    }
  }
  exchange_rows(sent_.data(), rows_to_, received_.data(), rows_from_);
  permute_blocks(Direction::kToExperts);
}

void MpiExchange::combine(const std::vector<std::int32_t>& routes, std::byte* tokens) {
  permute_blocks(Direction::kToSources);
  exchange_rows(received_.data(), rows_from_, sent_.data(), rows_to_);
  const PartTimer timer(times_.permute);
  const std::size_t row_bytes = shape_.row_bytes();
  const auto topk = at(shape_.topk);
  std::vector<const void*> rows(topk);
  for (std::size_t route = 0; route < routes.size(); route += topk) {
    for (std::size_t lane = 0; lane < topk; ++lane) {
      rows[lane] = sent_.data() + send_position_[route + lane] * row_bytes;
    }
    reduce_rows(shape_.element, tokens + route / topk * row_bytes, rows, at(shape_.hidden),
                StoreHint::kKeep);
  }
}

void MpiExchange::exchange_counts(const std::vector<std::int32_t>& routes) {
  const PartTimer timer(times_.counts);
  std::fill(expert_counts_.begin(), expert_counts_.end(), 0);
  for (const std::int32_t expert : routes) {
    ++expert_counts_[at(expert)];
  }
  for (int peer = 0; peer < shape_.ranks; ++peer) {
    const auto first = expert_counts_.begin() + shape_.first_expert(peer);
    std::int64_t* const part = outgoing_.data() + at(peer) * local_experts_max_;
    std::copy(first, first + shape_.local_experts(peer), part);
    rows_to_[at(peer)] =
        std::accumulate(first, first + shape_.local_experts(peer), std::int64_t{0});
  }
  const int part_count = static_cast<int>(local_experts_max_);
  MPI_Alltoall(outgoing_.data(), part_count, MPI_INT64_T, incoming_.data(), part_count, MPI_INT64_T,
               MPI_COMM_WORLD);
  plan_receive();
}

void MpiExchange::plan_receive() {
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

void MpiExchange::plan_send(const std::vector<std::int32_t>& routes) {
  std::size_t next = 0;
  for (std::size_t expert = 0; expert < expert_begin_.size(); ++expert) {
    expert_begin_[expert] = next;
    next += at(expert_counts_[expert]);
  }
  for (std::size_t route = 0; route < routes.size(); ++route) {
    send_position_[route] = expert_begin_[at(routes[route])]++;
  }
}

void MpiExchange::exchange_rows(const std::byte* from, const std::vector<std::int64_t>& send_counts,
                                std::byte* to, const std::vector<std::int64_t>& receive_counts) {
  const PartTimer timer(times_.exchange);
  const auto row_bytes = static_cast<std::int64_t>(shape_.row_bytes());
  const std::int64_t most = std::max(sum_of(send_counts), sum_of(receive_counts)) * row_bytes;
  // Every rank may decide for itself: the type maps are the same bytes.
  MPI_Datatype type = MPI_BYTE;
  std::int64_t unit = row_bytes;
  if (most > std::numeric_limits<int>::max()) {
    MPI_Type_contiguous(static_cast<int>(row_bytes), MPI_BYTE, &type);
    MPI_Type_commit(&type);
    unit = 1;
  }
  const IntLayout send(send_counts, unit);
  const IntLayout receive(receive_counts, unit);
  MPI_Alltoallv(from, send.counts.data(), send.displacements.data(), type, to,
                receive.counts.data(), receive.displacements.data(), type, MPI_COMM_WORLD);
  if (type != MPI_BYTE) {
    MPI_Type_free(&type);
  }
}

void MpiExchange::permute_blocks(Direction direction) {
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
