// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/rounds.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "base/clock.h"
#include "base/status_macros.h"
#include "cli/bench/arena.h"
#include "cli/bench/contender.h"
#include "crossdock/status.h"

namespace crossdock::bench {
namespace {

Status run_one(const Arena& arena, Contender& contender, std::uint64_t round, Duration timeout,
               Sample& sample) {
  const Clock& clock = monotonic_clock();
  CROSSDOCK_RETURN_IF_ERROR(contender.prepare(round));
  CROSSDOCK_RETURN_IF_ERROR(arena.barrier(Deadline::after(clock, timeout)));
  sample.start_ns = clock.now().ns;
  CROSSDOCK_RETURN_IF_ERROR(contender.run());
  sample.end_ns = clock.now().ns;
  // Nobody prepares the next round while a peer still reads this one's rows.
  CROSSDOCK_RETURN_IF_ERROR(arena.barrier(Deadline::after(clock, timeout)));
  CROSSDOCK_ASSIGN_OR_RETURN(const Verdict verdict, contender.verify(round));
  arena.header().rows_checked.fetch_add(verdict.checked, std::memory_order_relaxed);
  arena.header().rows_wrong.fetch_add(verdict.wrong, std::memory_order_relaxed);
  return {};
}

double round_time_us(const Arena& arena, int contender, int round) {
  Sample whole = arena.sample(contender, round, 0);
  for (int rank = 1; rank < arena.shape().ranks; ++rank) {
    const Sample& sample = arena.sample(contender, round, rank);
    whole.start_ns = std::min(whole.start_ns, sample.start_ns);
    whole.end_ns = std::max(whole.end_ns, sample.end_ns);
  }
  return static_cast<double>(whole.end_ns - whole.start_ns) / 1e3;
}

/// The fastest warm-up round, without the first, which pays for the first touch of everything.
double warm_time_us(const Arena& arena, int contender, int warmup) {
  double fastest = std::numeric_limits<double>::infinity();
  for (int round = warmup > 1 ? 1 : 0; round < warmup; ++round) {
    fastest = std::min(fastest, round_time_us(arena, contender, round));
  }
  return fastest;
}

/// Equal on all ranks: it follows from shared times alone.
std::vector<bool> who_runs_on(const Arena& arena, const RoundPlan& plan) {
  const auto contender_count = static_cast<std::size_t>(arena.shape().contenders);
  std::vector<bool> runs_on(contender_count, true);
  if (plan.marks.empty() || plan.counts.warmup == 0) {
    return runs_on;
  }
  std::vector<double> times;
  times.reserve(contender_count);
  for (int contender = 0; contender < arena.shape().contenders; ++contender) {
    times.push_back(warm_time_us(arena, contender, plan.counts.warmup));
  }
  for (std::size_t contender = 0; contender < contender_count; ++contender) {
    for (std::size_t other = 0; other < contender_count; ++other) {
      const bool same =
          plan.marks[contender] != kKept && plan.marks[other] == plan.marks[contender];
      if (same && times[contender] > kGiveUp * times[other]) {
        runs_on[contender] = false;
      }
    }
  }
  return runs_on;
}

Status run_all(const Arena& arena, int rank, std::span<const std::unique_ptr<Contender>> contenders,
               const RoundPlan& plan) {
  std::uint64_t round_number = 0;
  std::vector<bool> runs_on(contenders.size(), true);
  for (int round = 0; round < plan.counts.warmup + plan.counts.timed; ++round) {
    if (plan.on_round) {
      plan.on_round(round);
    }
    if (round == plan.counts.warmup) {
      CROSSDOCK_RETURN_IF_ERROR(arena.barrier(Deadline::after(monotonic_clock(), plan.timeout)));
      runs_on = who_runs_on(arena, plan);
    }
    for (std::size_t turn = 0; turn < contenders.size(); ++turn) {
      const std::size_t index = (turn + static_cast<std::size_t>(round)) % contenders.size();
      if (runs_on[index]) {
        CROSSDOCK_RETURN_IF_ERROR(run_one(arena, *contenders[index], ++round_number, plan.timeout,
                                          arena.sample(static_cast<int>(index), round, rank)));
      }
    }
  }
  return arena.barrier(Deadline::after(monotonic_clock(), plan.timeout));
}

}  // namespace

Status run_rounds(const Arena& arena, int rank,
                  std::span<const std::unique_ptr<Contender>> contenders, const RoundPlan& plan) {
  const Status status = run_all(arena, rank, contenders, plan);
  if (!status.ok()) {
    arena.fail();
  }
  return status;
}

std::vector<double> round_times_us(const Arena& arena, int contender, int warmup) {
  std::vector<double> warm;
  std::vector<double> timed;
  for (int round = 0; round < arena.shape().rounds; ++round) {
    if (arena.sample(contender, round, 0).start_ns != 0) {
      (round < warmup ? warm : timed).push_back(round_time_us(arena, contender, round));
    }
  }
  return timed.empty() ? warm : timed;
}

}  // namespace crossdock::bench
