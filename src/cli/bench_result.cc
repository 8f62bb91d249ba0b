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

/// The best contender whose name begins with `prefix`.
struct Limit {
  std::string name;
  double us = 0;
};

/// Medians of one repetition or of all together: the same arithmetic for both.
struct Medians {
  double ours_us = 0;
  Limit copy;  // dispatch and roundtrip
  Limit read;  // combine and roundtrip
  double peer_us = 0;

  /// What the round could take at best.
  [[nodiscard]] double limit_us() const { return copy.us + read.us; }
  [[nodiscard]] double ratio_to_limit() const { return ours_us > 0 ? limit_us() / ours_us : 0; }
  [[nodiscard]] double ratio_to_peer() const { return ours_us > 0 ? peer_us / ours_us : 0; }
};

std::vector<double> pooled(const std::vector<const Repetition*>& repetitions,
                           std::size_t contender) {
  std::vector<double> times;
  for (const Repetition* repetition : repetitions) {
    const auto& more = repetition->times_us[contender];
    times.insert(times.end(), more.begin(), more.end());
  }
  return times;
}

Limit best_limit(const BenchResult& result, const std::vector<const Repetition*>& repetitions,
                 std::string_view prefix) {
  Limit best;
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

Medians medians_of(const BenchResult& result, const std::vector<const Repetition*>& repetitions) {
  Medians medians;
  medians.ours_us = median(pooled(repetitions, 0));
  medians.copy = best_limit(result, repetitions, "copy:");
  medians.read = best_limit(result, repetitions, "read:");
  std::vector<double> peer;
  for (const Repetition* repetition : repetitions) {
    if (repetition->peer) {
      peer.insert(peer.end(), repetition->peer->times_us.begin(), repetition->peer->times_us.end());
    }
  }
  medians.peer_us = median(peer);
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
  document["routing"] = "uniform";
  document["convention"] = "isolated";
  document["iterations"] = options.rounds.timed;
  document["warmup"] = options.rounds.warmup;
  document["repetitions"] = options.repetitions;
  document["seed"] = options.shape.seed;
  document["requested"] = {{"mode", to_string(options.mode)},
                           {"protocol", options.protocol},
                           {"schedule", options.schedule}};
}

Json repetition_json(const BenchResult& result, const Repetition& repetition) {
  const Medians medians = medians_of(result, {&repetition});
  const bool has_peer = repetition.peer.has_value();
  return {{"median_us", rounded(medians.ours_us)},
          {"copy_limit_us", rounded(medians.limit_us())},
          {"peer_us", number_or_null(medians.peer_us, has_peer)},
          {"ratio_to_copy_limit", rounded(medians.ratio_to_limit())},
          {"ratio_to_peer", number_or_null(medians.ratio_to_peer(), has_peer)}};
}

Json peer_json(const BenchResult& result) {
  std::vector<double> counts;
  std::vector<double> permute;
  std::vector<double> exchange;
  const PeerRun* any = nullptr;
  for (const Repetition& repetition : result.repetitions) {
    if (repetition.peer) {
      any = &*repetition.peer;
      counts.insert(counts.end(), any->counts_us.begin(), any->counts_us.end());
      permute.insert(permute.end(), any->permute_us.begin(), any->permute_us.end());
      exchange.insert(exchange.end(), any->exchange_us.begin(), any->exchange_us.end());
    }
  }
  if (any == nullptr) {
    return {{"name", "none"}, {"because", result.peer_absent_because}};
  }
  return {{"name", "mpi_alltoallv"},
          {"algorithm", any->algorithm},
          {"counts_us", rounded(median(counts))},
          {"permute_us", rounded(median(permute))},
          {"exchange_us", rounded(median(exchange))}};
}

std::string us_text(double us) {
  return trace::format_duration(Duration(static_cast<std::int64_t>(us * 1e3)));
}

/// "10.2 ms .. 11.0 ms" over the repetitions.
template <typename Value>
std::string spread_of(const BenchResult& result, Value value) {
  std::vector<double> values;
  values.reserve(result.repetitions.size());
  for (const Repetition& repetition : result.repetitions) {
    values.push_back(value(medians_of(result, {&repetition})));
  }
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return fmt::format("{} .. {}", us_text(*low), us_text(*high));
}

std::string limit_name(const Medians& medians) {
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

bool BenchResult::verified() const {
  const bool peers_right = std::all_of(
      repetitions.begin(), repetitions.end(),
      [](const Repetition& repetition) { return !repetition.peer || repetition.peer->verified; });
  return rows_checked > 0 && rows_wrong == 0 && peers_right;
}

Json bench_json(const BenchResult& result) {
  const std::vector<const Repetition*> all = all_of(result);
  const Medians medians = medians_of(result, all);
  const std::vector<double> ours = pooled(all, 0);
  const double bytes_moved = static_cast<double>(result.rows_moved) *
                             static_cast<double>(result.options.shape.row_bytes());
  const Json peer = peer_json(result);
  const bool has_peer = peer.at("name") != "none";
  Json document{{"schema", "crossdock.bench/1"}, {"version", version()}};
  add_shape(result, document);
  document["median_us"] = rounded(medians.ours_us);
  document["p99_us"] = rounded(bench::quantile(ours, 0.99));
  document["min_us"] = rounded(bench::quantile(ours, 0));
  document["bytes_moved"] = static_cast<std::uint64_t>(bytes_moved);
  document["gb_per_s"] = rounded(medians.ours_us > 0 ? bytes_moved / medians.ours_us / 1e3 : 0);
  document["copy_limit_us"] = rounded(medians.limit_us());
  document["copy_limit"] = limit_name(medians);
  document["ratio_to_copy_limit"] = rounded(medians.ratio_to_limit());
  document["peer_us"] = number_or_null(medians.peer_us, has_peer);
  document["ratio_to_peer"] = number_or_null(medians.ratio_to_peer(), has_peer);
  document["peer"] = peer;
  document["verified"] = result.verified();
  document["rows_checked"] = result.rows_checked;
  document["rows_wrong"] = result.rows_wrong;
  document["origin"] = "measured";
  for (const Repetition& repetition : result.repetitions) {
    document["by_repetition"].push_back(repetition_json(result, repetition));
  }
  for (std::size_t contender = 1; contender < result.names.size(); ++contender) {
    document["limits"].push_back({{"name", result.names[contender]},
                                  {"median_us", rounded(median(pooled(all, contender)))}});
  }
  document["memory"] = {{"reserved_bytes", result.choice.reserved_bytes},
                        {"row_capacity", result.choice.row_capacity}};
  return document;
}

std::string bench_table(const BenchResult& result) {
  const bench::Shape& shape = result.options.shape;
  const Medians medians = medians_of(result, all_of(result));
  std::string table = fmt::format(
      "{}: {} ranks, {} tokens each, hidden {}, {} experts, top-{}, {}, {} layout\n"
      "{} mode, {}, {} schedule; {} rows, {} per round; {} x {} isolated rounds\n\n",
      to_string(result.options.operation), shape.ranks, shape.tokens, shape.hidden, shape.experts,
      shape.topk, to_string(shape.element), to_string(result.options.layout), result.choice.mode,
      result.choice.protocol, result.choice.schedule, result.rows_moved,
      format_bytes(static_cast<std::uint64_t>(result.rows_moved) * shape.row_bytes()),
      result.options.repetitions, result.options.rounds.timed);
  const auto row = [&](std::string_view name, double us, const std::string& spread,
                       const std::string& ratio) {
    table += fmt::format("  {:<12}{:>10}   {:<22}{}\n", name, us_text(us), spread, ratio);
  };
  table += fmt::format("  {:<12}{:>10}   {:<22}\n", "", "median", "over repetitions");
  row("crossdock", medians.ours_us, spread_of(result, [](const Medians& m) { return m.ours_us; }),
      "");
  row("limit", medians.limit_us(), spread_of(result, [](const Medians& m) { return m.limit_us(); }),
      fmt::format("{:.2f} of the limit's speed ({})", medians.ratio_to_limit(),
                  limit_name(medians)));
  if (medians.peer_us > 0) {
    row("MPI", medians.peer_us, spread_of(result, [](const Medians& m) { return m.peer_us; }),
        fmt::format("{:.2f}x the speed of MPI_Alltoallv + permute", medians.ratio_to_peer()));
  } else {
    table += fmt::format("  {:<12}{:>10}   {}\n", "MPI", "-", result.peer_absent_because);
  }
  table += fmt::format("\n{}: {} rows and sums compared bit by bit, {} differ\n",
                       result.verified() ? "VERIFIED" : "FAILED", result.rows_checked,
                       result.rows_wrong);
  return table;
}

}  // namespace crossdock::cli
