// SPDX-License-Identifier: Apache-2.0
#include "cli/bench_rank.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/settings.h"
#include "base/status_macros.h"
#include "cli/bench/arena.h"
#include "cli/bench/limits.h"
#include "cli/bench/placement.h"
#include "cli/bench/rounds.h"
#include "cli/bench_contenders.h"
#include "cli/bench_options.h"
#include "cli/bench_result.h"
#include "cli/console.h"
#include "cli/page_buffer.h"
#include "crossdock/communicator.h"
#include "crossdock/elastic_buffer.h"
#include "crossdock/status.h"

namespace crossdock::cli {
namespace {

/// A round of its own tells which mode and names `auto` came to.
Result<BenchChoice> learn_choice(const BenchOptions& options, const bench::Ground& ground,
                                 ElasticBuffer& buffer) {
  CROSSDOCK_ASSIGN_OR_RETURN(const Dispatched dispatched, dispatch_once(options, ground, buffer));
  return BenchChoice{.mode = std::string(to_string(dispatched.handle.mode())),
                     .protocol = std::string(dispatched.handle.protocol()),
                     .schedule = std::string(dispatched.handle.schedule()),
                     .reserved_bytes = buffer.memory().reserved_bytes,
                     .row_capacity = buffer.memory().row_capacity};
}

/// Slow ways of doing what a limit stands for cost time and tell nothing.
std::vector<int> marks_of(BenchOperation operation) {
  std::vector<int> marks;
  for (const std::string& name : contender_names(operation)) {
    marks.push_back(name.starts_with("copy:") ? 0 : name.starts_with("read:") ? 1 : bench::kKept);
  }
  return marks;
}

Status measure(const BenchOptions& options, Communicator& communicator, const bench::Arena& arena) {
  const int rank = communicator.rank();
  const bench::Placement placement(options.shape, options.layout);
  const std::size_t row_bytes = options.shape.row_bytes();
  PageBuffer tokens(static_cast<std::size_t>(options.shape.tokens) * row_bytes);
  PageBuffer scratch(placement.origins(rank).size() * row_bytes);
  const bench::Ground ground{.shape = options.shape,
                             .placement = placement,
                             .arena = arena,
                             .rank = rank,
                             .tokens = tokens,
                             .scratch = scratch};
  CROSSDOCK_ASSIGN_OR_RETURN(ElasticBuffer buffer,
                             ElasticBuffer::open(communicator, buffer_options(options)));
  arena.touch_own_window(rank);
  CROSSDOCK_RETURN_IF_ERROR(communicator.barrier());
  arena.touch_all_windows();
  CROSSDOCK_ASSIGN_OR_RETURN(const BenchChoice choice, learn_choice(options, ground, buffer));
  if (rank == 0) {
    arena.write_note(note_text(choice));
  }
  const Contenders contenders = make_contenders(options, ground, buffer);
  bench::RoundPlan plan{.counts = options.rounds,
                        .marks = marks_of(options.operation),
                        .timeout = settings().timeout,
                        .on_round = {}};
  Progress progress("bench");
  if (rank == 0) {
    plan.on_round = [&](int round) {
      progress.tell(
          fmt::format("round {} of {}", round + 1, options.rounds.warmup + options.rounds.timed));
    };
  }
  CROSSDOCK_RETURN_IF_ERROR(bench::run_rounds(arena, rank, contenders, plan));
  CROSSDOCK_RETURN_IF_ERROR(bench::run_train(arena, rank, *contenders.front(), plan));
  return communicator.barrier();  // Nobody closes while a peer's last round is open.
}

}  // namespace

bench::ArenaShape arena_shape(const BenchOptions& options) {
  const bench::Placement placement(options.shape, options.layout);
  return {
      .ranks = options.shape.ranks,
      .contenders = static_cast<int>(contender_names(options.operation).size()),
      .rounds = bench::arena_rounds(options.rounds),
      .window_bytes = std::max<std::uint64_t>(
          static_cast<std::uint64_t>(placement.row_count_max()) * options.shape.row_bytes(), 1)};
}

Status run_bench_rank(const BenchOptions& options, Communicator& communicator,
                      const bench::Arena& arena) {
  const Status status = measure(options, communicator, arena);
  if (!status.ok()) {
    arena.fail();
    communicator.abort(status.message());
  }
  return status;
}

}  // namespace crossdock::cli
