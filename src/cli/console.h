// SPDX-License-Identifier: Apache-2.0
// What the program says: errors as one line on stderr, progress on stderr once work takes longer
// than two seconds, machine-readable results to a file or stdout.
// Thread rule: one thread.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "crossdock/status.h"

namespace crossdock::cli {

using Json = nlohmann::ordered_json;

/// "crossdock demo: text", on one line.
void print_error(std::string_view command, std::string_view text);

/// Lines such as "crossdock bench: repetition 2 of 3"; none in the first two seconds, at most one
/// in five seconds after.
class Progress {
 public:
  explicit Progress(std::string command);
  void tell(std::string_view what);

 private:
  std::string command_;
  Instant quiet_until_;
};

/// `target` is a path or "-" for stdout. kIo when it cannot be written.
Status write_json(const std::string& target, const Json& document);

}  // namespace crossdock::cli
