// SPDX-License-Identifier: Apache-2.0
#include "cli/demo/report.h"

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "cli/bench/statistics.h"
#include "cli/demo/facts.h"
#include "cli/demo/journey.h"
#include "cli/demo/options.h"
#include "cli/demo/reference.h"
#include "cli/demo/summary.h"
#include "cli/demo/workload.h"
#include "cli/provenance.h"
#include "crossdock/status.h"
#include "crossdock/types.h"
#include "report/report.h"
#include "trace/format.h"

namespace crossdock::demo {
namespace {

std::string us_text(const DemoFacts& facts, CallTime RoundFacts::* call) {
  const double us = bench::median(round_times_us(facts, call));
  return trace::format_duration(Duration(static_cast<std::int64_t>(us * 1e3)));
}

std::vector<report::Fact> facts_of(const DemoOptions& options, const Workload& workload,
                                   const DemoFacts& facts) {
  const RowSpread spread = row_spread(facts);
  const RankFacts& first = facts.ranks.front();
  const auto fact = [](const char* name, std::string value, std::string note = "") {
    return report::Fact{.name = name,
                        .value = std::move(value),
                        .origin = report::Origin::kMeasured,
                        .note = std::move(note)};
  };
  return {
      fact("tokens of", facts.workload),
      fact("ranks", fmt::format("{}", options.ranks)),
      fact("experts", fmt::format("{}, top-{}", workload.experts(), workload.topk())),
      fact("hidden", fmt::format("{} x {}", workload.hidden(), to_string(workload.element()))),
      fact("rows received", fmt::format("{} .. {}", spread.min, spread.max),
           "by a rank in the first round"),
      fact("skew", fmt::format("{:.2f}", spread.skew()), "most rows of a rank over the mean"),
      fact("dispatch", us_text(facts, &RoundFacts::dispatch),
           "median of the rounds, first rank's start to last rank's end"),
      fact("combine", us_text(facts, &RoundFacts::combine),
           "median of the rounds, first rank's start to last rank's end"),
      fact("layout", std::string(to_string(options.layout))),
      fact("mode", first.mode),
      fact("protocol", first.protocol),
      fact("schedule", first.schedule),
      fact("window", format_bytes(first.reserved_bytes), "reserved by one rank"),
      fact("bits compared", fmt::format("{}", facts.verdict.bits_compared)),
  };
}

report::RouteMap routes_of(const DemoOptions& options, const Workload& workload,
                           const DemoFacts& facts) {
  report::RouteMap map{.rank_count = options.ranks, .expert_rank = {}, .routes = {}};
  for (int expert = 0; expert < workload.experts(); ++expert) {
    map.expert_rank.push_back(owner_of(expert, workload.experts(), options.ranks));
  }
  for (const RankFacts& rank : facts.ranks) {
    for (const std::int64_t routes : rank.routes_to_expert) {
      map.routes.push_back(static_cast<std::uint64_t>(routes));
    }
  }
  return map;
}

}  // namespace

Status write_demo_report(const DemoOptions& options, const Workload& workload,
                         const DemoFacts& facts) {
  report::Report page;
  page.title = "crossdock demo";
  page.summary = fmt::format(
      "A mixture-of-experts layer over {} ranks: tokens are dispatched to their experts' ranks, "
      "computed there, combined, and compared with a reference of one process.",
      options.ranks);
  page.provenance = cli::make_provenance(options.command);
  page.verdict = facts.verdict.ok() ? report::Verdict::kVerified : report::Verdict::kFailed;
  page.verdict_text =
      facts.verdict.ok()
          ? fmt::format("{} tokens, every bit equal to the reference",
                        facts.verdict.tokens_compared)
          : fmt::format("{} of {} tokens differ, the first one: {}", facts.verdict.tokens_wrong,
                        facts.verdict.tokens_compared, facts.verdict.first_wrong);
  page.facts = facts_of(options, workload, facts);
  page.routes = routes_of(options, workload, facts);
  page.traces = facts.traces;
  page.journey = make_journey(facts);
  return report::write_report(page, options.report);
}

}  // namespace crossdock::demo
