// SPDX-License-Identifier: Apache-2.0
// Where rows lie at their destinations, from the counts of all ranks. Every rank computes the same
// from the same counts, so that senders and receivers agree without another message, and all find
// the same overflow.
//   expanded   groups of local experts, each from a multiple of the alignment; inside a group by
//              source rank, then token order. An expert without rows takes none.
//   plain      by source rank, then token order.
// Rows are 64-bit throughout. Thread rule: pure functions; spans belong to the caller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/check.h"
#include "crossdock/status.h"
#include "routing/split.h"

namespace crossdock::routing {

/// Counts of all sources: row(s)[c] is what source s sends to c, an expert (routes) or a rank
/// (tokens, each once). The rows may lie apart, as in a window.
struct CountMatrix {
  const std::uint32_t* first = nullptr;
  std::size_t stride = 0;  // elements from one source's counts to the next one's
  std::size_t source_count = 0;
  std::size_t column_count = 0;

  [[nodiscard]] std::span<const std::uint32_t> row(std::size_t source) const {
    return {first + source * stride, column_count};
  }
};

/// What the expanded layout of all ranks follows from.
struct ExpandedCounts {
  CountMatrix rows;  // [R, E]
  ExpertSplit split;
  std::int64_t alignment = 1;  // 1 .. 2^31; groups begin at multiples of it
};

// --- receiver ------------------------------------------------------------------------------------

/// The expanded layout of one rank. L = its number of experts.
struct ExpandedLayout {
  std::span<std::int64_t> begin;              // [L]: first row of the group
  std::span<std::int64_t> row_count;          // [L]: routes received
  std::span<std::int64_t> aligned_row_count;  // [L]: with the gap behind them
  std::span<std::int64_t> source_begin;       // [R, L]: first row of that source; or empty
};
/// Fills `layout` for `rank` and returns its rows, gaps included.
std::int64_t layout_expanded(const ExpandedCounts& counts, int rank, const ExpandedLayout& layout);

struct PlainLayout {
  std::span<std::int64_t> begin;   // [R]: first row of that source
  std::span<std::int64_t> prefix;  // [R]: one past the last one, an inclusive prefix sum
};
/// `tokens` is [R, R]. Fills `layout` for `rank` and returns its rows.
std::int64_t layout_plain(const CountMatrix& tokens, int rank, const PlainLayout& layout);

/// begin and aligned_row_count [L] from row_count [L]; returns all rows, gaps included.
std::int64_t align_groups(std::int64_t alignment, const ExpandedLayout& layout);

// --- sender --------------------------------------------------------------------------------------

/// Where one source's rows go, at every destination.
struct ExpandedPlan {
  std::span<std::int64_t> start;      // [E]: first row of mine for that expert, at its owner
  std::span<std::int64_t> row_count;  // [E]: rows of all sources
  std::span<std::int64_t> needed;     // [R]: rows that rank needs, gaps included
};
void plan_expanded(const ExpandedCounts& counts, int source, const ExpandedPlan& plan);

struct PlainPlan {
  std::span<std::int64_t> start;   // [R]: first row of mine at that rank
  std::span<std::int64_t> needed;  // [R]: rows that rank needs
};
/// `tokens` is [R, R].
void plan_plain(const CountMatrix& tokens, int source, const PlainPlan& plan);

/// kCapacity (scope operation) when a rank needs more than row_capacity rows; it names the first
/// such rank, also as the culprit, with needed and available rows. Equal on all ranks.
Status check_row_capacity(std::span<const std::int64_t> needed, std::int64_t row_capacity);

// --- prefix sums as handles show them
// -------------------------------------------------------------

/// prefix[i] = counts[0] + ... + counts[i]. In the plain layout this is the prefix of tokens per
/// source, and, of aligned row counts, the prefix per local expert.
void inclusive_prefix(std::span<const std::int64_t> counts, std::span<std::int64_t> prefix);

/// prefix[i] = begin[i] + row_count[i]: the end of the rows of group i, without its gap. The next
/// group begins at the next multiple of the alignment.
void expanded_prefix(const ExpandedLayout& layout, std::span<std::int64_t> prefix);

// --- places in memory
// ------------------------------------------------------------------------------

/// row * row_bytes. A negative row and a product beyond 64 bits are programmer errors.
[[nodiscard]] constexpr std::uint64_t row_offset(std::int64_t row, std::uint64_t row_bytes) {
  std::uint64_t offset = 0;
  const bool wraps = __builtin_mul_overflow(static_cast<std::uint64_t>(row), row_bytes, &offset);
  CROSSDOCK_CHECK(row >= 0 && !wraps, "row {} of {} bytes", row, row_bytes);
  return offset;
}

}  // namespace crossdock::routing
