// SPDX-License-Identifier: Apache-2.0
// Time as a seam: code that measures or waits takes a Clock, so that tests and the simulator can
// supply their own.
// Vocabulary: an Instant is a point on one clock (instants of different clocks do not compare).
// All processes of a host share monotonic_clock()'s instants.
#pragma once

#include <atomic>
#include <chrono>
#include <compare>
#include <cstdint>
#include <limits>

namespace crossdock {

using Duration = std::chrono::nanoseconds;

/// Nanoseconds since the clock's own origin. Sums saturate: a huge timeout means "never".
struct Instant {
  std::int64_t ns = 0;

  friend constexpr auto operator<=>(const Instant&, const Instant&) = default;
  friend constexpr Instant operator+(Instant instant, Duration by) {
    std::int64_t sum = 0;
    if (__builtin_add_overflow(instant.ns, by.count(), &sum)) {
      sum = by.count() > 0 ? std::numeric_limits<std::int64_t>::max()
                           : std::numeric_limits<std::int64_t>::min();
    }
    return {sum};
  }
  friend constexpr Instant operator-(Instant instant, Duration by) {
    return instant + (by == Duration::min() ? Duration::max() : -by);
  }
  friend constexpr Duration operator-(Instant later, Instant earlier) {
    std::int64_t difference = 0;
    if (__builtin_sub_overflow(later.ns, earlier.ns, &difference)) {
      return later.ns > earlier.ns ? Duration::max() : Duration::min();
    }
    return Duration(difference);
  }
  constexpr Instant& operator+=(Duration by) { return *this = *this + by; }
  constexpr Instant& operator-=(Duration by) { return *this = *this - by; }
};

class Clock {
 public:
  virtual ~Clock() = default;
  /// Never goes backwards; never blocks.
  [[nodiscard]] virtual Instant now() const = 0;
};

/// CLOCK_MONOTONIC. Any thread.
[[nodiscard]] const Clock& monotonic_clock();

/// A clock that stands still until told otherwise. Any thread.
class ManualClock final : public Clock {
 public:
  ManualClock() = default;
  explicit ManualClock(Instant start) : ns_(start.ns) {}

  [[nodiscard]] Instant now() const override { return {ns_.load(std::memory_order_relaxed)}; }
  void advance(Duration by) { ns_.fetch_add(by.count(), std::memory_order_relaxed); }
  void set(Instant instant) { ns_.store(instant.ns, std::memory_order_relaxed); }

 private:
  std::atomic<std::int64_t> ns_{0};
};

/// The instant at which a wait gives up. Default-constructed: never.
class Deadline {
 public:
  constexpr Deadline() = default;
  [[nodiscard]] static constexpr Deadline never() { return {}; }
  [[nodiscard]] static constexpr Deadline at(Instant instant) { return Deadline(instant); }
  [[nodiscard]] static constexpr Deadline after(Instant now, Duration timeout) {
    return Deadline(now + timeout);
  }
  [[nodiscard]] static Deadline after(const Clock& clock, Duration timeout) {
    return after(clock.now(), timeout);
  }

  [[nodiscard]] constexpr bool is_never() const { return instant_ == kNever; }
  /// True from the instant itself on.
  [[nodiscard]] constexpr bool expired(Instant now) const { return !is_never() && now >= instant_; }
  /// Time left; zero once expired, Duration::max() for never.
  [[nodiscard]] constexpr Duration remaining(Instant now) const {
    if (is_never()) {
      return Duration::max();
    }
    return now >= instant_ ? Duration::zero() : instant_ - now;
  }
  [[nodiscard]] constexpr Instant instant() const { return instant_; }
  friend constexpr auto operator<=>(const Deadline&, const Deadline&) = default;

 private:
  static constexpr Instant kNever{std::numeric_limits<std::int64_t>::max()};
  constexpr explicit Deadline(Instant instant) : instant_(instant) {}

  Instant instant_ = kNever;
};

}  // namespace crossdock
