// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"

#include <gtest/gtest.h>

#include <thread>

namespace crossdock {
namespace {

TEST(Check, AHoldingCheckEvaluatesItsExpressionOnceAndItsValuesNever) {
  int evaluated = 0;
  int formatted = 0;
  CROSSDOCK_CHECK(++evaluated == 1, "{}", ++formatted);
  EXPECT_EQ(evaluated, 1);
  EXPECT_EQ(formatted, 0);
}

TEST(CheckDeathTest, AFailedCheckPrintsRankPlaceExpressionAndValuesOnOneLine) {
  set_check_rank(3);
  const int tokens = 9;
  const int capacity = 8;
  EXPECT_DEATH(CROSSDOCK_CHECK(tokens <= capacity, "tokens {} capacity {}", tokens, capacity),
               "\\[rank 3\\] .*check_test.cc:[0-9]+: check failed: tokens <= capacity: "
               "tokens 9 capacity 8\n");
  set_check_rank(-1);
}

TEST(CheckDeathTest, AFailedCheckWithoutValuesPrintsTheExpressionAlone) {
  EXPECT_DEATH(CROSSDOCK_CHECK(1 == 2), "\\[rank \\?\\] .*: check failed: 1 == 2\n");
}

TEST(Check, TheRankLabelBelongsToItsThread) {
  set_check_rank(5);
  int seen = 0;
  std::thread([&] { seen = check_rank(); }).join();
  EXPECT_EQ(seen, -1);
  EXPECT_EQ(check_rank(), 5);
  set_check_rank(-1);
}

TEST(Check, ADebugCheckIsEvaluatedOnlyWithoutNdebug) {
  int evaluated = 0;
  CROSSDOCK_DCHECK(++evaluated > 0, "{}", evaluated);
#ifdef NDEBUG
  EXPECT_EQ(evaluated, 0);
#else
  EXPECT_EQ(evaluated, 1);
#endif
}

}  // namespace
}  // namespace crossdock
