// SPDX-License-Identifier: Apache-2.0
// Which ticks may be compared. Thread rule: any thread.
#pragma once

#include <cstdint>

namespace crossdock::trace {

/// Names the monotonic clock that this process reads: equal for two processes exactly when they run
/// under the same boot of the same kernel and in the same time namespace (a time namespace may
/// shift the clock). When the system does not tell, the value is this process's own, so that its
/// ticks are never compared with those of another process. Never 0. Read once.
[[nodiscard]] std::uint64_t host_clock_domain();

}  // namespace crossdock::trace
