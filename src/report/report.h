// SPDX-License-Identifier: Apache-2.0
// What a run shows to people: one self-contained HTML page, made from plain data. The page works
// from file:// and asks nobody for anything; it draws what is given and leaves out what is not.
// Every number carries its origin. Thread rule: plain values and pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "crossdock/status.h"
#include "trace/recorder.h"

namespace crossdock::report {

/// Where a number comes from.
enum class Origin : std::uint8_t { kMeasured, kSimulated, kDerived, kPublished, kAssumed };

struct Provenance {
  std::string command;  // the command line that makes this page again
  std::string host;     // e.g. the processor's name
  int core_count = 0;   // cores this process may use; 0: not told
  std::string date;     // as it shall be shown; the page computes nothing from it
  std::string version;  // of the library
};

enum class Verdict : std::uint8_t { kNone, kVerified, kFailed };

/// A line of the summary. `value` is shown as it is: format it with its unit.
struct Fact {
  std::string name;
  std::string value;
  Origin origin = Origin::kMeasured;
  std::string note;  // shown in the tooltip; may be empty
};

/// Routes from source ranks to experts.
struct RouteMap {
  int rank_count = 0;
  std::vector<int> expert_rank;       // [E]: who owns the expert
  std::vector<std::uint64_t> routes;  // [rank * E + expert]
  Origin origin = Origin::kMeasured;
};

/// One step of a followed token. Fields that do not apply stay at their defaults and are left out.
struct JourneyStep {
  trace::Operation operation = trace::Operation::kDispatch;
  std::uint16_t stage = 0;  // trace stage id
  std::string what;         // one clause for people: "row written into rank 3's window"
  int rank = -1;            // where it happens
  int lane = -1;
  int expert = -1;
  std::int64_t slot = -1;                // row index at its destination
  std::optional<std::uint64_t> address;  // byte offset in that rank's window
  std::uint64_t row_bytes = 0;
  std::string proof;           // what shows that the bytes are there: "tail of epoch 7 from rank 0"
  std::int64_t begin_ns = -1;  // since the first rank's start of the round
  std::int64_t end_ns = -1;
};

struct Journey {
  int rank = 0;
  std::int64_t token = 0;
  std::uint64_t round = 0;
  std::vector<JourneyStep> steps;
};

enum class BarKind : std::uint8_t { kOurs, kPeer, kLimit };

struct Bar {
  std::string name;
  double value = 0;
  BarKind kind = BarKind::kPeer;
  Origin origin = Origin::kMeasured;
  std::string note;  // tooltip: percentiles, configuration
};

enum class Better : std::uint8_t { kLower, kHigher };

/// Bars that share an axis. Ratios to the first kOurs bar are computed by the page.
struct BarGroup {
  std::string title;
  std::string unit;  // "us", "GB/s"
  Better better = Better::kLower;
  std::vector<Bar> bars;
};

/// Points (x, y) with x ascending; both above 0, since the axes are logarithmic.
struct PlotLine {
  std::string name;
  BarKind kind = BarKind::kPeer;
  Origin origin = Origin::kMeasured;
  std::vector<std::pair<double, double>> points;
};

struct Plot {
  std::string title;
  std::string x;     // what the horizontal axis counts: "tokens per rank"
  std::string unit;  // of the vertical one
  std::vector<PlotLine> lines;
};

struct Report {
  std::string title;
  std::string summary;  // one sentence below the title; may be empty
  Provenance provenance;
  Verdict verdict = Verdict::kNone;
  std::string verdict_text;  // what was checked, or what is wrong; one line
  std::vector<Fact> facts;
  std::optional<RouteMap> routes;
  std::vector<trace::RankTrace> traces;  // timeline, planes, stages and waits come from these
  Origin trace_origin = Origin::kMeasured;
  std::optional<Journey> journey;
  std::vector<BarGroup> bars;
  std::vector<Plot> plots;
  /// Rounds whose spans are in the page; of more, the slowest, the median, the fastest and the last
  /// ones are taken, and the page says so. Sums are over all rounds in any case.
  std::size_t timeline_rounds_max = 32;
};

/// kInvalidArgument when parts contradict each other: a route table of the wrong size, an owner
/// that is no rank, traces that do not belong together, a bar that is negative or not a number, a
/// point of a plot that is not above 0, a plot without points.
Result<std::string> make_html(const Report& report);

/// The same into a file, which is written whole or not at all; kIo with path and reason.
Status write_report(const Report& report, const std::string& path);

[[nodiscard]] std::string_view to_string(Origin origin);

}  // namespace crossdock::report
