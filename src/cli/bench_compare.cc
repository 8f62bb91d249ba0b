// SPDX-License-Identifier: Apache-2.0
#include "cli/bench_compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "cli/bench/rounds.h"
#include "cli/bench_contenders.h"
#include "cli/bench_measure.h"
#include "cli/bench_options.h"
#include "cli/bench_peer.h"
#include "cli/bench_result.h"
#include "cli/console.h"
#include "cli/exit_code.h"
#include "cli/host.h"
#include "cli/provenance.h"
#include "crossdock/elastic_buffer.h"
#include "crossdock/status.h"
#include "crossdock/types.h"
#include "crossdock/version.h"
#include "report/report.h"

namespace crossdock::cli {
namespace {

/// What one compare runs, in order.
std::vector<BenchOptions> main_runs(const CompareOptions& options) {
  std::vector<BenchOptions> runs;
  for (const RowLayout layout : {RowLayout::kExpanded, RowLayout::kPlain}) {
    for (const BenchOperation operation : {BenchOperation::kDispatch, BenchOperation::kCombine}) {
      BenchOptions run = options.base;
      run.layout = layout;
      run.operation = operation;
      runs.push_back(run);
    }
  }
  return runs;
}

/// Sizes: shorter, one repetition, dispatch and combine together, the first peer only.
std::vector<BenchOptions> sweep_runs(const CompareOptions& options) {
  std::vector<BenchOptions> runs;
  for (const std::int64_t ranks : options.sweep_ranks) {
    for (const std::int64_t tokens : options.sweep_tokens) {
      BenchOptions run = options.base;
      run.operation = BenchOperation::kRoundtrip;
      run.shape.ranks = static_cast<int>(ranks);
      run.shape.tokens = tokens;
      run.rounds.timed = automatic_iterations(run.shape);
      run.repetitions = 1;
      run.peer = run.peer == PeerChoice::kNone ? PeerChoice::kNone : PeerChoice::kAuto;
      runs.push_back(run);
    }
  }
  return runs;
}

/// Everything that a run would be refused for, before the first one starts.
Status check_runs(const std::vector<BenchOptions>& runs) {
  for (const BenchOptions& run : runs) {
    CROSSDOCK_RETURN_IF_ERROR(bench::check_routing(run.shape));
    CROSSDOCK_ASSIGN_OR_RETURN(const MemoryPlan plan,
                               plan_memory(buffer_options(run), run.shape.ranks));
    CROSSDOCK_RETURN_IF_ERROR(check_host_memory(plan, run.shape.ranks, 0));
  }
  return {};
}

std::string spread_text(const BenchResult& result) {
  std::vector<double> values;
  for (std::size_t repetition = 0; repetition < result.repetitions.size(); ++repetition) {
    values.push_back(medians_of_one(result, repetition).ours_us);
  }
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return fmt::format("{:.0f} .. {:.0f} us over {} repetitions", *low, *high, values.size());
}

report::BarGroup bars_of(const BenchResult& result) {
  const BenchMedians medians = medians_of_all(result);
  report::BarGroup group{.title = fmt::format("{}, {} layout", to_string(result.options.operation),
                                              to_string(result.options.layout)),
                         .unit = "us",
                         .better = report::Better::kLower,
                         .bars = {}};
  group.bars.push_back({.name = "crossdock",
                        .value = medians.ours_us,
                        .kind = report::BarKind::kOurs,
                        .origin = report::Origin::kMeasured,
                        .note = spread_text(result)});
  group.bars.push_back({.name = "crossdock, back to back",
                        .value = medians.back_to_back_us,
                        .kind = report::BarKind::kOurs,
                        .origin = report::Origin::kMeasured,
                        .note = "rounds without a meeting of the ranks between them"});
  group.bars.push_back({.name = "limit",
                        .value = medians.limit_us(),
                        .kind = report::BarKind::kLimit,
                        .origin = report::Origin::kMeasured,
                        .note = medians.copy.name + medians.read.name});
  for (const auto& [kind, us] : medians.peers_us) {
    group.bars.push_back({.name = peer_title(kind),
                          .value = us,
                          .kind = report::BarKind::kPeer,
                          .origin = report::Origin::kMeasured,
                          .note = peer_parts_text(result, kind)});
  }
  return group;
}

/// Adds a point to the line of that name, making it first.
void add_point(report::Plot& plot, const std::string& name, report::BarKind kind, double x,
               double y) {
  auto line = std::find_if(plot.lines.begin(), plot.lines.end(),
                           [&](const report::PlotLine& each) { return each.name == name; });
  if (line == plot.lines.end()) {
    plot.lines.push_back(
        {.name = name, .kind = kind, .origin = report::Origin::kMeasured, .points = {}});
    line = plot.lines.end() - 1;
  }
  line->points.emplace_back(x, y);
}

/// One plot for each number of ranks.
std::vector<report::Plot> plots_of(const std::vector<BenchResult>& sweep) {
  std::vector<report::Plot> plots;
  for (const BenchResult& result : sweep) {
    const std::string title =
        fmt::format("Dispatch + combine over tokens, {} ranks", result.options.shape.ranks);
    if (plots.empty() || plots.back().title != title) {
      plots.push_back({.title = title, .x = "tokens per rank", .unit = "us", .lines = {}});
    }
    const BenchMedians medians = medians_of_all(result);
    const auto tokens = static_cast<double>(result.options.shape.tokens);
    add_point(plots.back(), "crossdock", report::BarKind::kOurs, tokens, medians.ours_us);
    add_point(plots.back(), "limit", report::BarKind::kLimit, tokens, medians.limit_us());
    for (const auto& [kind, us] : medians.peers_us) {
      add_point(plots.back(), peer_title(kind), report::BarKind::kPeer, tokens, us);
    }
  }
  return plots;
}

report::Report make_report(const CompareOptions& options, const std::vector<BenchResult>& results,
                           const std::vector<BenchResult>& sweep, bool verified) {
  const bench::Shape& shape = options.base.shape;
  report::Report page;
  page.title = "Dispatch and combine against the limit and the peers";
  page.summary =
      fmt::format("{} ranks, {} tokens each, hidden {}, {} experts, top-{}, {}, routing {}",
                  shape.ranks, shape.tokens, shape.hidden, shape.experts, shape.topk,
                  to_string(shape.element), shape.routing.text);
  page.provenance = make_provenance(options.command);
  page.verdict = verified ? report::Verdict::kVerified : report::Verdict::kFailed;
  std::uint64_t checked = 0;
  std::uint64_t wrong = 0;
  for (const auto* group : {&results, &sweep}) {
    for (const BenchResult& result : *group) {
      checked += result.rows_checked;
      wrong += result.rows_wrong;
    }
  }
  page.verdict_text =
      fmt::format("{} rows and sums compared bit by bit, {} differ", checked, wrong);
  for (const BenchResult& result : results) {
    const BenchMedians medians = medians_of_all(result);
    const double mpi_ratio = medians.ratio_to(PeerKind::kMpiAllToAll);
    page.facts.push_back(
        {.name = fmt::format("{}, {}", to_string(result.options.operation),
                             to_string(result.options.layout)),
         .value = fmt::format("{:.2f} of the limit{}", medians.ratio_to_limit(),
                              mpi_ratio > 0 ? fmt::format(", {:.1f}x MPI", mpi_ratio) : ""),
         .origin = report::Origin::kDerived,
         .note = spread_text(result)});
    page.bars.push_back(bars_of(result));
  }
  page.plots = plots_of(sweep);
  return page;
}

/// Exit code of the ranks; 0: all ran.
Result<int> measure_group(const std::vector<BenchOptions>& runs, Progress& progress,
                          std::vector<BenchResult>& results) {
  for (const BenchOptions& run : runs) {
    BenchResult result = empty_result(run);
    const std::string what = fmt::format("{} {}, {} ranks, {} tokens: ", to_string(run.operation),
                                         to_string(run.layout), run.shape.ranks, run.shape.tokens);
    CROSSDOCK_ASSIGN_OR_RETURN(const int code, measure_all(result, progress, what));
    if (code != 0) {
      return code;
    }
    if (run.json != "-") {
      fmt::print("{}\n", bench_table(result));
      std::fflush(stdout);
    }
    results.push_back(std::move(result));
  }
  return 0;
}

Json compare_json(const std::vector<BenchResult>& results, const std::vector<BenchResult>& sweep) {
  Json document{{"schema", "crossdock.bench.compare/1"}, {"version", version()}};
  document["runs"] = Json::array();
  document["sweep"] = Json::array();
  for (const BenchResult& result : results) {
    document["runs"].push_back(bench_json(result));
  }
  for (const BenchResult& result : sweep) {
    document["sweep"].push_back(bench_json(result));
  }
  return document;
}

}  // namespace

Result<int> run_compare(const CompareOptions& options) {
  const std::vector<BenchOptions> main = main_runs(options);
  const std::vector<BenchOptions> sizes = sweep_runs(options);
  CROSSDOCK_RETURN_IF_ERROR(check_runs(main));
  CROSSDOCK_RETURN_IF_ERROR(check_runs(sizes));
  Progress progress("bench compare");
  std::vector<BenchResult> results;
  std::vector<BenchResult> sweep;
  CROSSDOCK_ASSIGN_OR_RETURN(const int main_code, measure_group(main, progress, results));
  if (main_code != 0) {
    return main_code;
  }
  CROSSDOCK_ASSIGN_OR_RETURN(const int sweep_code, measure_group(sizes, progress, sweep));
  if (sweep_code != 0) {
    return sweep_code;
  }
  const auto is_verified = [](const BenchResult& result) { return result.verified(); };
  const bool verified = std::all_of(results.begin(), results.end(), is_verified) &&
                        std::all_of(sweep.begin(), sweep.end(), is_verified);
  CROSSDOCK_RETURN_IF_ERROR(
      report::write_report(make_report(options, results, sweep, verified), options.report));
  if (!options.base.json.empty()) {
    CROSSDOCK_RETURN_IF_ERROR(write_json(options.base.json, compare_json(results, sweep)));
  }
  if (options.base.json != "-") {
    fmt::print("{}: {}\n", verified ? "VERIFIED" : "FAILED", options.report);
  }
  return verified ? kExitOk : kExitFailedCheck;
}

}  // namespace crossdock::cli
