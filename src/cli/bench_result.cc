// SPDX-License-Identifier: Apache-2.0
#include "cli/bench_result.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "cli/bench/statistics.h"
#include "cli/bench_options.h"
#include "crossdock/types.h"
#include "crossdock/version.h"
#include "trace/format.h"

namespace crossdock::cli {
namespace {

using bench::median;

std::vector<double> pooled(const std::vector<const Repetition*>& repetitions,
                           std::size_t contender) {
  std::vector<double> times;
  for (const Repetition* repetition : repetitions) {
    const auto& more = repetition->times_us[contender];
    times.insert(times.end(), more.begin(), more.end());
  }
  return times;
}

BenchMedians::Limit best_limit(const BenchResult& result,
                               const std::vector<const Repetition*>& repetitions,
                               std::string_view prefix) {
  BenchMedians::Limit best;
  for (std::size_t contender = 1; contender < result.names.size(); ++contender) {
    if (result.names[contender].starts_with(prefix)) {
      const double us = median(pooled(repetitions, contender));
      if (best.name.empty() || us < best.us) {
        best = {result.names[contender], us};
      }
    }
  }
  return best;
}

/// Times of one peer, or of one of its parts.
std::vector<double> pooled_peer(const std::vector<const Repetition*>& repetitions, PeerKind kind,
                                std::vector<double> PeerRun::* times) {
  std::vector<double> all;
  for (const Repetition* repetition : repetitions) {
    for (const PeerRun& run : repetition->peers) {
      if (run.kind == kind) {
        all.insert(all.end(), (run.*times).begin(), (run.*times).end());
      }
    }
  }
  return all;
}

BenchMedians medians_of(const BenchResult& result,
                        const std::vector<const Repetition*>& repetitions) {
  BenchMedians medians;
  medians.ours_us = median(pooled(repetitions, 0));
  std::vector<double> trains;
  for (const Repetition* repetition : repetitions) {
    trains.insert(trains.end(), repetition->train_us.begin(), repetition->train_us.end());
  }
  medians.back_to_back_us = median(trains);
  medians.copy = best_limit(result, repetitions, "copy:");
  medians.read = best_limit(result, repetitions, "read:");
  for (const PeerPlan& plan : result.peers) {
    const auto times = pooled_peer(repetitions, plan.kind, &PeerRun::times_us);
    if (!times.empty()) {
      medians.peers_us.emplace_back(plan.kind, median(times));
    }
  }
  return medians;
}

std::vector<const Repetition*> all_of(const BenchResult& result) {
  std::vector<const Repetition*> repetitions;
  repetitions.reserve(result.repetitions.size());
  for (const Repetition& repetition : result.repetitions) {
    repetitions.push_back(&repetition);
  }
  return repetitions;
}

double rounded(double value) { return std::round(value * 1e4) / 1e4; }

/// A number, or null where there was nothing to measure.
Json number_or_null(double value, bool present) {
  return present ? Json(rounded(value)) : Json(nullptr);
}

Json skew_json(const bench::Skew& skew) {
  return {{"max_over_mean", rounded(skew.max_over_mean)}, {"gini", rounded(skew.gini)}};
}

void add_shape(const BenchResult& result, Json& document) {
  const BenchOptions& options = result.options;
  document["operation"] = to_string(options.operation);
  document["ranks"] = options.shape.ranks;
  document["tokens"] = options.shape.tokens;
  document["hidden"] = options.shape.hidden;
  document["experts"] = options.shape.experts;
  document["topk"] = options.shape.topk;
  document["dtype"] = to_string(options.shape.element);
  document["layout"] = to_string(options.layout);
  document["mode"] = result.choice.mode;
  document["fabric"] = "shm";
  document["protocol"] = result.choice.protocol;
  document["schedule"] = result.choice.schedule;
  document["routing"] = options.shape.routing.text;
  document["skew"] = {{"experts", skew_json(result.skew.experts)},
                      {"ranks", skew_json(result.skew.ranks)}};
  document["convention"] = "isolated";
  document["iterations"] = options.rounds.timed;
  document["warmup"] = options.rounds.warmup;
  document["repetitions"] = options.repetitions;
  document["seed"] = options.shape.seed;
  document["requested"] = {{"mode", to_string(options.mode)},
                           {"protocol", options.protocol},
                           {"schedule", options.schedule}};
}

Json repetition_json(const BenchMedians& medians) {
  const double mpi_us = medians.peer_us(PeerKind::kMpiAllToAll);
  Json document{
      {"median_us", rounded(medians.ours_us)},
      {"back_to_back_us", rounded(medians.back_to_back_us)},
      {"copy_limit_us", rounded(medians.limit_us())},
      {"peer_us", number_or_null(mpi_us, mpi_us > 0)},
      {"ratio_to_copy_limit", rounded(medians.ratio_to_limit())},
      {"ratio_to_peer", number_or_null(medians.ratio_to(PeerKind::kMpiAllToAll), mpi_us > 0)}};
  for (const auto& [kind, us] : medians.peers_us) {
    document["peers_us"][peer_name(kind)] = rounded(us);
  }
  return document;
}

/// One peer: its time and where it went, or why it did not run.
Json peer_json(const BenchResult& result, const PeerPlan& plan) {
  if (!plan.absent_because.empty()) {
    return {{"name", peer_name(plan.kind)}, {"because", plan.absent_because}};
  }
  const std::vector<const Repetition*> all = all_of(result);
  const BenchMedians medians = medians_of(result, all);
  const auto part_us = [&](std::vector<double> PeerRun::* part) {
    return rounded(median(pooled_peer(all, plan.kind, part)));
  };
  Json document{{"name", peer_name(plan.kind)},
                {"median_us", rounded(medians.peer_us(plan.kind))},
                {"ratio", rounded(medians.ratio_to(plan.kind))},
                {"counts_us", part_us(&PeerRun::counts_us)},
                {"permute_us", part_us(&PeerRun::permute_us)},
                {"exchange_us", part_us(&PeerRun::exchange_us)}};
  for (const PeerRun& run : result.repetitions.back().peers) {
    if (run.kind == plan.kind && peer_algorithms(plan.kind).size() > 1) {
      document["algorithm"] = run.algorithm;
    }
  }
  return document;
}

std::string us_text(double us) {
  return trace::format_duration(Duration(static_cast<std::int64_t>(us * 1e3)));
}

/// "10.2 ms .. 11.0 ms" over the repetitions.
template <typename Value>
std::string spread_of(const BenchResult& result, Value value) {
  std::vector<double> values;
  values.reserve(result.repetitions.size());
  for (std::size_t repetition = 0; repetition < result.repetitions.size(); ++repetition) {
    values.push_back(value(medians_of_one(result, repetition)));
  }
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return fmt::format("{} .. {}", us_text(*low), us_text(*high));
}

std::string limit_name(const BenchMedians& medians) {
  if (medians.copy.name.empty() || medians.read.name.empty()) {
    return medians.copy.name + medians.read.name;
  }
  return medians.copy.name + " + " + medians.read.name;
}

}  // namespace

std::string note_text(const BenchChoice& choice) {
  return Json{{"mode", choice.mode},
              {"protocol", choice.protocol},
              {"schedule", choice.schedule},
              {"reserved_bytes", choice.reserved_bytes},
              {"row_capacity", choice.row_capacity}}
      .dump();
}

BenchChoice choice_from_note(const std::string& note) {
  const Json json = Json::parse(note, nullptr, false);
  if (!json.is_object()) {
    return {};
  }
  return {.mode = json.value("mode", ""),
          .protocol = json.value("protocol", ""),
          .schedule = json.value("schedule", ""),
          .reserved_bytes = json.value("reserved_bytes", std::uint64_t{0}),
          .row_capacity = json.value("row_capacity", std::int64_t{0})};
}

double BenchMedians::peer_us(PeerKind kind) const {
  for (const auto& [candidate, us] : peers_us) {
    if (candidate == kind) {
      return us;
    }
  }
  return 0;
}

BenchMedians medians_of_all(const BenchResult& result) {
  return medians_of(result, all_of(result));
}

BenchMedians medians_of_one(const BenchResult& result, std::size_t repetition) {
  return medians_of(result, {&result.repetitions[repetition]});
}

std::string peer_parts_text(const BenchResult& result, PeerKind kind) {
  const std::vector<const Repetition*> all = all_of(result);
  const auto part = [&](std::vector<double> PeerRun::* times) {
    return us_text(median(pooled_peer(all, kind, times)));
  };
  return fmt::format("counts {}, permute {}, exchange {}", part(&PeerRun::counts_us),
                     part(&PeerRun::permute_us), part(&PeerRun::exchange_us));
}

bool BenchResult::verified() const {
  const bool peers_right =
      std::all_of(repetitions.begin(), repetitions.end(), [](const Repetition& repetition) {
        return std::all_of(repetition.peers.begin(), repetition.peers.end(),
                           [](const PeerRun& run) { return run.verified; });
      });
  return rows_checked > 0 && rows_wrong == 0 && peers_right;
}

Json bench_json(const BenchResult& result) {
  const BenchMedians medians = medians_of_all(result);
  const std::vector<double> ours = pooled(all_of(result), 0);
  const double bytes_moved = static_cast<double>(result.rows_moved) *
                             static_cast<double>(result.options.shape.row_bytes());
  const double mpi_us = medians.peer_us(PeerKind::kMpiAllToAll);
  Json document{{"schema", "crossdock.bench/1"}, {"version", version()}};
  add_shape(result, document);
  document["median_us"] = rounded(medians.ours_us);
  document["p99_us"] = rounded(bench::quantile(ours, 0.99));
  document["min_us"] = rounded(bench::quantile(ours, 0));
  document["back_to_back_us"] = rounded(medians.back_to_back_us);
  document["bytes_moved"] = static_cast<std::uint64_t>(bytes_moved);
  document["gb_per_s"] = rounded(medians.ours_us > 0 ? bytes_moved / medians.ours_us / 1e3 : 0);
  document["copy_limit_us"] = rounded(medians.limit_us());
  document["copy_limit"] = limit_name(medians);
  document["ratio_to_copy_limit"] = rounded(medians.ratio_to_limit());
  document["peer_us"] = number_or_null(mpi_us, mpi_us > 0);
  document["ratio_to_peer"] = number_or_null(medians.ratio_to(PeerKind::kMpiAllToAll), mpi_us > 0);
  document["peers"] = Json::array();
  for (const PeerPlan& plan : result.peers) {
    document["peers"].push_back(peer_json(result, plan));
  }
  document["verified"] = result.verified();
  document["rows_checked"] = result.rows_checked;
  document["rows_wrong"] = result.rows_wrong;
  document["origin"] = "measured";
  for (std::size_t repetition = 0; repetition < result.repetitions.size(); ++repetition) {
    document["by_repetition"].push_back(repetition_json(medians_of_one(result, repetition)));
  }
  for (std::size_t contender = 1; contender < result.names.size(); ++contender) {
    document["limits"].push_back(
        {{"name", result.names[contender]},
         {"median_us", rounded(median(pooled(all_of(result), contender)))}});
  }
  document["memory"] = {{"reserved_bytes", result.choice.reserved_bytes},
                        {"row_capacity", result.choice.row_capacity}};
  return document;
}

std::string bench_table(const BenchResult& result) {
  const bench::Shape& shape = result.options.shape;
  const BenchMedians medians = medians_of_all(result);
  std::string table = fmt::format(
      "{}: {} ranks, {} tokens each, hidden {}, {} experts, top-{}, {}, {} layout\n"
      "{} mode, {}, {} schedule; {} rows, {} per round; {} x {} rounds\n"
      "routing {}: busiest expert {:.2f} x the mean (gini {:.2f}), busiest rank {:.2f} x\n\n",
      to_string(result.options.operation), shape.ranks, shape.tokens, shape.hidden, shape.experts,
      shape.topk, to_string(shape.element), to_string(result.options.layout), result.choice.mode,
      result.choice.protocol, result.choice.schedule, result.rows_moved,
      format_bytes(static_cast<std::uint64_t>(result.rows_moved) * shape.row_bytes()),
      result.options.repetitions, result.options.rounds.timed, shape.routing.text,
      result.skew.experts.max_over_mean, result.skew.experts.gini, result.skew.ranks.max_over_mean);
  const auto row = [&](std::string_view name, double us, const auto& value,
                       const std::string& ratio) {
    table += fmt::format("  {:<32}{:>10}   {:<22}{}\n", name, us_text(us), spread_of(result, value),
                         ratio);
  };
  table += fmt::format("  {:<32}{:>10}   {:<22}\n", "", "median", "over repetitions");
  row("crossdock", medians.ours_us, [](const BenchMedians& m) { return m.ours_us; }, "");
  row(
      "crossdock, back to back", medians.back_to_back_us,
      [](const BenchMedians& m) { return m.back_to_back_us; }, "");
  row(
      "limit", medians.limit_us(), [](const BenchMedians& m) { return m.limit_us(); },
      fmt::format("{:.2f} of its speed ({})", medians.ratio_to_limit(), limit_name(medians)));
  for (const PeerPlan& plan : result.peers) {
    if (plan.absent_because.empty()) {
      row(
          peer_title(plan.kind), medians.peer_us(plan.kind),
          [&](const BenchMedians& m) { return m.peer_us(plan.kind); },
          fmt::format("{:.2f}x its speed", medians.ratio_to(plan.kind)));
    } else {
      table +=
          fmt::format("  {:<32}{:>10}   {}\n", peer_title(plan.kind), "-", plan.absent_because);
    }
  }
  table += fmt::format("\n{}: {} rows and sums compared bit by bit, {} differ\n",
                       result.verified() ? "VERIFIED" : "FAILED", result.rows_checked,
                       result.rows_wrong);
  return table;
}

}  // namespace crossdock::cli
