// SPDX-License-Identifier: Apache-2.0
// The CROSSDOCK_* environment variables: one table (settings.cc) with name, type, default, allowed
// values and help, parsed strictly and independent of the locale. The environment is read here and
// nowhere else.
// Thread rule: settings() and settings_status() from any thread; the rest are pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "crossdock/status.h"
#include "crossdock/types.h"

namespace crossdock {

enum class HugePages : std::uint8_t { kAuto, kOff, kRequire };

[[nodiscard]] std::string_view to_string(HugePages huge_pages);

/// Member order is table order. Defaults here are the defaults of the table.
struct Settings {
  Duration timeout = std::chrono::seconds(100);      // of every wait
  Duration still_waiting = std::chrono::seconds(5);  // between "still waiting" lines; 0: none
  std::int64_t spin_count = -1;                      // polls before yielding; -1: automatic
  std::uint64_t memory_budget_bytes = 0;             // of one rank's buffer; 0: 2 GiB
  HugePages huge_pages = HugePages::kAuto;
  Way way = Way::kAuto;             // who moves bytes inside a host
  std::int64_t queue_depth = 1024;  // queued way: requests of one queue
  bool trace = false;
  LogLevel log_level = LogLevel::kWarn;
  // How ranks find each other; set by the launcher.
  int rank = -1;  // -1: not given
  int size = -1;  // -1: not given
  std::string job_secret;
  std::string bootstrap;                     // "host:port"
  int bootstrap_fd = -1;                     // an inherited descriptor; -1: none
  bool launched = false;                     // started by `crossdock launch`
  Duration grace = std::chrono::seconds(3);  // in which other ranks may report after a failure

  friend bool operator==(const Settings&, const Settings&) = default;
};

using Environment = std::vector<std::pair<std::string, std::string>>;

/// Pure. A bad value is kInvalidArgument naming variable, value and what is allowed.
Result<Settings> parse_settings(const Environment& environment);

/// One line for each CROSSDOCK_* name that is in no table, with the nearest known name.
[[nodiscard]] std::vector<std::string> unknown_setting_warnings(const Environment& environment);

/// The table as text: name, type, default, allowed, help, and each current value with its origin
/// (default or environment). The job secret is never shown.
[[nodiscard]] std::string render_settings(const Environment& environment);

/// The first name whose default in the table is not the default of Settings; "" when all agree.
/// For the tests.
[[nodiscard]] std::string settings_default_mismatch();

/// This process's settings, parsed at the first use and never again; the first use also sets the
/// log level and prints the warnings. A bad variable has its default here, so whoever opens
/// something must return settings_status() first.
[[nodiscard]] const Settings& settings();
Status settings_status();

/// The process's environment now, and one variable of it (for RANK, WORLD_SIZE and the like).
[[nodiscard]] Environment process_environment();
[[nodiscard]] std::optional<std::string> environment_variable(const std::string& name);

}  // namespace crossdock
