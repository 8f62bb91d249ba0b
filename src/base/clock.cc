// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"

#include <ctime>

namespace crossdock {
namespace {

class MonotonicClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override {
    // Not std::chrono::steady_clock: the standard does not say that it is equal in all processes.
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return {static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec};
  }
};

}  // namespace

const Clock& monotonic_clock() {
  static const MonotonicClock clock;
  return clock;
}

}  // namespace crossdock
