// SPDX-License-Identifier: Apache-2.0
#include "cli/bench_command.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/parse.h"
#include "base/settings.h"
#include "base/status_macros.h"
#include "cli/bench/arena.h"
#include "cli/bench/rounds.h"
#include "cli/bench/routing.h"
#include "cli/bench_compare.h"
#include "cli/bench_contenders.h"
#include "cli/bench_measure.h"
#include "cli/bench_options.h"
#include "cli/bench_overlap.h"
#include "cli/bench_rank.h"
#include "cli/bench_result.h"
#include "cli/console.h"
#include "cli/environment.h"
#include "cli/exit_code.h"
#include "cli/host.h"
#include "cli/shared_arena.h"
#include "crossdock/communicator.h"
#include "crossdock/elastic_buffer.h"
#include "crossdock/status.h"
#include "crossdock/types.h"

namespace crossdock::cli {
namespace {

constexpr std::int64_t kBenchRanksMax = 64;

/// Options as the line gives them.
struct BenchLine {
  std::int64_t ranks = 8;
  bool ranks_given = false;
  std::int64_t tokens = 1024;
  std::int64_t hidden = 2048;
  std::int64_t experts = 64;
  std::int64_t topk = 8;
  std::int64_t iterations = 0;
  std::int64_t warmup = 3;
  std::int64_t repetitions = 3;
  std::int64_t seed = 1;
  std::string dtype = "bf16";
  std::string layout = "expanded";
  std::string mode = "auto";
  std::string protocol = "auto";
  std::string schedule = "auto";
  std::string routing = "uniform";
  std::string peer = "auto";
  std::string json;
  std::string arena;
};

Result<BenchOptions> check(BenchOperation operation, const BenchLine& line) {
  BenchOptions options;
  options.operation = operation;
  options.shape = {.ranks = static_cast<int>(line.ranks),
                   .tokens = line.tokens,
                   .hidden = line.hidden,
                   .experts = static_cast<int>(line.experts),
                   .topk = static_cast<int>(line.topk),
                   .element = line.dtype == "bf16"   ? ElementType::kBf16
                              : line.dtype == "fp32" ? ElementType::kFp32
                                                     : ElementType::kBytes,
                   .seed = static_cast<std::uint64_t>(line.seed),
                   .routing = {}};
  CROSSDOCK_ASSIGN_OR_RETURN(options.shape.routing, bench::parse_routing(line.routing));
  options.layout = line.layout == "plain" ? RowLayout::kPlain : RowLayout::kExpanded;
  options.mode = line.mode == "auto"         ? Mode::kAuto
                 : line.mode == "throughput" ? Mode::kThroughput
                                             : Mode::kLatency;
  options.protocol = line.protocol;
  options.schedule = line.schedule;
  options.rounds = {.warmup = static_cast<int>(line.warmup),
                    .timed = static_cast<int>(line.iterations)};
  if (line.iterations == 0) {
    options.rounds.timed = automatic_iterations(options.shape);
  }
  options.repetitions = static_cast<int>(line.repetitions);
  options.peer = line.peer == "auto"  ? PeerChoice::kAuto
                 : line.peer == "mpi" ? PeerChoice::kMpi
                 : line.peer == "all" ? PeerChoice::kAll
                                      : PeerChoice::kNone;
  options.json = line.json;
  options.arena = line.arena;
  if (operation != BenchOperation::kDispatch && options.shape.element == ElementType::kBytes) {
    return Status(StatusKind::kInvalidArgument, Scope::kProcess,
                  "--dtype bytes cannot be summed; allowed with combine: bf16, fp32");
  }
  // Everything else that the library would refuse, before anything is started.
  CROSSDOCK_RETURN_IF_ERROR(plan_memory(buffer_options(options), options.shape.ranks).status());
  CROSSDOCK_RETURN_IF_ERROR(bench::check_routing(options.shape));
  return options;
}

Status publish(const BenchResult& result) {
  if (result.options.json != "-") {
    fmt::print("{}", bench_table(result));
  }
  if (!result.options.json.empty()) {
    return write_json(result.options.json, bench_json(result));
  }
  return {};
}

/// The whole benchmark from one process that starts the ranks itself.
Result<int> run_alone(const BenchOptions& options) {
  BenchResult result = empty_result(options);
  Progress progress("bench");
  CROSSDOCK_ASSIGN_OR_RETURN(const int code, measure_all(result, progress, ""));
  if (code != 0) {
    return code;
  }
  CROSSDOCK_RETURN_IF_ERROR(publish(result));
  return result.verified() ? kExitOk : kExitFailedCheck;
}

/// The whole benchmark from ranks that somebody else started; rank 0 reports. No peer: it would
/// need the cores that these ranks hold.
Result<int> run_as_job(const BenchOptions& options, Communicator& communicator) {
  BenchResult result = empty_result(options);
  for (int repetition = 0; repetition < options.repetitions; ++repetition) {
    CROSSDOCK_ASSIGN_OR_RETURN(const bench::Arena arena,
                               open_shared_arena(communicator, arena_shape(options)));
    CROSSDOCK_RETURN_IF_ERROR(run_bench_rank(options, communicator, arena));
    add_repetition(arena, result);
  }
  if (communicator.rank() != 0) {
    return kExitOk;
  }
  CROSSDOCK_RETURN_IF_ERROR(publish(result));
  return result.verified() ? kExitOk : kExitFailedCheck;
}

/// One of the ranks: of a repetition that this program started, or of somebody's job.
Result<int> run_as_rank(BenchOperation operation, BenchLine line) {
  CROSSDOCK_ASSIGN_OR_RETURN(Communicator communicator, Communicator::open());
  if (line.ranks_given && line.ranks != communicator.size()) {
    return Status(
        StatusKind::kInvalidArgument, Scope::kProcess,
        fmt::format("--ranks {}, but {} ranks were started; allowed: as many, or no --ranks",
                    line.ranks, communicator.size()));
  }
  line.ranks = communicator.size();
  CROSSDOCK_ASSIGN_OR_RETURN(const BenchOptions options, check(operation, line));
  if (options.arena.empty()) {
    return run_as_job(options, communicator);
  }
  CROSSDOCK_ASSIGN_OR_RETURN(const bench::Arena arena,
                             bench::Arena::open(options.arena, arena_shape(options)));
  CROSSDOCK_RETURN_IF_ERROR(run_bench_rank(options, communicator, arena));
  return kExitOk;
}

Result<int> run(BenchOperation operation, const BenchLine& line) {
  CROSSDOCK_RETURN_IF_ERROR(settings_status());
  if (is_rank_of_a_job()) {
    return run_as_rank(operation, line);
  }
  CROSSDOCK_ASSIGN_OR_RETURN(const BenchOptions options, check(operation, line));
  CROSSDOCK_ASSIGN_OR_RETURN(const MemoryPlan plan,
                             plan_memory(buffer_options(options), options.shape.ranks));
  CROSSDOCK_RETURN_IF_ERROR(check_host_memory(plan, options.shape.ranks, 0));
  return run_alone(options);
}

/// All that a single operation and a comparison have in common.
void add_options(CLI::App& app, BenchLine& line) {
  add_integer(app, {"-n,--ranks", "ranks, all on this host", {1, kBenchRanksMax}}, line.ranks);
  add_integer(app, {"--tokens", "tokens of each rank", {1, 1 << 24}}, line.tokens);
  add_integer(app, {"--hidden", "elements of a token", {1, 1 << 24}}, line.hidden);
  add_integer(app, {"--experts", "experts of all ranks together", {1, 65536}}, line.experts);
  add_integer(app, {"--topk", "experts of each token", {1, 128}}, line.topk);
  add_choice(app, {"--dtype", "element type; bytes: dispatch only", {"bf16", "fp32", "bytes"}},
             line.dtype);
  add_choice(app, {"--mode", "auto: by the number of tokens", {"auto", "throughput", "latency"}},
             line.mode);
  add_choice(app,
             {"--protocol", "completion protocol", {"auto", "tail_fence", "counted", "barrier"}},
             line.protocol);
  add_choice(app, {"--schedule", "order of the targets", {"auto", "direct", "rotation"}},
             line.schedule);
  add_integer(app, {"--iterations", "timed rounds a repetition; 0: by size", {0, 100000}},
              line.iterations);
  add_integer(app, {"--warmup", "rounds before them", {0, 1000}}, line.warmup);
  add_integer(app, {"--repetitions", "times that ranks and peer are started anew", {1, 100}},
              line.repetitions);
  add_integer(app, {"--seed", "of routing and rows", {0, 1LL << 62}}, line.seed);
  add_text(app, "--routing", "who sends to whom: " + std::string(bench::kRoutingsAllowed),
           line.routing);
  add_choice(app, {"--peer", "what to compare with", {"auto", "mpi", "all", "none"}}, line.peer);
  add_text(app, "--json", "write the result there as JSON; -: stdout", line.json);
}

struct CompareLine {
  BenchLine bench;
  std::string sweep_tokens = "1,8,128,1024";
  std::string sweep_ranks = "2,8,16";
  std::string report = "crossdock-bench.html";
};

Result<std::vector<std::int64_t>> sizes_of(const std::string& name, const std::string& text,
                                           Range<std::int64_t> range) {
  if (text == "none") {
    return std::vector<std::int64_t>{};
  }
  auto sizes = parse_int64_list(text, range);
  if (!sizes.ok()) {
    return Status(StatusKind::kInvalidArgument, Scope::kProcess,
                  fmt::format("{}: {}; or none", name, sizes.status().message()));
  }
  return sizes;
}

Result<int> run_compare_line(const CompareLine& line, const std::string& command) {
  CROSSDOCK_RETURN_IF_ERROR(settings_status());
  if (is_rank_of_a_job()) {
    return Status(StatusKind::kInvalidArgument, Scope::kProcess,
                  "compare starts its ranks itself; allowed: outside of crossdock launch");
  }
  CompareOptions options;
  CROSSDOCK_ASSIGN_OR_RETURN(options.base, check(BenchOperation::kCombine, line.bench));
  CROSSDOCK_ASSIGN_OR_RETURN(options.sweep_tokens,
                             sizes_of("--sweep-tokens", line.sweep_tokens, {1, 1 << 24}));
  CROSSDOCK_ASSIGN_OR_RETURN(options.sweep_ranks,
                             sizes_of("--sweep-ranks", line.sweep_ranks, {1, kBenchRanksMax}));
  options.report = line.report;
  options.command = command;
  return run_compare(options);
}

void add_compare(CLI::App& bench, CommandContext& context) {
  CLI::App* const app = bench.add_subcommand(
      "compare", "Dispatch and combine, both layouts, against the limit and all peers; a report");
  app->footer(
      "Ours, the limit and the peers take turns in every repetition.\n\n"
      "Example:\n  crossdock bench compare --ranks 8 --tokens 1024 --hidden 2048 --experts 64 "
      "--topk 8 --dtype bf16\n");
  const auto line = std::make_shared<CompareLine>();
  line->bench.repetitions = 5;
  line->bench.peer = "all";
  add_options(*app, line->bench);
  add_text(*app, "--sweep-tokens", "sizes of the plots, or none", line->sweep_tokens);
  add_text(*app, "--sweep-ranks", "one plot for each, or none", line->sweep_ranks);
  add_text(*app, "--report", "path of the page", line->report);
  app->callback([&context, line] {
    context.chosen = [&context, line] {
      return finish(
          "bench",
          run_compare_line(*line, fmt::format("crossdock {}", fmt::join(context.arguments, " "))));
    };
  });
}

}  // namespace

void add_bench_command(CLI::App& program, CommandContext& context) {
  CLI::App* const bench = program.add_subcommand(
      "bench", "Measure dispatch and combine against the memory limit and MPI_Alltoallv");
  bench->require_subcommand(1);
  bench->footer(
      "A round runs from the first rank's start to the last rank's end; every row is verified.\n\n"
      "Example:\n  crossdock bench dispatch --ranks 8 --tokens 1024 --hidden 2048 --experts 64 "
      "--topk 8\n");
  const std::vector<std::pair<BenchOperation, std::string>> operations = {
      {BenchOperation::kDispatch, "Tokens to their experts' ranks; limit: copying those rows"},
      {BenchOperation::kCombine, "Expert rows back and summed; limit: reading those rows"},
      {BenchOperation::kRoundtrip, "Dispatch and combine; limit: both limits together"}};
  for (const auto& [operation, help] : operations) {
    const std::string name(to_string(operation));
    CLI::App* const app = bench->add_subcommand(name, help);
    app->footer(
        fmt::format("Example:\n  crossdock bench {} --ranks 8 --tokens 1024 --json -\n", name));
    const auto line = std::make_shared<BenchLine>();
    add_options(*app, *line);
    add_choice(*app, {"--layout", "rows per route or per token and rank", {"expanded", "plain"}},
               line->layout);
    add_text(*app, "--arena", "", line->arena)->group("");
    app->callback([&context, line, app, op = operation] {
      line->ranks_given = app->count("--ranks") > 0;
      context.chosen = [line, op] { return finish("bench", run(op, *line)); };
    });
  }
  add_compare(*bench, context);
  add_overlap_command(*bench, context);
}

}  // namespace crossdock::cli
