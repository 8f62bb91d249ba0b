// SPDX-License-Identifier: Apache-2.0
#include "cli/bench_measure.h"

#include <fmt/format.h>

#include <atomic>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "cli/bench/arena.h"
#include "cli/bench/placement.h"
#include "cli/bench/rounds.h"
#include "cli/bench/routing.h"
#include "cli/bench/statistics.h"
#include "cli/bench_contenders.h"
#include "cli/bench_options.h"
#include "cli/bench_peer.h"
#include "cli/bench_rank.h"
#include "cli/bench_result.h"
#include "cli/console.h"
#include "cli/launch.h"
#include "cli/shared_arena.h"
#include "crossdock/status.h"

namespace crossdock::cli {
namespace {

/// Starts the ranks for one repetition and reads their times. An exit code when they failed.
Result<int> launch_repetition(BenchResult& result) {
  const BenchOptions& options = result.options;
  CROSSDOCK_ASSIGN_OR_RETURN(const bench::Arena arena, make_checked_arena(arena_shape(options)));
  CROSSDOCK_ASSIGN_OR_RETURN(const std::string own, own_program());
  LaunchOptions launch_options;
  launch_options.argv = {own};
  const std::vector<std::string> arguments = rank_arguments(options);
  launch_options.argv.insert(launch_options.argv.end(), arguments.begin(), arguments.end());
  launch_options.argv.insert(launch_options.argv.end(), {"--arena", arena.path()});
  launch_options.rank_count = options.shape.ranks;
  launch_options.output = RankOutput::kLines;
  CROSSDOCK_ASSIGN_OR_RETURN(const int code, launch(launch_options));
  if (code == 0) {
    add_repetition(arena, result);
  }
  return code;
}

/// A peer's run of this repetition: all algorithms the first time, then the best one.
Result<PeerRun> run_best(const BenchOptions& options, const PeerPlan& plan,
                         std::vector<int>& algorithms) {
  PeerRun best;
  for (const int algorithm : algorithms) {
    CROSSDOCK_ASSIGN_OR_RETURN(PeerRun run, run_peer(options, plan, algorithm));
    if (best.times_us.empty() || bench::median(run.times_us) < bench::median(best.times_us)) {
      best = std::move(run);
    }
  }
  algorithms = {best.algorithm};
  return best;
}

}  // namespace

BenchResult empty_result(const BenchOptions& options) {
  BenchResult result;
  result.options = options;
  result.names = contender_names(options.operation);
  result.rows_moved = bench::Placement(options.shape, options.layout).row_count_total();
  result.skew = bench::routing_skew(options.shape);
  return result;
}

void add_repetition(const bench::Arena& arena, BenchResult& result) {
  Repetition repetition;
  for (int contender = 0; contender < arena.shape().contenders; ++contender) {
    repetition.times_us.push_back(bench::round_times_us(arena, contender, result.options.rounds));
  }
  repetition.train_us = bench::train_times_us(arena, result.options.rounds);
  result.rows_checked += arena.header().rows_checked.load(std::memory_order_acquire);
  result.rows_wrong += arena.header().rows_wrong.load(std::memory_order_acquire);
  result.choice = choice_from_note(arena.note());
  result.repetitions.push_back(std::move(repetition));
}

Result<int> measure_all(BenchResult& result, Progress& progress, const std::string& what) {
  const BenchOptions& options = result.options;
  CROSSDOCK_ASSIGN_OR_RETURN(result.peers, plan_peers(options));
  std::map<PeerKind, std::vector<int>> algorithms;
  for (const PeerPlan& plan : result.peers) {
    algorithms[plan.kind] = peer_algorithms(plan.kind);
  }
  for (int repetition = 0; repetition < options.repetitions; ++repetition) {
    const std::string step =
        fmt::format("{}repetition {} of {}", what, repetition + 1, options.repetitions);
    progress.tell(step);
    CROSSDOCK_ASSIGN_OR_RETURN(const int code, launch_repetition(result));
    if (code != 0) {
      return code;
    }
    for (const PeerPlan& plan : result.peers) {
      if (plan.absent_because.empty()) {
        progress.tell(fmt::format("{}: {}", step, peer_title(plan.kind)));
        CROSSDOCK_ASSIGN_OR_RETURN(PeerRun run, run_best(options, plan, algorithms[plan.kind]));
        result.repetitions.back().peers.push_back(std::move(run));
      }
    }
  }
  return 0;
}

}  // namespace crossdock::cli
