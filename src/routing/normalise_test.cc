// SPDX-License-Identifier: Apache-2.0
#include "routing/normalise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "crossdock/status.h"

namespace crossdock::routing {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

template <typename Id>
class NormaliseTopk : public ::testing::Test {
 protected:
  Status normalise(const std::vector<Id>& ids, int topk, int expert_count) {
    out_.assign(ids.size(), -7);
    return normalise_topk(ids, static_cast<std::int64_t>(ids.size()) / topk, topk, expert_count,
                          out_);
  }
  std::string refusal(const std::vector<Id>& ids, int topk, int expert_count) {
    const Status status = normalise(ids, topk, expert_count);
    EXPECT_EQ(status.kind(), StatusKind::kInvalidArgument);
    EXPECT_EQ(status.scope(), Scope::kOperation);
    EXPECT_THAT(out_, Each(-7)) << "written in spite of the error";
    return std::string(status.message());
  }
  std::vector<std::int32_t> out_;
};
using IdTypes = ::testing::Types<std::int32_t, std::int64_t>;
TYPED_TEST_SUITE(NormaliseTopk, IdTypes);

TYPED_TEST(NormaliseTopk, UnusedLanesAndAllExpertsPass) {
  ASSERT_TRUE(this->normalise({0, -1, -1, -1, 3, 1, -1, 0}, 2, 4).ok());
  EXPECT_THAT(this->out_, ElementsAre(0, -1, -1, -1, 3, 1, -1, 0));
}

TYPED_TEST(NormaliseTopk, NoTokensPass) { EXPECT_TRUE(this->normalise({}, 8, 64).ok()); }

TYPED_TEST(NormaliseTopk, AnIdEqualToTheExpertCountIsNamedWithRowAndColumn) {
  EXPECT_EQ(this->refusal({0, -1, 1, 4}, 2, 4),
            "topk_ids row 1 column 1 is 4; allowed: 0 .. 3, or -1 for no route");
}

TYPED_TEST(NormaliseTopk, AnIdBelowMinusOneIsNamedWithRowAndColumn) {
  EXPECT_EQ(this->refusal({-2, 0}, 2, 4),
            "topk_ids row 0 column 0 is -2; allowed: 0 .. 3, or -1 for no route");
}

TYPED_TEST(NormaliseTopk, TheExtremesOfTheTypeAreOutOfRange) {
  using Limits = std::numeric_limits<TypeParam>;
  EXPECT_THAT(this->refusal({0, Limits::max()}, 2, 4), StartsWith("topk_ids row 0 column 1 is "));
  EXPECT_THAT(this->refusal({Limits::min(), 0}, 2, 4), StartsWith("topk_ids row 0 column 0 is "));
  EXPECT_THAT(this->refusal({Limits::max()}, 1, std::numeric_limits<int>::max()),
              HasSubstr(std::to_string(Limits::max())));
}

// A wide id must not be cut to 32 bits before it is compared.
TEST(NormaliseTopkWide, AnIdThatLooksRightInItsLowHalfIsRefused) {
  const std::vector<std::int64_t> ids{(std::int64_t{1} << 32) + 2};
  std::vector<std::int32_t> out(1);
  const Status status = normalise_topk(ids, 1, 1, 4, out);
  EXPECT_THAT(std::string(status.message()), HasSubstr("is 4294967298"));
}

TYPED_TEST(NormaliseTopk, BadIdsAreFoundAtEveryPlaceOfABlock) {
  for (int topk = 1; topk <= 20; ++topk) {
    for (int lane = 0; lane < topk; ++lane) {
      std::vector<TypeParam> ids(static_cast<std::size_t>(topk));
      std::iota(ids.begin(), ids.end(), TypeParam{0});
      ids[static_cast<std::size_t>(lane)] = 20;
      EXPECT_THAT(this->refusal(ids, topk, 20),
                  StartsWith("topk_ids row 0 column " + std::to_string(lane) + " is 20"));
    }
  }
}

TYPED_TEST(NormaliseTopk, AnExpertTwiceInATokenIsNamedWithBothColumns) {
  EXPECT_EQ(this->refusal({0, -1, -1, -1, 2, 2, 3, 1, -1, 0}, 2, 4),
            "topk_ids row 2 has expert 2 in columns 0 and 1; allowed: an expert once per token");
  EXPECT_THAT(this->refusal({5, 1, 2, 5, 1}, 5, 8), HasSubstr("expert 5 in columns 0 and 3"));
}

TYPED_TEST(NormaliseTopk, TheSameExpertInTwoTokensIsFine) {
  EXPECT_TRUE(this->normalise({2, 1, 2, 1, 2, 1}, 2, 4).ok());
}

TYPED_TEST(NormaliseTopk, ManyUnusedLanesAreNoRepetition) {
  EXPECT_TRUE(this->normalise(std::vector<TypeParam>(4 * 128, -1), 128, 128).ok());
}

// Experts 0, 1024 and 2048 share a bit of the set of seen ones.
TYPED_TEST(NormaliseTopk, ExpertsThatShareABitAreNotTakenForEachOther) {
  EXPECT_TRUE(this->normalise({0, 1024, 2048}, 3, 4096).ok());
  EXPECT_THAT(this->refusal({0, 1024, 2048, 1024}, 4, 4096),
              HasSubstr("expert 1024 in columns 1 and 3"));
}

TYPED_TEST(NormaliseTopk, TheWidestTokenWithAllExpertsPasses) {
  std::vector<TypeParam> ids(kLanesMax);
  std::iota(ids.rbegin(), ids.rend(), TypeParam{0});
  EXPECT_TRUE(this->normalise(ids, kLanesMax, kLanesMax).ok());
  ids.front() = 0;
  EXPECT_THAT(this->refusal(ids, kLanesMax, kLanesMax), HasSubstr("columns 0 and 127"));
}

TEST(NormaliseTopkInPlace, IdsMayBeTheirOwnOutput) {
  std::vector<std::int32_t> ids{3, -1, 0, 2};
  ASSERT_TRUE(normalise_topk(ids, 2, 2, 4, ids).ok());
  EXPECT_THAT(ids, ElementsAre(3, -1, 0, 2));
}

}  // namespace
}  // namespace crossdock::routing
