// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/routing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/npy.h"
#include "cli/bench/placement.h"
#include "cli/bench/workload.h"
#include "crossdock/types.h"

namespace crossdock::bench {
namespace {

Shape shape_with(const std::string& routing) {
  Shape shape{.ranks = 4, .tokens = 256, .hidden = 8, .experts = 16, .topk = 4, .seed = 3};
  shape.routing = parse_routing(routing).value();
  return shape;
}

std::vector<std::int64_t> expert_counts(const Shape& shape) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(shape.experts), 0);
  for (int rank = 0; rank < shape.ranks; ++rank) {
    for (const std::int32_t expert : make_routes(shape, rank)) {
      ++counts[static_cast<std::size_t>(expert)];
    }
  }
  return counts;
}

RC_GTEST_PROP(BenchRouting, EveryTokenHasDistinctExpertsOfTheShape, ()) {
  Shape shape;
  shape.ranks = *rc::gen::inRange(1, 6);
  shape.experts = *rc::gen::inRange(shape.ranks, 40);
  shape.topk = *rc::gen::inRange(1, std::min(shape.experts, 12) + 1);
  shape.tokens = *rc::gen::inRange(0, 20);
  shape.seed = *rc::gen::arbitrary<std::uint64_t>();
  const std::string hot =
      "khot:" + std::to_string(*rc::gen::inRange(shape.topk, shape.experts + 1));
  shape.routing = parse_routing(*rc::gen::element<std::string>("uniform", "zipf:0.7", "zipf:8",
                                                               "one", "local", hot))
                      .value();
  RC_ASSERT(check_routing(shape).ok());
  for (int rank = 0; rank < shape.ranks; ++rank) {
    const std::vector<std::int32_t> routes = make_routes(shape, rank);
    RC_ASSERT(routes == make_routes(shape, rank));
    RC_ASSERT(routes.size() == static_cast<std::size_t>(shape.routes_per_rank()));
    const auto topk = static_cast<std::size_t>(shape.topk);
    for (std::size_t first = 0; first < routes.size(); first += topk) {
      const std::span<const std::int32_t> lanes(routes.data() + first, topk);
      const std::set<std::int32_t> distinct(lanes.begin(), lanes.end());
      RC_ASSERT(distinct.size() == topk);
      RC_ASSERT(*distinct.begin() >= 0);
      RC_ASSERT(*distinct.rbegin() < shape.experts);
    }
  }
}

TEST(BenchRouting, ZipfFavoursTheSameExpertsOnAllRanksByItsExponent) {
  const Skew even = skew_of(expert_counts(shape_with("uniform")));
  const Skew mild = skew_of(expert_counts(shape_with("zipf:0.5")));
  const Skew steep = skew_of(expert_counts(shape_with("zipf:2")));
  EXPECT_LT(even.gini, 0.05);
  EXPECT_LT(even.gini + 0.05, mild.gini);
  EXPECT_LT(mild.gini + 0.1, steep.gini);
  EXPECT_GT(steep.max_over_mean, 3.5);  // 4 of 16 experts a token: 4 is all that can be.
}

TEST(BenchRouting, ZipfWithOneLaneFollowsItsLaw) {
  Shape shape{.ranks = 8, .tokens = 8192, .hidden = 1, .experts = 4, .topk = 1, .seed = 5};
  shape.routing = parse_routing("zipf:1").value();
  std::vector<std::int64_t> counts = expert_counts(shape);
  std::sort(counts.rbegin(), counts.rend());
  const double all = 8 * 8192;
  for (std::size_t place = 0; place < 4; ++place) {
    const double expected =
        1.0 / static_cast<double>(place + 1) / (1 + 1.0 / 2 + 1.0 / 3 + 1.0 / 4);
    EXPECT_NEAR(static_cast<double>(counts[place]) / all, expected, 0.01) << place;
  }
}

TEST(BenchRouting, KhotUsesThatManyExperts) {
  const std::vector<std::int64_t> counts = expert_counts(shape_with("khot:6"));
  EXPECT_EQ(std::count_if(counts.begin(), counts.end(), [](std::int64_t n) { return n > 0; }), 6);
}

