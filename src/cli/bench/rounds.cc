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

constexpr std::uint64_t kTrainRound = 1ULL << 32;  // Its rows are like no other round's.

/// Input, `timed` between two meetings of the ranks, comparison.
template <typename Timed>
Status run_round(const Arena& arena, Contender& contender, std::uint64_t round, Duration timeout,
                 const Timed& timed) {
  const Clock& clock = monotonic_clock();
  CROSSDOCK_RETURN_IF_ERROR(contender.prepare(round));
  CROSSDOCK_RETURN_IF_ERROR(arena.barrier(Deadline::after(clock, timeout)));
  CROSSDOCK_RETURN_IF_ERROR(timed());
  // Nobody prepares the next round while a peer still reads this one's rows.
  CROSSDOCK_RETURN_IF_ERROR(arena.barrier(Deadline::after(clock, timeout)));
  CROSSDOCK_ASSIGN_OR_RETURN(const Verdict verdict, contender.verify(round));
  arena.header().rows_checked.fetch_add(verdict.checked, std::memory_order_relaxed);
  arena.header().rows_wrong.fetch_add(verdict.wrong, std::memory_order_relaxed);
  return {};
}

Status run_timed(Contender& contender, Sample& sample) {
  const Clock& clock = monotonic_clock();
  sample.start_ns = clock.now().ns;
  CROSSDOCK_RETURN_IF_ERROR(contender.run());
  sample.end_ns = clock.now().ns;
  return {};
}

std::int64_t last_end_ns(const Arena& arena, int contender, int round) {
  std::int64_t last = 0;
  for (int rank = 0; rank < arena.shape().ranks; ++rank) {
    last = std::max(last, arena.sample(contender, round, rank).end_ns);
  }
  return last;
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
        CROSSDOCK_RETURN_IF_ERROR(
            run_round(arena, *contenders[index], ++round_number, plan.timeout, [&] {
              return run_timed(*contenders[index],
                               arena.sample(static_cast<int>(index), round, rank));
            }));
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

Status run_train(const Arena& arena, int rank, Contender& contender, const RoundPlan& plan) {
  const int first = plan.counts.warmup + plan.counts.timed;
  const Status status = run_round(arena, contender, kTrainRound, plan.timeout, [&] {
    for (int round = 0; round < plan.counts.timed; ++round) {
      if (round > 0) {
        contender.next();
      }
      CROSSDOCK_RETURN_IF_ERROR(run_timed(contender, arena.sample(0, first + round, rank)));
    }
    return Status();
  });
  if (!status.ok()) {
    arena.fail();
  }
  return status;
}

std::vector<double> round_times_us(const Arena& arena, int contender, const RoundCounts& counts) {
  std::vector<double> warm;
  std::vector<double> timed;
  for (int round = 0; round < counts.warmup + counts.timed; ++round) {
    if (arena.sample(contender, round, 0).start_ns != 0) {
      (round < counts.warmup ? warm : timed).push_back(round_time_us(arena, contender, round));
    }
  }
  return timed.empty() ? warm : timed;
}

std::vector<double> train_times_us(const Arena& arena, const RoundCounts& counts) {
  std::vector<double> times;
  const int first = counts.warmup + counts.timed;
  for (int round = first + 1; round < first + counts.timed; ++round) {
    const std::int64_t ns = last_end_ns(arena, 0, round) - last_end_ns(arena, 0, round - 1);
    times.push_back(static_cast<double>(ns) / 1e3);
  }
  return times.empty() ? std::vector<double>{round_time_us(arena, 0, first)} : times;
}

}  // namespace crossdock::bench
