// SPDX-License-Identifier: Apache-2.0
// What one thread can see of a send ring.
#include "fabric/queue/send_ring.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace crossdock::fabric {
namespace {

// Remembers what it was handed and performs nothing.
struct Ledger final : DoorbellTarget {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
  void submit(std::uint64_t begin, std::uint64_t end) override { ranges.emplace_back(begin, end); }
};

using Ranges = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

TEST(SendRing, ADoorbellCoversTheDonePrefixAndStopsAtAHole) {
  SendRing<> ring({.depth = 8});
  Ledger target;
  const auto first = ring.try_reserve(2);
  const auto second = ring.try_reserve(3);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(second->begin, first->end);
  for (const std::uint64_t position : {0U, 2U, 3U, 4U}) {
    ring.mark_done(position);
  }
  ring.ring_doorbell(target);
  EXPECT_EQ(target.ranges, (Ranges{{0, 1}}));
  ring.mark_done(1);
  ring.ring_doorbell(target);
  EXPECT_EQ(target.ranges, (Ranges{{0, 1}, {1, 5}}));
}

TEST(SendRing, ADoorbellWithNothingNewIsNotTold) {
  SendRing<> ring({.depth = 4});
  Ledger target;
  ring.ring_doorbell(target);
  static_cast<void>(ring.try_reserve(1));
  ring.ring_doorbell(target);
  EXPECT_TRUE(target.ranges.empty());
}

TEST(SendRing, IsFullUntilTheTargetCompletes) {
  SendRing<> ring({.depth = 4});
  Ledger target;
  ASSERT_TRUE(ring.try_reserve(4));
  EXPECT_FALSE(ring.try_reserve(1));
  for (std::uint64_t position = 0; position < 4; ++position) {
    ring.mark_done(position);
  }
  ring.ring_doorbell(target);
  EXPECT_FALSE(ring.try_reserve(1)) << "submitted is not completed";
  ring.complete(2);
  EXPECT_FALSE(ring.try_reserve(3));
  const auto next = ring.try_reserve(2);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->begin, 4U);
}

TEST(SendRing, MarksOfAnEarlierLapAreNotDone) {
  SendRing<> ring({.depth = 2});
  Ledger target;
  for (std::uint64_t lap = 0; lap < 5; ++lap) {
    const auto taken = ring.try_reserve(2);
    ASSERT_TRUE(taken);
    ring.mark_done(taken->begin + 1);
    ring.ring_doorbell(target);
    EXPECT_EQ(target.ranges.size(), lap) << "the hole holds the mark of lap " << lap - 1;
    ring.mark_done(taken->begin);
    ring.ring_doorbell(target);
    ASSERT_EQ(target.ranges.size(), lap + 1);
    ring.complete(taken->end);
  }
}

TEST(SendRing, PositionsAreWiderThanAnySlotIndex) {
  constexpr std::uint64_t kFirst = (std::uint64_t{1} << 32) - 3;
  SendRing<> ring({.depth = 4, .staging_bytes = 8, .first_position = kFirst});
  Ledger target;
  for (std::uint64_t position = kFirst; position < kFirst + 12; ++position) {
    const auto taken = ring.try_reserve(1);
    ASSERT_TRUE(taken);
    ASSERT_EQ(taken->begin, position);
    ring.write(position, {.value = position, .kind = RequestKind::kValue});
    ring.mark_done(position);
    ring.ring_doorbell(target);
    ASSERT_EQ(target.ranges.back(), (std::pair{position, position + 1}));
    EXPECT_EQ(ring.read(position).value, position);
    ring.complete(position + 1);
  }
}

TEST(SendRing, StagingBytesBelongToTheirPosition) {
  SendRing<> ring({.depth = 4, .staging_bytes = 16});
  std::array<std::byte, 16> source{};
  ASSERT_TRUE(ring.try_reserve(4));
  for (std::uint64_t position = 0; position < 4; ++position) {
    source.fill(static_cast<std::byte>(position + 1));
    ring.stage(position, source);
  }
  source.fill(std::byte{0});  // The caller's memory is free at once.
  for (std::uint64_t position = 0; position < 4; ++position) {
    for (const std::byte byte : ring.staged(position, 16)) {
      EXPECT_EQ(byte, static_cast<std::byte>(position + 1));
    }
  }
}

// A target may carry requests out inside submit() and so free slots for whoever rings meanwhile.
TEST(SendRing, ATargetMayCompleteBeforeItReturns) {
  struct Inline final : DoorbellTarget {
    SendRing<>* ring = nullptr;
    std::uint64_t sum = 0;
    void submit(std::uint64_t begin, std::uint64_t end) override {
      for (std::uint64_t position = begin; position < end; ++position) {
        sum += ring->read(position).value;
      }
      ring->complete(end);
    }
  };
  SendRing<> ring({.depth = 2});
  Inline target;
  target.ring = &ring;
  for (std::uint64_t value = 1; value <= 100; ++value) {
    const auto taken = ring.try_reserve(1);
    ASSERT_TRUE(taken);
    ring.write(taken->begin, {.value = value});
    ring.mark_done(taken->begin);
    ring.ring_doorbell(target);
  }
  EXPECT_EQ(target.sum, 5050U);
  EXPECT_EQ(ring.completed(), ring.reserved());
}

}  // namespace
}  // namespace crossdock::fabric
