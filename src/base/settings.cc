// SPDX-License-Identifier: Apache-2.0
#include "base/settings.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/parse.h"
#include "base/status_macros.h"
#include "crossdock/status.h"
#include "crossdock/types.h"

namespace crossdock {
namespace {

constexpr std::string_view kPrefix = "CROSSDOCK_";

enum class Visibility : std::uint8_t { kShown, kSecret };

struct SettingRow {
  std::string_view name;
  std::string_view type;
  std::string_view default_text;
  std::string_view allowed;
  std::string_view help;
  Status (*apply)(std::string_view text, Settings& into);
  Visibility visibility = Visibility::kShown;
};

template <int Settings::* member, std::int64_t min, std::int64_t max>
Status apply_int(std::string_view text, Settings& into) {
  CROSSDOCK_ASSIGN_OR_RETURN(const std::int64_t value, parse_int64(text, {min, max}));
  into.*member = static_cast<int>(value);
  return {};
}

template <Duration Settings::* member, std::int64_t min_ns>
Status apply_seconds(std::string_view text, Settings& into) {
  CROSSDOCK_ASSIGN_OR_RETURN(into.*member, parse_seconds(text, {Duration(min_ns), kDurationMax}));
  return {};
}

template <bool Settings::* member>
Status apply_bool(std::string_view text, Settings& into) {
  CROSSDOCK_ASSIGN_OR_RETURN(into.*member, parse_bool(text));
  return {};
}

Status apply_spins(std::string_view text, Settings& into) {
  CROSSDOCK_ASSIGN_OR_RETURN(into.spin_count, parse_int64(text, {-1, 1'000'000'000}));
  return {};
}

Status apply_memory_budget(std::string_view text, Settings& into) {
  CROSSDOCK_ASSIGN_OR_RETURN(into.memory_budget_bytes, parse_byte_size(text, {0, 1ULL << 60}));
  return {};
}

Status apply_huge_pages(std::string_view text, Settings& into) {
  CROSSDOCK_ASSIGN_OR_RETURN(const std::size_t index,
                             parse_choice(text, {"auto", "off", "require"}));
  into.huge_pages = static_cast<HugePages>(index);
  return {};
}

Status apply_way(std::string_view text, Settings& into) {
  CROSSDOCK_ASSIGN_OR_RETURN(const std::size_t index,
                             parse_choice(text, {"auto", "direct", "queued"}));
  into.way = static_cast<Way>(index);
  return {};
}

Status apply_queue_depth(std::string_view text, Settings& into) {
  CROSSDOCK_ASSIGN_OR_RETURN(into.queue_depth, parse_int64(text, {2, 65536}));
  return {};
}

Status apply_log_level(std::string_view text, Settings& into) {
  CROSSDOCK_ASSIGN_OR_RETURN(const std::size_t index,
                             parse_choice(text, {"error", "warn", "info", "debug"}));
  into.log_level = static_cast<LogLevel>(index);
  return {};
}

Status apply_job_secret(std::string_view text, Settings& into) {
  into.job_secret = text;
  return {};
}

Status apply_bootstrap(std::string_view text, Settings& into) {
  CROSSDOCK_RETURN_IF_ERROR(parse_host_port(text).status());
  into.bootstrap = text;
  return {};
}

constexpr int kIntMax = std::numeric_limits<int>::max();
constexpr int kRankLimit = 1 << 20;

constexpr std::array<SettingRow, 16> kTable = {{
    {"CROSSDOCK_TIMEOUT", "seconds", "100", "> 0", "deadline of every wait",
     &apply_seconds<&Settings::timeout, 1>},
    {"CROSSDOCK_STILL_WAITING", "seconds", "5", ">= 0",
     "time between 'still waiting' lines; 0: none", &apply_seconds<&Settings::still_waiting, 0>},
    {"CROSSDOCK_SPINS", "integer", "-1", "-1 .. 1000000000",
     "polls of a wait before it yields; -1: by the number of cores", &apply_spins},
    {"CROSSDOCK_MEMORY_BUDGET", "bytes", "0", "0 .. 1048576TiB, like 64MiB",
     "what one rank's buffer may reserve for rows when row_capacity is 0; 0: 2GiB",
     &apply_memory_budget},
    {"CROSSDOCK_HUGE_PAGES", "choice", "auto", "auto, off, require",
     "huge pages for windows; require: an error when there are none", &apply_huge_pages},
    {"CROSSDOCK_WAY", "choice", "auto", "auto, direct, queued",
     "who moves bytes: the caller, or a copy engine beside it; auto: direct", &apply_way},
    {"CROSSDOCK_QUEUE_DEPTH", "integer", "1024", "2 .. 65536",
     "queued way: requests under way to one peer, rounded up to a power of two",
     &apply_queue_depth},
    {"CROSSDOCK_TRACE", "yes/no", "0", "1, true, yes, on, 0, false, no, off",
     "record spans of every stage", &apply_bool<&Settings::trace>},
    {"CROSSDOCK_LOG", "choice", "warn", "error, warn, info, debug",
     "the least important messages that are shown", &apply_log_level},
    {"CROSSDOCK_RANK", "integer", "", "0 .. 1048575", "this process's rank (set by the launcher)",
     &apply_int<&Settings::rank, 0, kRankLimit - 1>},
    {"CROSSDOCK_SIZE", "integer", "", "1 .. 1048576", "number of ranks (set by the launcher)",
     &apply_int<&Settings::size, 1, kRankLimit>},
    {"CROSSDOCK_JOB_SECRET", "text", "", "any text",
     "proves that a process belongs to the job (set by the launcher; never shown)",
     &apply_job_secret, Visibility::kSecret},
    {"CROSSDOCK_BOOTSTRAP", "host:port", "", "HOST:PORT, port 1 .. 65535",
     "where rank 0 listens for the others", &apply_bootstrap},
    {"CROSSDOCK_BOOTSTRAP_FD", "integer", "", "0 .. 2147483647",
     "inherited socket that rank 0 listens on (set by the launcher)",
     &apply_int<&Settings::bootstrap_fd, 0, kIntMax>},
    {"CROSSDOCK_LAUNCHED", "yes/no", "0", "1, true, yes, on, 0, false, no, off",
     "the process was started by `crossdock launch` (set by the launcher)",
     &apply_bool<&Settings::launched>},
    {"CROSSDOCK_GRACE", "seconds", "3", ">= 0",
     "after a rank failed, time for the others to report before the launcher ends them",
     &apply_seconds<&Settings::grace, 0>},
}};

const SettingRow* find_row(std::string_view name) {
  const auto* const row = std::find_if(kTable.begin(), kTable.end(),
                                       [&](const SettingRow& each) { return each.name == name; });
  return row == kTable.end() ? nullptr : row;
}

/// Puts every good value into `into`; returns the first error.
Status apply_environment(const Environment& environment, Settings& into) {
  Status first;
  for (const auto& [name, value] : environment) {
    const SettingRow* const row = find_row(name);
    if (row == nullptr) {
      continue;
    }
    const Status status = row->apply(value, into);
    if (!status.ok() && first.ok()) {
      const std::string shown = row->visibility == Visibility::kSecret ? "(hidden)" : quote(value);
      first =
          Status(StatusKind::kInvalidArgument, Scope::kProcess,
                 fmt::format("environment variable {}={}; allowed: {}", name, shown, row->allowed));
    }
  }
  return first;
}

struct ProcessSettings {
  Settings settings;
  Status status;
};

const ProcessSettings& process_settings() {
  static const ProcessSettings kept = [] {
    ProcessSettings fresh;
    const Environment environment = process_environment();
    fresh.status = apply_environment(environment, fresh.settings);
    set_log_level(fresh.settings.log_level);
    for (const std::string& warning : unknown_setting_warnings(environment)) {
      log_warn("{}", warning);
    }
    return fresh;
  }();
  return kept;
}

}  // namespace

std::string_view to_string(HugePages huge_pages) {
  switch (huge_pages) {
    case HugePages::kAuto:
      return "auto";
    case HugePages::kOff:
      return "off";
    case HugePages::kRequire:
      return "require";
  }
  return "unknown";
}

Result<Settings> parse_settings(const Environment& environment) {
  Settings parsed;
  CROSSDOCK_RETURN_IF_ERROR(apply_environment(environment, parsed));
  return parsed;
}

std::vector<std::string> unknown_setting_warnings(const Environment& environment) {
  std::vector<std::string_view> known;
  for (const SettingRow& row : kTable) {
    known.push_back(row.name);
  }
  std::vector<std::string> warnings;
  for (const auto& [name, value] : environment) {
    if (!std::string_view(name).starts_with(kPrefix) || find_row(name) != nullptr) {
      continue;
    }
    const std::string_view nearest = nearest_name(name, known);
    const std::string advice = nearest.empty() ? "`crossdock info --env` lists the known ones"
                                               : fmt::format("did you mean {}?", nearest);
    warnings.push_back(
        fmt::format("environment variable {} is unknown and ignored; {}", quote(name), advice));
  }
  return warnings;
}

std::string render_settings(const Environment& environment) {
  std::string text;
  for (const SettingRow& row : kTable) {
    // The last entry wins, as in apply_environment.
    const auto found = std::find_if(environment.rbegin(), environment.rend(),
                                    [&](const auto& entry) { return entry.first == row.name; });
    std::string value = row.default_text.empty() ? "(none)" : std::string(row.default_text);
    std::string_view origin = "default";
    if (found != environment.rend()) {
      Settings scratch;
      const bool allowed = row.apply(found->second, scratch).ok();
      value = allowed ? found->second : quote(found->second);
      origin = allowed ? "environment" : "environment, NOT ALLOWED";
      if (row.visibility == Visibility::kSecret) {
        value = "(hidden)";
      }
    }
    text += fmt::format("{} = {}  [{}]\n    {}; default {}; allowed {}\n    {}\n", row.name, value,
                        origin, row.type, row.default_text.empty() ? "none" : row.default_text,
                        row.allowed, row.help);
  }
  return text;
}

std::string settings_default_mismatch() {
  const Settings expected;
  for (const SettingRow& row : kTable) {
    Settings applied;
    // An empty default text stands for "not given", which no text can say.
    if (!row.default_text.empty() &&
        (!row.apply(row.default_text, applied).ok() || applied != expected)) {
      return std::string(row.name);
    }
  }
  return {};
}

const Settings& settings() { return process_settings().settings; }

Status settings_status() { return process_settings().status; }

Environment process_environment() {
  Environment environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals != std::string_view::npos) {
      environment.emplace_back(text.substr(0, equals), text.substr(equals + 1));
    }
  }
  return environment;
}

std::optional<std::string> environment_variable(const std::string& name) {
  const char* const value = std::getenv(name.c_str());  // NOLINT(concurrency-mt-unsafe)
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

}  // namespace crossdock
