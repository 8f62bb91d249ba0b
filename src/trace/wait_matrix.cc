// SPDX-License-Identifier: Apache-2.0
#include "trace/wait_matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "base/clock.h"
#include "trace/check_traces.h"
#include "trace/format.h"
#include "trace/recorder.h"

namespace crossdock::trace {
namespace {

constexpr int kTableRanksMax = 16;
constexpr std::size_t kListedWaits = 20;

void add(PeerWait& total, const PeerWait& wait) {
  total.sum_ns = saturating_add(total.sum_ns, wait.sum_ns);
  total.max_ns = std::max(total.max_ns, wait.max_ns);
  total.count += wait.count;
}

enum class Measure { kSum, kMax };

std::string cell_text(const PeerWait& wait, Measure measure) {
  if (wait.count == 0) {
    return ".";
  }
  return format_duration(Duration(measure == Measure::kSum ? wait.sum_ns : wait.max_ns));
}

void render_table(std::string& text, const WaitMatrix& matrix, Measure measure) {
  auto out = std::back_inserter(text);
  fmt::format_to(out, "{}, row waited for column\n{:>9}", measure == Measure::kSum ? "sum" : "max",
                 "");
  for (int peer = 0; peer < matrix.rank_count; ++peer) {
    fmt::format_to(out, " {:>9}", fmt::format("rank {}", peer));
  }
  fmt::format_to(out, " {:>9}\n", "all");
  const auto render_row = [&](const std::string& name, auto wait_at, const PeerWait& all) {
    fmt::format_to(out, "{:>9}", name);
    for (int peer = 0; peer < matrix.rank_count; ++peer) {
      fmt::format_to(out, " {:>9}", cell_text(wait_at(peer), measure));
    }
    fmt::format_to(out, " {:>9}\n", cell_text(all, measure));
  };
  PeerWait all;
  for (int waiter = 0; waiter < matrix.rank_count; ++waiter) {
    const PeerWait waits = matrix.waits_of(waiter);
    add(all, waits);
    if (matrix.has_waiter[static_cast<std::size_t>(waiter)]) {
      render_row(
          fmt::format("rank {}", waiter), [&](int peer) { return matrix.at(waiter, peer); }, waits);
    } else {
      fmt::format_to(out, "{:>9} no trace\n", fmt::format("rank {}", waiter));
    }
  }
  render_row("all", [&](int peer) { return matrix.waited_for(peer); }, all);
}

void render_list(std::string& text, const WaitMatrix& matrix) {
  struct Entry {
    int waiter;
    int waited_for;
  };
  std::vector<Entry> entries;
  for (int waiter = 0; waiter < matrix.rank_count; ++waiter) {
    for (int peer = 0; peer < matrix.rank_count; ++peer) {
      if (matrix.at(waiter, peer).count > 0) {
        entries.push_back({waiter, peer});
      }
    }
  }
  std::sort(entries.begin(), entries.end(), [&](const Entry& a, const Entry& b) {
    // Longest first; ties in rank order, so that the text is the same every time.
    return std::tuple(matrix.at(b.waiter, b.waited_for).sum_ns, a.waiter, a.waited_for) <
           std::tuple(matrix.at(a.waiter, a.waited_for).sum_ns, b.waiter, b.waited_for);
  });
  const std::size_t shown = std::min(entries.size(), kListedWaits);
  auto out = std::back_inserter(text);
  fmt::format_to(out, "{} of {} waits between {} ranks, longest sum first\n", shown, entries.size(),
                 matrix.rank_count);
  for (const Entry& entry : std::span(entries).first(shown)) {
    const PeerWait& wait = matrix.at(entry.waiter, entry.waited_for);
    fmt::format_to(out, "rank {} waited for rank {}: sum {}, max {}, {} times\n", entry.waiter,
                   entry.waited_for, format_duration(Duration(wait.sum_ns)),
                   format_duration(Duration(wait.max_ns)), wait.count);
  }
  for (int waiter = 0; waiter < matrix.rank_count; ++waiter) {
    if (!matrix.has_waiter[static_cast<std::size_t>(waiter)]) {
      fmt::format_to(out, "rank {}: no trace\n", waiter);
    }
  }
}

}  // namespace

PeerWait WaitMatrix::waited_for(int rank) const {
  PeerWait total;
  for (int waiter = 0; waiter < rank_count; ++waiter) {
    add(total, at(waiter, rank));
  }
  return total;
}

PeerWait WaitMatrix::waits_of(int rank) const {
  PeerWait total;
  for (int peer = 0; peer < rank_count; ++peer) {
    add(total, at(rank, peer));
  }
  return total;
}

Result<WaitMatrix> make_wait_matrix(std::span<const RankTrace> traces) {
  if (Status status = check_traces(traces); !status.ok()) {
    return status;
  }
  WaitMatrix matrix;
  matrix.rank_count = traces.front().rank_count;
  const auto rank_count = static_cast<std::size_t>(matrix.rank_count);
  matrix.cells.resize(rank_count * rank_count);
  matrix.has_waiter.resize(rank_count);
  for (const RankTrace& trace : traces) {
    const auto waiter = static_cast<std::size_t>(trace.rank);
    matrix.has_waiter[waiter] = true;
    for (std::size_t peer = 0; peer < rank_count; ++peer) {
      matrix.cells[waiter * rank_count + peer] = trace.waited_for(static_cast<int>(peer));
    }
  }
  return matrix;
}

std::string render(const WaitMatrix& matrix) {
  std::string text;
  if (matrix.rank_count <= kTableRanksMax) {
    render_table(text, matrix, Measure::kSum);
    text += '\n';
    render_table(text, matrix, Measure::kMax);
  } else {
    render_list(text, matrix);
  }
  return text;
}

}  // namespace crossdock::trace
