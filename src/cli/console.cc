// SPDX-License-Identifier: Apache-2.0
#include "cli/console.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "crossdock/status.h"
#include "trace/text_file.h"

namespace crossdock::cli {

void print_error(std::string_view command, std::string_view text) {
  std::string line = fmt::format("crossdock{}{}: {}", command.empty() ? "" : " ", command, text);
  std::replace(line.begin(), line.end(), '\n', ' ');
  fmt::print(stderr, "{}\n", line);
}

Progress::Progress(std::string command)
    : command_(std::move(command)),
      quiet_until_(monotonic_clock().now() + std::chrono::seconds(2)) {}

void Progress::tell(std::string_view what) {
  const Instant now = monotonic_clock().now();
  if (now < quiet_until_) {
    return;
  }
  quiet_until_ = now + std::chrono::seconds(5);
  fmt::print(stderr, "crossdock {}: {}\n", command_, what);
}

Status write_json(const std::string& target, const Json& document) {
  // Text that others wrote may be no UTF-8.
  const std::string text = document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  if (target != "-") {
    return trace::write_text_file(target, text);
  }
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    return {StatusKind::kIo, Scope::kProcess, "stdout cannot be written"};
  }
  return {};
}

}  // namespace crossdock::cli
