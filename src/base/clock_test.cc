// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"

#include <gtest/gtest.h>

#include <chrono>
#include <limits>

namespace crossdock {
namespace {

using std::chrono::seconds;

TEST(Instant, SumsAndDifferencesAreExact) {
  const Instant start{100};
  EXPECT_EQ((start + Duration(5)).ns, 105);
  EXPECT_EQ((start - Duration(5)).ns, 95);
  EXPECT_EQ(Instant{130} - start, Duration(30));
  EXPECT_LT(start, Instant{101});
}

TEST(Instant, SumsSaturateAndDoNotWrap) {
  const Instant last{std::numeric_limits<std::int64_t>::max()};
  EXPECT_EQ(Instant{10} + Duration::max(), last);
  EXPECT_EQ(Instant{-10} - Duration::max(), Instant{std::numeric_limits<std::int64_t>::min()});
  EXPECT_EQ(last - Instant{-1}, Duration::max());
}

TEST(Clock, TheMonotonicClockDoesNotGoBack) {
  const Instant first = monotonic_clock().now();
  const Instant second = monotonic_clock().now();
  EXPECT_LE(first, second);
  EXPECT_GT(first.ns, 0);
}

TEST(Clock, AManualClockStandsStillUntilAdvanced) {
  ManualClock clock(Instant{7});
  EXPECT_EQ(clock.now(), Instant{7});
  EXPECT_EQ(clock.now(), Instant{7});
  clock.advance(seconds(1));
  EXPECT_EQ(clock.now().ns, 1'000'000'007);
  clock.set(Instant{2});
  EXPECT_EQ(clock.now().ns, 2);
}

TEST(Deadline, ExpiresAtItsInstantAndNotBefore) {
  const Deadline deadline = Deadline::after(Instant{0}, Duration(100));
  EXPECT_FALSE(deadline.expired(Instant{99}));
  EXPECT_TRUE(deadline.expired(Instant{100}));
  EXPECT_EQ(deadline.remaining(Instant{40}), Duration(60));
  EXPECT_EQ(deadline.remaining(Instant{400}), Duration::zero());
}

TEST(Deadline, TheDefaultAndAnEndlessTimeoutNeverExpire) {
  const Instant last{std::numeric_limits<std::int64_t>::max()};
  EXPECT_FALSE(Deadline().expired(last));
  EXPECT_FALSE(Deadline::after(Instant{5}, Duration::max()).expired(last));
  EXPECT_EQ(Deadline::never().remaining(Instant{5}), Duration::max());
}

TEST(Deadline, FollowsTheClockItIsGiven) {
  ManualClock clock;
  const Deadline deadline = Deadline::after(clock, seconds(2));
  EXPECT_FALSE(deadline.expired(clock.now()));
  clock.advance(seconds(2));
  EXPECT_TRUE(deadline.expired(clock.now()));
}

}  // namespace
}  // namespace crossdock
