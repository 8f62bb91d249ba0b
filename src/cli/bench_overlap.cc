// SPDX-License-Identifier: Apache-2.0
#include "cli/bench_overlap.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/settings.h"
#include "base/status_macros.h"
#include "cli/bench/statistics.h"
#include "cli/console.h"
#include "cli/environment.h"
#include "cli/exit_code.h"
#include "cli/host.h"
#include "cli/overlap.h"
#include "crossdock/elastic_buffer.h"
#include "crossdock/version.h"

namespace crossdock::cli {
namespace {

struct OverlapLine {
  std::int64_t ranks = 1;
  std::int64_t tokens = 1024;
  std::int64_t hidden = 2048;
  std::int64_t experts = 8;
  std::int64_t topk = 8;
  std::int64_t iterations = 15;
  std::int64_t depth = 1024;
  std::string way = "queued";
  std::string progress = "thread";
  std::string json;
};

Result<OverlapOptions> check(const OverlapLine& line) {
  OverlapOptions options;
  options.shape = {.ranks = static_cast<int>(line.ranks),
                   .tokens = line.tokens,
                   .hidden = line.hidden,
                   .experts = static_cast<int>(line.experts),
                   .topk = static_cast<int>(line.topk)};
  options.way = line.way == "queued" ? Way::kQueued : Way::kDirect;
  options.progress =
      line.progress == "thread" ? crossdock::Progress::kThread : crossdock::Progress::kCaller;
  options.queue_depth = line.depth;
  options.iterations = static_cast<int>(line.iterations);
  BufferOptions buffer;
  buffer.max_tokens_per_rank = line.tokens;
  buffer.hidden = line.hidden;
  buffer.topk = options.shape.topk;
  buffer.experts = options.shape.experts;
  CROSSDOCK_ASSIGN_OR_RETURN(const MemoryPlan plan, plan_memory(buffer, options.shape.ranks));
  CROSSDOCK_RETURN_IF_ERROR(check_host_memory(plan, options.shape.ranks, 0));
  return options;
}

double rounded(double value) { return std::round(value * 1000) / 1000; }

Json times_json(const std::vector<double>& times_us) {
  return {{"median_us", rounded(bench::median(times_us))},
          {"min_us", rounded(bench::quantile(times_us, 0))},
          {"max_us", rounded(bench::quantile(times_us, 1))}};
}

Json result_json(const OverlapOptions& options, const OverlapResult& result) {
  return {{"schema", "crossdock.bench_overlap/1"},
          {"version", version()},
          {"operation", "overlap"},
          {"ranks", options.shape.ranks},
          {"tokens", options.shape.tokens},
          {"hidden", options.shape.hidden},
          {"experts", options.shape.experts},
          {"topk", options.shape.topk},
          {"dtype", to_string(options.shape.element)},
          {"layout", "expanded"},
          {"way", to_string(options.way)},
          {"progress", to_string(options.progress)},
          {"queue_depth", options.queue_depth},
          {"iterations", options.iterations},
          {"dispatch", times_json(result.dispatch_us)},
          {"compute", times_json(result.compute_us)},
          {"both", times_json(result.both_us)},
          {"ratio_to_larger", rounded(result.ratio())},
          {"compute_processor_time", times_json(result.compute_busy_us)},
          {"both_processor_time", times_json(result.both_busy_us)},
          {"requests_per_dispatch", rounded(result.requests_per_dispatch)},
          {"doorbells_per_request", result.doorbells_per_request},
          {"stalls_per_dispatch", rounded(result.stalls_per_dispatch)},
          {"submit_ns", rounded(result.submit_ns)},
          {"verified", result.rows_checked > 0 && result.rows_wrong == 0},
          {"rows_checked", result.rows_checked},
          {"rows_wrong", result.rows_wrong},
          {"origin", "measured"}};
}

std::string result_table(const OverlapOptions& options, const OverlapResult& result) {
  const bench::Shape& shape = options.shape;
  std::string table = fmt::format(
      "overlap: {} rank(s) as threads, {} tokens each, hidden {}, {} experts, top-{}, {}, "
      "expanded\n"
      "{} way, progress by {}, queues of {}; {} iterations, each phase in turn\n\n",
      shape.ranks, shape.tokens, shape.hidden, shape.experts, shape.topk, to_string(shape.element),
      to_string(options.way), to_string(options.progress), options.queue_depth, options.iterations);
  const auto row = [&](std::string_view name, const std::vector<double>& times,
                       const std::string& note) {
    table += fmt::format("{:<22}{:>10.1f} us  ({:.1f} .. {:.1f}){}\n", name, bench::median(times),
                         bench::quantile(times, 0), bench::quantile(times, 1), note);
  };
  row("dispatch alone", result.dispatch_us, "");
  row("compute alone", result.compute_us, "");
  row("both", result.both_us, fmt::format("  {:.2f} x the larger alone", result.ratio()));
  table += "\nprocessor time of the caller, without what other work on the machine takes:\n";
  row("compute alone", result.compute_busy_us, "");
  row("both", result.both_busy_us, "");
  table += fmt::format(
      "\nrequests               {:.0f} per dispatch, {:.4f} doorbells per request, {:.1f} stalls\n"
      "submission             {:.0f} ns per put of {}{}\n"
      "verified               {} of {} rows\n",
      result.requests_per_dispatch, result.doorbells_per_request, result.stalls_per_dispatch,
      result.submit_ns, format_bytes(shape.row_bytes()),
      options.way == Way::kDirect ? " (the copy is in it)" : "",
      result.rows_checked - result.rows_wrong, result.rows_checked);
  return table;
}

Result<int> run(const OverlapLine& line) {
  CROSSDOCK_RETURN_IF_ERROR(settings_status());
  if (is_rank_of_a_job()) {
    return Status(StatusKind::kInvalidArgument, Scope::kProcess,
                  "bench overlap runs its ranks as threads; allowed: without a launcher");
  }
  CROSSDOCK_ASSIGN_OR_RETURN(const OverlapOptions options, check(line));
  CROSSDOCK_ASSIGN_OR_RETURN(const OverlapResult result, measure_overlap(options));
  if (line.json != "-") {
    fmt::print("{}", result_table(options, result));
  }
  if (!line.json.empty()) {
    CROSSDOCK_RETURN_IF_ERROR(write_json(line.json, result_json(options, result)));
  }
  return result.rows_checked > 0 && result.rows_wrong == 0 ? kExitOk : kExitFailedCheck;
}

}  // namespace

void add_overlap_command(CLI::App& bench, CommandContext& context) {
  CLI::App* const app = bench.add_subcommand(
      "overlap", "A compute loop beside a posted dispatch; what posting costs");
  const auto line = std::make_shared<OverlapLine>();
  add_integer(*app, {"-n,--ranks", "ranks, threads of this process", {1, 64}}, line->ranks);
  add_integer(*app, {"--tokens", "tokens of each rank", {1, 1 << 24}}, line->tokens);
  add_integer(*app, {"--hidden", "elements of a token, bf16", {1, 1 << 24}}, line->hidden);
  add_integer(*app, {"--experts", "experts of all ranks together", {1, 65536}}, line->experts);
  add_integer(*app, {"--topk", "experts of each token", {1, 128}}, line->topk);
  add_choice(*app, {"--way", "who moves the bytes", {"queued", "direct"}}, line->way);
  add_choice(*app,
             {"--progress",
              "who moves the operation on; caller: the compute loop polls",
              {"thread", "caller"}},
             line->progress);
  add_integer(*app, {"--depth", "requests of one queue", {2, 65536}}, line->depth);
  add_integer(*app, {"--iterations", "of each of the three phases", {1, 100000}}, line->iterations);
  add_text(*app, "--json", "write the result there as JSON; -: stdout", line->json);
  app->footer(
      "Three phases take turns: the dispatch alone, the compute loop alone (made as long as the\n"
      "dispatch, and free of memory), and both. Full overlap is 1.0 x the larger of the two "
      "alone,\n"
      "none is 2.0. It needs a free core: --ranks at most half the cores.\n\n"
      "Example:\n  crossdock bench overlap --ranks 1 --tokens 1024 --way queued\n");
  app->callback(
      [&context, line] { context.chosen = [line] { return finish("bench", run(*line)); }; });
}

}  // namespace crossdock::cli
