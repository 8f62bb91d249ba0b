// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/rounds.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
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

Status run_all(const Arena& arena, int rank, std::span<const std::unique_ptr<Contender>> contenders,
               RoundCounts counts, Duration timeout) {
  std::uint64_t round = 0;
  Sample unrecorded;
  for (int iteration = 0; iteration < counts.warmup + counts.timed; ++iteration) {
    for (std::size_t turn = 0; turn < contenders.size(); ++turn) {
      const std::size_t index = (turn + static_cast<std::size_t>(iteration)) % contenders.size();
      const int timed = iteration - counts.warmup;
      Sample& sample = timed < 0 ? unrecorded : arena.sample(static_cast<int>(index), timed, rank);
      CROSSDOCK_RETURN_IF_ERROR(run_one(arena, *contenders[index], ++round, timeout, sample));
    }
  }
  return arena.barrier(Deadline::after(monotonic_clock(), timeout));
}

}  // namespace

Status run_rounds(const Arena& arena, int rank,
                  std::span<const std::unique_ptr<Contender>> contenders, RoundCounts counts,
                  Duration timeout) {
  const Status status = run_all(arena, rank, contenders, counts, timeout);
  if (!status.ok()) {
    arena.fail();
  }
  return status;
}

std::vector<double> round_times_us(const Arena& arena, int contender) {
  std::vector<double> times;
  for (int round = 0; round < arena.shape().rounds; ++round) {
    Sample whole = arena.sample(contender, round, 0);
    for (int rank = 1; rank < arena.shape().ranks; ++rank) {
      const Sample& sample = arena.sample(contender, round, rank);
      whole.start_ns = std::min(whole.start_ns, sample.start_ns);
      whole.end_ns = std::max(whole.end_ns, sample.end_ns);
    }
    times.push_back(static_cast<double>(whole.end_ns - whole.start_ns) / 1e3);
  }
  return times;
}

}  // namespace crossdock::bench
