// SPDX-License-Identifier: Apache-2.0
#include "cli/demo/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "cli/bench/statistics.h"
#include "cli/console.h"
#include "cli/demo/facts.h"
#include "cli/demo/options.h"
#include "crossdock/types.h"
#include "crossdock/version.h"
#include "trace/format.h"

namespace crossdock::demo {
namespace {

using cli::Json;

std::int64_t route_count(const RankFacts& facts) {
  return std::accumulate(facts.routes_to_expert.begin(), facts.routes_to_expert.end(),
                         std::int64_t{0});
}

std::int64_t token_total(const DemoFacts& facts) {
  std::int64_t total = 0;
  for (const RankFacts& rank : facts.ranks) {
    total += rank.token_count;
  }
  return total;
}

std::int64_t route_total(const DemoFacts& facts) {
  std::int64_t total = 0;
  for (const RankFacts& rank : facts.ranks) {
    total += route_count(rank);
  }
  return total;
}

struct ExpertLoad {
  std::size_t expert = 0;
  std::int64_t routes = 0;
};

/// The expert with most routes, all ranks together.
ExpertLoad busiest_expert(const DemoFacts& facts) {
  std::vector<std::int64_t> loads(facts.ranks.front().routes_to_expert.size(), 0);
  for (const RankFacts& rank : facts.ranks) {
    for (std::size_t expert = 0; expert < loads.size(); ++expert) {
      loads[expert] += rank.routes_to_expert[expert];
    }
  }
  const auto most = std::max_element(loads.begin(), loads.end());
  return {static_cast<std::size_t>(most - loads.begin()), *most};
}

std::string us_text(double us) {
  return trace::format_duration(Duration(static_cast<std::int64_t>(us * 1e3)));
}

std::string times_text(const DemoFacts& facts, CallTime RoundFacts::* call) {
  const std::vector<double> times = round_times_us(facts, call);
  return fmt::format("{} (first round {})", us_text(bench::median(times)), us_text(times.front()));
}

double rounded(double value) { return std::round(value * 1e3) / 1e3; }

}  // namespace

RowSpread row_spread(const DemoFacts& facts) {
  RowSpread spread{.min = facts.ranks.front().rounds.front().row_count};
  for (const RankFacts& rank : facts.ranks) {
    const std::int64_t row_count = rank.rounds.front().row_count;
    spread.min = std::min(spread.min, row_count);
    spread.max = std::max(spread.max, row_count);
    spread.mean += static_cast<double>(row_count) / static_cast<double>(facts.ranks.size());
  }
  return spread;
}

std::vector<double> round_times_us(const DemoFacts& facts, CallTime RoundFacts::* call) {
  std::vector<double> times;
  for (std::size_t round = 0; round < facts.ranks.front().rounds.size(); ++round) {
    CallTime whole = facts.ranks.front().rounds[round].*call;
    for (const RankFacts& rank : facts.ranks) {
      whole.begin_ns = std::min(whole.begin_ns, (rank.rounds[round].*call).begin_ns);
      whole.end_ns = std::max(whole.end_ns, (rank.rounds[round].*call).end_ns);
    }
    times.push_back(static_cast<double>(whole.end_ns - whole.begin_ns) / 1e3);
  }
  return times;
}

std::string demo_table(const DemoOptions& options, const DemoFacts& facts) {
  const RankFacts& first = facts.ranks.front();
  const RowSpread spread = row_spread(facts);
  const ExpertLoad busiest = busiest_expert(facts);
  const auto expert_count = static_cast<double>(first.routes_to_expert.size());
  std::string table;
  const auto row = [&](std::string_view name, const std::string& text) {
    table += fmt::format("  {:<16}{}\n", name, text);
  };
  row("tokens of", facts.workload);
  row("ranks",
      fmt::format("{}, {} experts, {} rounds", facts.ranks.size(), expert_count, options.rounds));
  row("tokens a round", fmt::format("{}, {} routes", token_total(facts), route_total(facts)));
  row("rows received", fmt::format("{} min, {:.0f} mean, {} max; skew (max / mean) {:.2f}",
                                   spread.min, spread.mean, spread.max, spread.skew()));
  row("busiest expert", fmt::format("{} with {:.1f}x the mean", busiest.expert,
                                    static_cast<double>(busiest.routes) * expert_count /
                                        std::max(1.0, static_cast<double>(route_total(facts)))));
  row("dispatch", times_text(facts, &RoundFacts::dispatch));
  row("combine", times_text(facts, &RoundFacts::combine));
  row("how", fmt::format("{} layout, {} mode, {}, {} schedule; {} of windows a rank",
                         to_string(options.layout), first.mode, first.protocol, first.schedule,
                         format_bytes(first.reserved_bytes)));
  const Verdict& verdict = facts.verdict;
  row("compared", fmt::format("{} tokens, {} bits, with a reference of one process",
                              verdict.tokens_compared, verdict.bits_compared));
  if (verdict.ok()) {
    table += "VERIFIED: every bit is equal\n";
  } else {
    table += fmt::format("FAILED: {} of {} tokens differ, the first one: {}\n",
                         verdict.tokens_wrong, verdict.tokens_compared, verdict.first_wrong);
  }
  return table;
}

cli::Json demo_json(const DemoOptions& options, const DemoFacts& facts) {
  const RankFacts& first = facts.ranks.front();
  const RowSpread spread = row_spread(facts);
  Json rows_per_rank = Json::array();
  Json tokens_per_rank = Json::array();
  for (const RankFacts& rank : facts.ranks) {
    rows_per_rank.push_back(rank.rounds.front().row_count);
    tokens_per_rank.push_back(rank.token_count);
  }
  Json document{
      {"schema", "crossdock.demo/1"},
      {"version", version()},
      {"workload", facts.workload},
      {"ranks", facts.ranks.size()},
      {"experts", first.routes_to_expert.size()},
      {"rounds", options.rounds},
      {"layout", to_string(options.layout)},
      {"mode", first.mode},
      {"fabric", "shm"},
      {"protocol", first.protocol},
      {"schedule", first.schedule},
      {"tokens", token_total(facts)},
      {"routes", route_total(facts)},
      {"tokens_per_rank", tokens_per_rank},
      {"rows_per_rank", rows_per_rank},
      {"rows_min", spread.min},
      {"rows_mean", rounded(spread.mean)},
      {"rows_max", spread.max},
      {"skew", rounded(spread.skew())},
      {"dispatch_us", rounded(bench::median(round_times_us(facts, &RoundFacts::dispatch)))},
      {"combine_us", rounded(bench::median(round_times_us(facts, &RoundFacts::combine)))},
      {"tokens_compared", facts.verdict.tokens_compared},
      {"bits_compared", facts.verdict.bits_compared},
      {"tokens_wrong", facts.verdict.tokens_wrong},
      {"verified", facts.verdict.ok()},
      {"report", options.report},
      {"origin", "measured"}};
  if (!facts.verdict.ok()) {
    document["first_wrong"] = facts.verdict.first_wrong;
  }
  if (options.follow) {
    document["followed"] =
        to_json(facts.ranks[static_cast<std::size_t>(options.follow->rank)]).at("followed");
  }
  return document;
}

}  // namespace crossdock::demo
