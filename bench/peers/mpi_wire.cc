// SPDX-License-Identifier: Apache-2.0
#include "bench/peers/mpi_wire.h"

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

namespace crossdock::bench {
namespace {

/// Counts and displacements of MPI are ints: in bytes when they fit, else in rows.
struct IntLayout {
  std::vector<int> counts;
  std::vector<int> displacements;

  IntLayout(std::span<const std::int64_t> row_counts, std::int64_t unit) {
    std::int64_t next = 0;
    for (const std::int64_t row_count : row_counts) {
      counts.push_back(static_cast<int>(row_count * unit));
      displacements.push_back(static_cast<int>(next * unit));
      next += row_count;
    }
  }
};

std::int64_t sum_of(std::span<const std::int64_t> counts) {
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

}  // namespace

MpiWire::MpiWire() {
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
}

void MpiWire::barrier() { MPI_Barrier(MPI_COMM_WORLD); }

void MpiWire::all_to_all(const std::int64_t* from, std::int64_t* to, std::size_t part_count) {
  const int count = static_cast<int>(part_count);
  MPI_Alltoall(from, count, MPI_INT64_T, to, count, MPI_INT64_T, MPI_COMM_WORLD);
}

void MpiWire::all_to_all_v(const std::byte* from, std::span<const std::int64_t> send_counts,
                           std::byte* to, std::span<const std::int64_t> receive_counts,
                           std::size_t row_bytes) {
  auto unit = static_cast<std::int64_t>(row_bytes);
  const std::int64_t most = std::max(sum_of(send_counts), sum_of(receive_counts)) * unit;
  // Every rank may decide for itself: the type maps are the same bytes.
  MPI_Datatype type = MPI_BYTE;
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

std::vector<std::byte> MpiWire::gather(std::span<const std::byte> part) {
  const int count = static_cast<int>(part.size());
  std::vector<std::byte> all(part.size() * static_cast<std::size_t>(size_));
  MPI_Gather(part.data(), count, MPI_BYTE, all.data(), count, MPI_BYTE, 0, MPI_COMM_WORLD);
  return all;
}

}  // namespace crossdock::bench
