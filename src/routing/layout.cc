// SPDX-License-Identifier: Apache-2.0
#include "routing/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>

#include "base/bytes.h"
#include "base/check.h"
#include "crossdock/status.h"
#include "routing/split.h"

namespace crossdock::routing {
namespace {

// Rounds up row counts. One division per expert would be most of a small round's planning, and
// alignments are powers of two nearly always.
class Aligner {
 public:
  explicit Aligner(std::int64_t alignment)
      : alignment_(alignment), is_mask_(is_power_of_two(static_cast<std::uint64_t>(alignment))) {
    CROSSDOCK_CHECK(1 <= alignment && alignment <= std::int64_t{1} << 31, "alignment {}",
                    alignment);
  }
  [[nodiscard]] std::int64_t align(std::int64_t row_count) const {
    const std::int64_t raised = row_count + alignment_ - 1;
    return is_mask_ ? raised & -alignment_ : raised - raised % alignment_;
  }

 private:
  std::int64_t alignment_;
  bool is_mask_;
};

void check_counts(const ExpandedCounts& counts) {
  CROSSDOCK_CHECK(counts.rows.column_count == static_cast<std::size_t>(counts.split.expert_count()),
                  "counts of {} experts, split of {}", counts.rows.column_count,
                  counts.split.expert_count());
  CROSSDOCK_CHECK(counts.rows.source_count == static_cast<std::size_t>(counts.split.rank_count()),
                  "counts of {} sources, split of {} ranks", counts.rows.source_count,
                  counts.split.rank_count());
}

void check_room(std::size_t got, std::size_t wanted) {
  CROSSDOCK_CHECK(got == wanted, "room for {} values, there are {}", got, wanted);
}

// sum[c] over all sources, and before[c] over those below `source`.
void sum_sources(const CountMatrix& counts, int source, std::span<std::int64_t> before,
                 std::span<std::int64_t> sum) {
  check_room(before.size(), counts.column_count);
  check_room(sum.size(), counts.column_count);
  std::fill(sum.begin(), sum.end(), 0);
  for (std::size_t other = 0; other < counts.source_count; ++other) {
    if (other == static_cast<std::size_t>(source)) {
      std::copy(sum.begin(), sum.end(), before.begin());
    }
    const auto row = counts.row(other);
    for (std::size_t column = 0; column < row.size(); ++column) {
      sum[column] += row[column];
    }
  }
}

}  // namespace

// --- receiver ------------------------------------------------------------------------------------

std::int64_t layout_expanded(const ExpandedCounts& counts, int rank, const ExpandedLayout& layout) {
  check_counts(counts);
  const auto first = static_cast<std::size_t>(counts.split.first_expert(rank));
  const auto local_count = static_cast<std::size_t>(counts.split.count(rank));
  const std::size_t source_count = counts.rows.source_count;
  check_room(layout.row_count.size(), local_count);
  std::fill(layout.row_count.begin(), layout.row_count.end(), 0);
  for (std::size_t source = 0; source < source_count; ++source) {
    const auto row = counts.rows.row(source).subspan(first, local_count);
    for (std::size_t local = 0; local < local_count; ++local) {
      layout.row_count[local] += row[local];
    }
  }
  const std::int64_t total = align_groups(counts.alignment, layout);
  if (layout.source_begin.empty()) {
    return total;
  }
  check_room(layout.source_begin.size(), source_count * local_count);
  std::copy(layout.begin.begin(), layout.begin.end(), layout.source_begin.begin());
  for (std::size_t source = 1; source < source_count; ++source) {
    const auto row = counts.rows.row(source - 1).subspan(first, local_count);
    const auto before = layout.source_begin.subspan((source - 1) * local_count, 2 * local_count);
    for (std::size_t local = 0; local < local_count; ++local) {
      before[local_count + local] = before[local] + row[local];
    }
  }
  return total;
}

std::int64_t layout_plain(const CountMatrix& tokens, int rank, const PlainLayout& layout) {
  check_room(layout.begin.size(), tokens.source_count);
  check_room(layout.prefix.size(), tokens.source_count);
  std::int64_t total = 0;
  for (std::size_t source = 0; source < tokens.source_count; ++source) {
    layout.begin[source] = total;
    total += tokens.row(source)[static_cast<std::size_t>(rank)];
    layout.prefix[source] = total;
  }
  return total;
}

std::int64_t align_groups(std::int64_t alignment, const ExpandedLayout& layout) {
  check_room(layout.begin.size(), layout.row_count.size());
  check_room(layout.aligned_row_count.size(), layout.row_count.size());
  const Aligner aligner(alignment);
  std::int64_t total = 0;
  for (std::size_t local = 0; local < layout.row_count.size(); ++local) {
    layout.begin[local] = total;
    layout.aligned_row_count[local] = aligner.align(layout.row_count[local]);
    total += layout.aligned_row_count[local];
  }
  return total;
}

// --- sender --------------------------------------------------------------------------------------

void plan_expanded(const ExpandedCounts& counts, int source, const ExpandedPlan& plan) {
  check_counts(counts);
  check_room(plan.needed.size(), counts.rows.source_count);
  sum_sources(counts.rows, source, plan.start, plan.row_count);
  const Aligner aligner(counts.alignment);
  std::size_t expert = 0;
  for (int rank = 0; rank < counts.split.rank_count(); ++rank) {
    const auto end = static_cast<std::size_t>(counts.split.first_expert(rank + 1));
    std::int64_t begin = 0;
    for (; expert < end; ++expert) {
      plan.start[expert] += begin;
      begin += aligner.align(plan.row_count[expert]);
    }
    plan.needed[static_cast<std::size_t>(rank)] = begin;
  }
}

void plan_plain(const CountMatrix& tokens, int source, const PlainPlan& plan) {
  sum_sources(tokens, source, plan.start, plan.needed);
}

Status check_row_capacity(std::span<const std::int64_t> needed, std::int64_t row_capacity) {
  const auto over = std::find_if(needed.begin(), needed.end(),
                                 [=](std::int64_t rows) { return rows > row_capacity; });
  if (over == needed.end()) {
    return {};
  }
  const auto rank = static_cast<int>(over - needed.begin());
  return {StatusKind::kCapacity, Scope::kOperation,
          fmt::format("rank {} would receive {} rows; row_capacity is {}; no row was moved", rank,
                      *over, row_capacity),
          rank};
}

// --- prefix sums ---------------------------------------------------------------------------------

void inclusive_prefix(std::span<const std::int64_t> counts, std::span<std::int64_t> prefix) {
  check_room(prefix.size(), counts.size());
  std::partial_sum(counts.begin(), counts.end(), prefix.begin());
}

void expanded_prefix(const ExpandedLayout& layout, std::span<std::int64_t> prefix) {
  check_room(prefix.size(), layout.begin.size());
  for (std::size_t local = 0; local < prefix.size(); ++local) {
    prefix[local] = layout.begin[local] + layout.row_count[local];
  }
}

}  // namespace crossdock::routing
