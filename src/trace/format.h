// SPDX-License-Identifier: Apache-2.0
// Times for people. Thread rule: pure functions.
#pragma once

#include <string>

#include "base/clock.h"

namespace crossdock::trace {

/// "0 ns", "850 ns", "12.3 us", "4.56 ms", "1.20 s": three digits that count.
[[nodiscard]] std::string format_duration(Duration duration);

}  // namespace crossdock::trace