TEST(BenchRouting, OneCrowdsOneRankAndLocalLeavesNone) {
  const Shape one = shape_with("one");  // 4 lanes, 4 experts a rank
  EXPECT_EQ(routing_skew(one).ranks.max_over_mean, 4);
  const Shape local = shape_with("local");
  for (int rank = 0; rank < local.ranks; ++rank) {
    for (const std::int32_t expert : make_routes(local, rank)) {
      EXPECT_EQ(local.owner(expert), rank);
    }
  }
}

TEST(BenchRouting, ARecordingIsReplayedWithItsUnusedLanes) {
  const std::string path = ::testing::TempDir() + "/crossdock_routing_test.npy";
  const std::vector<std::int32_t> ids = {0, 1, 2, -1, -1, -1, 3, 0};  // [2, 2, 2]
  ASSERT_TRUE(save_npy(path, NpyType::kI4, std::vector<std::uint64_t>{2, 2, 2},
                       std::as_bytes(std::span(ids)))
                  .ok());
  Shape shape{.ranks = 2, .tokens = 2, .hidden = 4, .experts = 4, .topk = 2};
  shape.routing = parse_routing("recorded:" + path).value();
  ASSERT_TRUE(check_routing(shape).ok());
  EXPECT_THAT(make_routes(shape, 1), ::testing::ElementsAre(-1, -1, 3, 0));
  for (const RowLayout layout : {RowLayout::kExpanded, RowLayout::kPlain}) {
    const Placement placement(shape, layout);
    EXPECT_EQ(placement.row_count_total(), layout == RowLayout::kExpanded ? 5 : 4);
    EXPECT_TRUE(placement.targets(1, 0).empty());
    EXPECT_EQ(placement.targets(1, 1).size(), 2U);
  }
  shape.tokens = 3;
  EXPECT_THAT(std::string(check_routing(shape).message()),
              ::testing::HasSubstr("recorded for 2 ranks, 2 tokens, top-2; asked: 2, 3, top-2"));
  shape.tokens = 2;
  shape.experts = 3;
  EXPECT_THAT(std::string(check_routing(shape).message()),
              ::testing::HasSubstr("expert 3 in token 1 of rank 1"));
}

TEST(BenchRouting, OtherTextsAreRefusedWithWhatIsAllowed) {
  for (const char* text : {"", "zipf", "zipf:", "zipf:0", "zipf:9", "zipf:nan", "khot:0", "khot:x",
                           "one:1", "recorded:", "Uniform"}) {
    const auto refused = parse_routing(text);
    ASSERT_FALSE(refused.ok()) << text;
    EXPECT_THAT(std::string(refused.status().message()),
                ::testing::HasSubstr("allowed: uniform, zipf:S"));
  }
  EXPECT_EQ(parse_routing("recorded:/no/such.npy").status().kind(), StatusKind::kInvalidArgument);
  Shape shape{.ranks = 2, .experts = 8, .topk = 4};
  shape.routing = parse_routing("khot:3").value();
  EXPECT_EQ(check_routing(shape).message(),
            "--routing khot:3; allowed: khot:4 .. khot:8 (top-k to experts)");
}

TEST(BenchSkew, IsOneAndZeroWhenEvenAndGrowsToItsLimits) {
  const std::vector<std::int64_t> even(10, 7);
  EXPECT_DOUBLE_EQ(skew_of(even).max_over_mean, 1);
  EXPECT_NEAR(skew_of(even).gini, 0, 1e-12);
  std::vector<std::int64_t> lone(10, 0);
  lone[3] = 5;
  EXPECT_DOUBLE_EQ(skew_of(lone).max_over_mean, 10);
  EXPECT_NEAR(skew_of(lone).gini, 0.9, 1e-12);
  EXPECT_EQ(skew_of(std::vector<std::int64_t>(4, 0)).gini, 0);
}

}  // namespace
}  // namespace crossdock::bench
