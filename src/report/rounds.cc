// SPDX-License-Identifier: Apache-2.0
#include "report/rounds.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "trace/recorder.h"
#include "trace/stages.h"

namespace crossdock::report {
namespace {

void extend(std::optional<OperationTime>& time, const trace::SpanRecord& span, int rank) {
  if (!time) {
    time = OperationTime{span.begin_ns, span.end_ns, rank, rank};
    return;
  }
  if (span.begin_ns < time->begin_ns) {
    time->begin_ns = span.begin_ns;
    time->first_rank = rank;
  }
  if (span.end_ns > time->end_ns) {
    time->end_ns = span.end_ns;
    time->last_rank = rank;
  }
}

void label_rounds(std::vector<RoundTimes>& rounds) {
  if (rounds.size() < 3) {
    return;
  }
  std::vector<RoundTimes*> by_time;
  for (RoundTimes& round : rounds) {
    by_time.push_back(&round);
  }
  std::sort(by_time.begin(), by_time.end(), [](const RoundTimes* a, const RoundTimes* b) {
    return std::pair(a->operations_ns(), a->round) < std::pair(b->operations_ns(), b->round);
  });
  by_time.front()->label = "fastest";
  by_time[by_time.size() / 2]->label = "median";
  by_time.back()->label = "slowest";
}

}  // namespace

std::int64_t RoundTimes::operations_ns() const {
  std::int64_t total_ns = 0;
  for (const auto& time : operations) {
    total_ns += time ? time->end_ns - time->begin_ns : 0;
  }
  return total_ns;
}

std::vector<RoundTimes> measure_rounds(std::span<const trace::RankTrace> traces) {
  struct Found {
    RoundTimes times;
    std::set<int> ranks;
  };
  std::map<std::uint64_t, Found> found;
  for (const trace::RankTrace& trace : traces) {
    for (const trace::SpanRecord& span : trace.spans) {
      const auto [place, is_new] = found.try_emplace(span.round);
      RoundTimes& times = place->second.times;
      if (is_new) {
        times.round = span.round;
        times.begin_ns = span.begin_ns;
        times.end_ns = span.end_ns;
      }
      times.begin_ns = std::min(times.begin_ns, span.begin_ns);
      times.end_ns = std::max(times.end_ns, span.end_ns);
      place->second.ranks.insert(trace.rank);
      if (span.stage != trace::kCompute.id) {
        extend(times.operations[static_cast<std::size_t>(span.operation)], span, trace.rank);
      }
    }
  }
  std::vector<RoundTimes> rounds;
  for (auto& [round, entry] : found) {
    if (entry.ranks.size() == traces.size() && entry.times.operations_ns() > 0) {
      rounds.push_back(std::move(entry.times));
    }
  }
  label_rounds(rounds);
  return rounds;
}

std::vector<RoundTimes> choose_rounds(std::vector<RoundTimes> rounds, std::size_t count_max) {
  if (rounds.size() <= count_max) {
    return rounds;
  }
  std::sort(rounds.begin(), rounds.end(), [](const RoundTimes& a, const RoundTimes& b) {
    return std::pair(a.label.empty(), b.round) < std::pair(b.label.empty(), a.round);
  });
  rounds.resize(count_max);
  std::sort(rounds.begin(), rounds.end(),
            [](const RoundTimes& a, const RoundTimes& b) { return a.round < b.round; });
  return rounds;
}

}  // namespace crossdock::report
