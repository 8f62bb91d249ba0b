// SPDX-License-Identifier: Apache-2.0
#include "base/fiber.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <vector>

namespace crossdock {
namespace {

TEST(Fiber, RunsInSlicesUntilItIsOver) {
  std::vector<int> order;
  std::unique_ptr<Fiber> fiber;
  fiber = std::make_unique<Fiber>([&] {
    order.push_back(1);
    fiber->suspend();
    order.push_back(3);
    fiber->suspend();
    order.push_back(5);
  });
  EXPECT_TRUE(order.empty());
  fiber->resume();
  order.push_back(2);
  fiber->resume();
  order.push_back(4);
  EXPECT_FALSE(fiber->is_over());
  fiber->resume();
  EXPECT_TRUE(fiber->is_over());
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3, 4, 5}));
}

int deep_sum(Fiber& fiber, int depth) {
  std::array<char, 512> room{};
  room[static_cast<std::size_t>(depth) % room.size()] = 1;
  if (depth == 0) {
    fiber.suspend();
    return 0;
  }
  return deep_sum(fiber, depth - 1) + room[static_cast<std::size_t>(depth) % room.size()];
}

TEST(Fiber, KeepsItsStackWhileOthersRun) {
  constexpr int kFibers = 10;
  std::vector<std::unique_ptr<Fiber>> fibers(kFibers);
  std::array<int, kFibers> sums{};
  for (std::size_t index = 0; index < kFibers; ++index) {
    fibers[index] = std::make_unique<Fiber>(
        [&, index] { sums[index] = deep_sum(*fibers[index], 20 + static_cast<int>(index)); });
  }
  for (int slice = 0; slice < 2; ++slice) {
    for (const auto& fiber : fibers) {
      fiber->resume();
    }
  }
  for (std::size_t index = 0; index < kFibers; ++index) {
    EXPECT_TRUE(fibers[index]->is_over());
    EXPECT_EQ(sums[index], 20 + static_cast<int>(index));
  }
}

TEST(Fiber, OneThatNeverRanCanGo) {
  const Fiber fiber([] { FAIL(); });
}

}  // namespace
}  // namespace crossdock
