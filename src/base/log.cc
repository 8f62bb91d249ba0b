// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <string>
#include <string_view>

#include "base/check.h"

namespace crossdock {
namespace {

std::atomic<LogLevel> log_threshold{LogLevel::kWarn};

}  // namespace

std::string_view to_string(LogLevel level) {
  switch (level) {
    case LogLevel::kError:
      return "error";
    case LogLevel::kWarn:
      return "warn";
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kDebug:
      return "debug";
  }
  return "unknown";
}

void set_log_level(LogLevel level) { log_threshold.store(level, std::memory_order_relaxed); }

bool log_enabled(LogLevel level) { return level <= log_threshold.load(std::memory_order_relaxed); }

void log_line(LogLevel level, std::string_view text) {
  std::string line = check_rank() < 0
                         ? fmt::format("[crossdock] {}: {}", to_string(level), text)
                         : fmt::format("[rank {}] {}: {}", check_rank(), to_string(level), text);
  std::replace(line.begin(), line.end(), '\n', ' ');
  line += '\n';
  std::fwrite(line.data(), 1, line.size(), stderr);
  std::fflush(stderr);
}

}  // namespace crossdock
