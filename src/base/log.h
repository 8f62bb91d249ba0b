// SPDX-License-Identifier: Apache-2.0
// One-line messages to stderr: "[rank 3] warn: text". Off the data path. Each line is one write, so
// that lines of several ranks do not mix. The rank is check_rank() of the calling thread.
// Thread rule: any thread.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string_view>
#include <utility>

namespace crossdock {

enum class LogLevel : std::uint8_t { kError, kWarn, kInfo, kDebug };

[[nodiscard]] std::string_view to_string(LogLevel level);

/// Messages above this level are dropped. CROSSDOCK_LOG sets it when settings() is first used;
/// before that it is kWarn.
void set_log_level(LogLevel level);
[[nodiscard]] bool log_enabled(LogLevel level);

/// Writes one line whatever the level is; line breaks in `text` become spaces.
void log_line(LogLevel level, std::string_view text);

template <typename... Args>
void log(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  if (log_enabled(level)) {
    log_line(level, fmt::format(format, std::forward<Args>(args)...));
  }
}
template <typename... Args>
void log_error(fmt::format_string<Args...> format, Args&&... args) {
  log(LogLevel::kError, format, std::forward<Args>(args)...);
}
template <typename... Args>
void log_warn(fmt::format_string<Args...> format, Args&&... args) {
  log(LogLevel::kWarn, format, std::forward<Args>(args)...);
}
template <typename... Args>
void log_info(fmt::format_string<Args...> format, Args&&... args) {
  log(LogLevel::kInfo, format, std::forward<Args>(args)...);
}
template <typename... Args>
void log_debug(fmt::format_string<Args...> format, Args&&... args) {
  log(LogLevel::kDebug, format, std::forward<Args>(args)...);
}

}  // namespace crossdock
