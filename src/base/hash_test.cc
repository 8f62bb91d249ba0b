// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace crossdock {
namespace {

TEST(Hash, TheValueOfNothingIsThePublishedOne) {
  // XXH3 of the empty input with seed 0, from the reference test vectors.
  EXPECT_EQ(hash_text(""), 0x2D06800538D394C2ULL);
}

TEST(Hash, SeedAndEveryByteMatter) {
  EXPECT_NE(hash_text("abc"), hash_text("abd"));
  EXPECT_NE(hash_text("abc", 0), hash_text("abc", 1));
  EXPECT_EQ(hash_text("abc", 1), hash_text("abc", 1));
}

TEST(Hash, CombiningDependsOnTheOrder) {
  EXPECT_NE(hash_combine(hash_combine(0, 1), 2), hash_combine(hash_combine(0, 2), 1));
}

}  // namespace
}  // namespace crossdock
