// SPDX-License-Identifier: Apache-2.0
#include "fabric/agreement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace crossdock::fabric {
namespace {

using ::testing::HasSubstr;

std::vector<std::vector<std::byte>> blobs_of(const std::vector<NamedValues>& ranks) {
  std::vector<std::vector<std::byte>> blobs;
  for (const auto& values : ranks) {
    blobs.push_back(encode_agreement(values));
  }
  return blobs;
}

TEST(Agreement, EqualValuesAgree) {
  const NamedValues values{{"hidden", "4096"}, {"dtype", "bf16"}, {"note", ""}};
  EXPECT_TRUE(compare_agreement(blobs_of({values, values, values, values})).ok());
  EXPECT_TRUE(compare_agreement(blobs_of({values})).ok());
  EXPECT_TRUE(compare_agreement(blobs_of({{}, {}})).ok());
}

TEST(Agreement, MismatchNamesTheValueBothRanksAndBothValues) {
  const NamedValues usual{{"experts", "64"}, {"hidden", "4096"}};
  const Status status =
      compare_agreement(blobs_of({usual, usual, usual, {{"experts", "64"}, {"hidden", "4088"}}}));
  EXPECT_EQ(status.kind(), StatusKind::kMismatch);
  EXPECT_EQ(status.scope(), Scope::kCommunicator);
  EXPECT_EQ(status.culprit(), 3);
  EXPECT_EQ(status.message(), "ranks disagree about hidden: rank 0 has 4096, rank 3 has 4088");
}

TEST(Agreement, ARankThatDiffersFromTheMajorityIsTheCulpritEvenIfItIsRankZero) {
  const Status status =
      compare_agreement(blobs_of({{{"topk", "6"}}, {{"topk", "8"}}, {{"topk", "8"}}}));
  EXPECT_EQ(status.culprit(), 0);
  EXPECT_EQ(status.message(), "ranks disagree about topk: rank 1 has 8, rank 0 has 6");
}

TEST(Agreement, OfTwoRanksTheHigherIsTheCulprit) {
  EXPECT_EQ(compare_agreement(blobs_of({{{"a", "1"}}, {{"a", "2"}}})).culprit(), 1);
}

TEST(Agreement, AValueThatOnlySomeRanksHaveIsAMismatch) {
  const Status missing = compare_agreement(blobs_of({{{"a", "1"}, {"b", "2"}}, {{"a", "1"}}}));
  EXPECT_EQ(missing.message(), "ranks disagree about b: rank 0 has 2, rank 1 has no such value");
  const Status extra = compare_agreement(blobs_of({{{"a", "1"}}, {{"a", "1"}, {"b", ""}}}));
  EXPECT_EQ(extra.message(),
            "ranks disagree about b: rank 0 has no such value, rank 1 has an empty value");
}

TEST(Agreement, HostileTextStaysOnOneShortLine) {
  const std::string long_text(10'000, '\n');
  const Status status = compare_agreement(blobs_of({{{"a", "1"}}, {{"a", long_text}}}));
  EXPECT_EQ(status.message().find('\n'), std::string_view::npos);
  EXPECT_LT(status.message().size(), 300U);
}

TEST(Agreement, UnreadableBlobNamesItsRank) {
  auto blobs = blobs_of({{{"a", "1"}}, {{"a", "1"}}, {{"a", "1"}}});
  for (std::size_t cut = 0; cut < blobs[1].size(); ++cut) {
    auto damaged = blobs;
    damaged[1].resize(cut);
    const Status status = compare_agreement(damaged);
    EXPECT_EQ(status.culprit(), 1) << "cut at " << cut;
    EXPECT_THAT(std::string(status.message()), HasSubstr("rank 1"));
  }
  blobs[2].push_back(std::byte{0});
  EXPECT_EQ(compare_agreement(blobs).culprit(), 2);
}

RC_GTEST_PROP(AgreementProperty, AnyBytesAreReadWithoutHarm,
              (const std::vector<std::vector<std::uint8_t>>& raw)) {
  std::vector<std::vector<std::byte>> blobs;
  for (const auto& bytes : raw) {
    std::vector<std::byte>& blob = blobs.emplace_back(bytes.size());
    std::transform(bytes.begin(), bytes.end(), blob.begin(),
                   [](std::uint8_t byte) { return std::byte{byte}; });
  }
  const Status status = compare_agreement(blobs);
  const bool all_equal =
      std::adjacent_find(blobs.begin(), blobs.end(), std::not_equal_to<>()) == blobs.end();
  RC_ASSERT(status.ok() == all_equal || !all_equal);
}

RC_GTEST_PROP(AgreementProperty, AgreesExactlyWhenAllValuesAreEqual,
              (const std::string& value, const std::string& other)) {
  const auto blobs = blobs_of({{{"v", value}}, {{"v", value}}, {{"v", other}}});
  RC_ASSERT(compare_agreement(blobs).ok() == (value == other));
}

}  // namespace
}  // namespace crossdock::fabric
