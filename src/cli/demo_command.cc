// SPDX-License-Identifier: Apache-2.0
#include "cli/demo_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/parse.h"
#include "base/settings.h"
#include "base/status_macros.h"
#include "cli/command_line.h"
#include "cli/console.h"
#include "cli/demo/facts.h"
#include "cli/demo/journey.h"
#include "cli/demo/options.h"
#include "cli/demo/report.h"
#include "cli/demo/run.h"
#include "cli/demo/summary.h"
#include "cli/demo/workload.h"
#include "cli/environment.h"
#include "cli/exit_code.h"
#include "cli/host.h"
#include "cli/launch.h"
#include "crossdock/communicator.h"
#include "crossdock/elastic_buffer.h"
#include "crossdock/status.h"
#include "crossdock/types.h"

namespace crossdock::cli {
namespace {

using demo::DemoFacts;
using demo::DemoOptions;
using demo::Workload;

/// Options as the line gives them; an empty text and -1: not given.
struct DemoLine {
  std::int64_t ranks = 8;
  bool ranks_given = false;
  std::string text;
  std::string tokens;
  std::string topk_ids;
  std::string topk_weights;
  std::string out;
  std::string experts_fn = "identity";
  std::int64_t tokens_per_rank = 128;
  std::int64_t hidden = 512;
  std::int64_t experts = 64;
  bool experts_given = false;
  std::int64_t topk = 8;
  std::int64_t ffn = 128;
  std::int64_t seed = 1;
  std::string layout = "expanded";
  std::string mode = "auto";
  std::string protocol = "auto";
  std::string schedule = "auto";
  std::int64_t rounds = 3;
  std::string follow;
  std::string report = "./crossdock-report.html";
  std::string json;
};

Status invalid(std::string message) {
  return {StatusKind::kInvalidArgument, Scope::kProcess, std::move(message)};
}

/// All three files of a recording, or none of them.
Status check_recording(const DemoLine& line) {
  const bool any = !line.tokens.empty() || !line.topk_ids.empty() || !line.topk_weights.empty();
  const bool all = !line.tokens.empty() && !line.topk_ids.empty() && !line.topk_weights.empty();
  if (any && !all) {
    return invalid("--tokens, --topk-idx and --topk-weights belong together; allowed: all or none");
  }
  if (any && !line.text.empty()) {
    return invalid("--text and --tokens; allowed: one of them");
  }
  if (!any && !line.out.empty()) {
    return invalid("--out without a recording; allowed: with --tokens, --topk-idx, --topk-weights");
  }
  return {};
}

demo::RecordedOptions recorded_options(const DemoLine& line, int ranks) {
  demo::RecordedOptions recorded;
  recorded.tokens_path = line.tokens;
  recorded.ids_path = line.topk_ids;
  recorded.weights_path = line.topk_weights;
  if (line.experts_given) {
    recorded.experts = static_cast<int>(line.experts);
  }
  recorded.ranks = ranks;
  recorded.function = line.experts_fn == "swiglu" ? demo::ExpertsFunction::kSwiglu
                                                  : demo::ExpertsFunction::kIdentity;
  recorded.ffn = line.ffn;
  recorded.seed = static_cast<std::uint64_t>(line.seed);
  return recorded;
}

Result<DemoOptions> options_from(const DemoLine& line, int ranks) {
  CROSSDOCK_RETURN_IF_ERROR(check_recording(line));
  DemoOptions options;
  options.ranks = ranks;
  options.rounds = static_cast<int>(line.rounds);
  if (!line.tokens.empty()) {
    options.recorded = recorded_options(line, ranks);
  } else if (line.topk > line.experts) {
    return invalid(fmt::format("--topk {}; allowed: 1 .. --experts, {}", line.topk, line.experts));
  }
  options.text = {.path = line.text,
                  .tokens_per_rank = line.tokens_per_rank,
                  .ranks = ranks,
                  .layer = {.hidden = line.hidden,
                            .ffn = line.ffn,
                            .experts = static_cast<int>(line.experts),
                            .topk = static_cast<int>(line.topk),
                            .seed = static_cast<std::uint64_t>(line.seed)}};
  options.layout = line.layout == "plain" ? RowLayout::kPlain : RowLayout::kExpanded;
  options.mode = line.mode == "auto"         ? Mode::kAuto
                 : line.mode == "throughput" ? Mode::kThroughput
                                             : Mode::kLatency;
  options.protocol = line.protocol;
  options.schedule = line.schedule;
  options.out = line.out;
  options.report = line.report;
  options.json = line.json;
  if (!line.follow.empty()) {
    const Result<RankToken> follow = parse_rank_token(line.follow);
    if (!follow.ok()) {
      return invalid(fmt::format("--follow: {}", follow.status().message()));
    }
    options.follow = *follow;
    options.prints_journey = true;
  }
  return options;
}

/// What would be refused later, before any rank is started: one line instead of one for each rank.
Result<std::unique_ptr<Workload>> checked_workload(const DemoOptions& options) {
  CROSSDOCK_ASSIGN_OR_RETURN(std::unique_ptr<Workload> workload, demo::make_workload(options));
  CROSSDOCK_RETURN_IF_ERROR(
      plan_memory(demo::buffer_options(options, *workload), options.ranks).status());
  if (!options.follow) {
    return workload;
  }
  const RankToken& follow = *options.follow;
  if (follow.rank >= options.ranks) {
    return invalid(
        fmt::format("--follow: rank {}; allowed: 0 .. {}", follow.rank, options.ranks - 1));
  }
  if (follow.token >= workload->tokens_of(follow.rank)) {
    return invalid(fmt::format("--follow: token {} of rank {}; it has {} tokens", follow.token,
                               follow.rank, workload->tokens_of(follow.rank)));
  }
  return workload;
}

Status publish(const DemoOptions& options, const Workload& workload, const DemoFacts& facts) {
  if (!options.report.empty()) {
    CROSSDOCK_RETURN_IF_ERROR(demo::write_demo_report(options, workload, facts));
  }
  // Machine-readable stdout has nothing else in it.
  std::FILE* const out = options.json == "-" ? stderr : stdout;
  if (const auto journey = demo::make_journey(facts); journey && options.prints_journey) {
    const auto& own = facts.ranks[static_cast<std::size_t>(journey->rank)];
    fmt::print(out, "{}", demo::journey_text(*journey, own.followed->origin));
  }
  fmt::print(out, "{}", demo::demo_table(options, facts));
  if (!options.report.empty()) {
    fmt::print(out, "report: {}\n", options.report);
  }
  if (!options.json.empty()) {
    return write_json(options.json, demo::demo_json(options, facts));
  }
  return {};
}

Result<int> run_as_rank(const DemoLine& line, const std::vector<std::string>& arguments) {
  CROSSDOCK_ASSIGN_OR_RETURN(Communicator communicator, Communicator::open());
  if (line.ranks_given && line.ranks != communicator.size()) {
    return invalid(
        fmt::format("--ranks {}, but {} ranks were started; allowed: as many, or no --ranks",
                    line.ranks, communicator.size()));
  }
  CROSSDOCK_ASSIGN_OR_RETURN(DemoOptions options, options_from(line, communicator.size()));
  options.command = fmt::format("crossdock {}", fmt::join(arguments, " "));
  CROSSDOCK_ASSIGN_OR_RETURN(const auto workload, checked_workload(options));
  if (!options.follow && workload->tokens_of(0) > 0) {
    options.follow = RankToken{};  // The report shows a journey in any case.
  }
  CROSSDOCK_ASSIGN_OR_RETURN(const std::optional<DemoFacts> facts,
                             demo::run_demo(options, *workload, communicator));
  if (!facts) {
    return kExitOk;
  }
  CROSSDOCK_RETURN_IF_ERROR(publish(options, *workload, *facts));
  return facts->verdict.ok() ? kExitOk : kExitFailedCheck;
}

Result<int> run(const DemoLine& line, const std::vector<std::string>& arguments) {
  CROSSDOCK_RETURN_IF_ERROR(settings_status());
  if (is_rank_of_a_job()) {
    return run_as_rank(line, arguments);
  }
  CROSSDOCK_ASSIGN_OR_RETURN(const DemoOptions options,
                             options_from(line, static_cast<int>(line.ranks)));
  CROSSDOCK_ASSIGN_OR_RETURN(const auto workload, checked_workload(options));
  CROSSDOCK_ASSIGN_OR_RETURN(const MemoryPlan plan,
                             plan_memory(demo::buffer_options(options, *workload), options.ranks));
  CROSSDOCK_RETURN_IF_ERROR(check_host_memory(plan, options.ranks, 0));
  CROSSDOCK_ASSIGN_OR_RETURN(const std::string own, own_program());
  LaunchOptions launch_options;
  launch_options.argv = {own};
  launch_options.argv.insert(launch_options.argv.end(), arguments.begin(), arguments.end());
  launch_options.rank_count = options.ranks;
  launch_options.output = RankOutput::kLines;
  return launch(launch_options);
}

void add_workload_options(CLI::App& app, DemoLine& line) {
  add_text(app, "--text", "tokens are the bytes of this file [a licence of Debian]", line.text);
  add_text(app, "--tokens", ".npy, [T, H] f4, or u2 holding bf16: recorded tokens", line.tokens);
  add_text(app, "--topk-idx", ".npy, [T, K] i4 or i8: recorded expert ids, -1: none",
           line.topk_ids);
  add_text(app, "--topk-weights", ".npy, [T, K] f4: recorded gate weights", line.topk_weights);
  add_text(app, "--out", ".npy for the combined tokens of a recording", line.out);
  add_choice(app, {"--experts-fn", "what the experts of a recording do", {"identity", "swiglu"}},
             line.experts_fn);
  add_integer(app, {"--tokens-per-rank", "tokens of a text", {1, 1 << 20}}, line.tokens_per_rank);
  add_integer(app, {"--hidden", "elements of a token", {1, 1 << 16}}, line.hidden);
  add_integer(app, {"--experts", "experts of all ranks together", {1, 65536}}, line.experts);
  add_integer(app, {"--topk", "experts of each token", {1, 128}}, line.topk);
  add_integer(app, {"--ffn", "inner size of an expert", {1, 1 << 16}}, line.ffn);
  add_integer(app, {"--seed", "of embedding, gate and experts", {0, 1LL << 62}}, line.seed);
}

void add_run_options(CLI::App& app, DemoLine& line) {
  add_integer(app, {"-n,--ranks", "ranks to start", {1, kRankCountMax}}, line.ranks);
  add_choice(app, {"--layout", "rows per route or per token and rank", {"expanded", "plain"}},
             line.layout);
  add_choice(app, {"--mode", "auto: by the number of tokens", {"auto", "throughput", "latency"}},
             line.mode);
  add_choice(app,
             {"--protocol", "completion protocol", {"auto", "tail_fence", "counted", "barrier"}},
             line.protocol);
  add_choice(app, {"--schedule", "order of the targets", {"auto", "direct", "rotation"}},
             line.schedule);
  add_integer(app, {"--rounds", "dispatch, experts, combine so many times", {1, 1000}},
              line.rounds);
  add_text(app, "--follow", "RANK:TOKEN whose journey is printed", line.follow);
  add_text(app, "--report", "where the HTML report goes", line.report);
  add_text(app, "--json", "write the result there as JSON; -: stdout", line.json);
}

}  // namespace

void add_demo_command(CLI::App& program, CommandContext& context) {
  CLI::App* const app = program.add_subcommand(
      "demo", "A real mixture-of-experts layer over several ranks, checked bit by bit");
  const auto line = std::make_shared<DemoLine>();
  add_workload_options(*app, *line);
  add_run_options(*app, *line);
  app->footer(
      "Starts its ranks itself, or is one of them under `crossdock launch` or torchrun.\n\n"
      "Examples:\n  crossdock demo --follow 2:17\n"
      "  crossdock demo --tokens x.npy --topk-idx ids.npy --topk-weights w.npy --out y.npy\n");
  app->callback([&context, line, app] {
    line->ranks_given = app->count("--ranks") > 0;
    line->experts_given = app->count("--experts") > 0;
    context.chosen = [&context, line] { return finish("demo", run(*line, context.arguments)); };
  });
}

}  // namespace crossdock::cli
