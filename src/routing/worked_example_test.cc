// SPDX-License-Identifier: Apache-2.0
// One small exchange, every value written out. Two ranks with two experts each, K = 2, alignment 2.
//   rank 0 sends token 0 to experts 0, 2; token 1 to 1, 0; token 2 to 3
//   rank 1 sends token 0 to experts 2, 3; token 1 nowhere
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "crossdock/types.h"
#include "routing/layout.h"
#include "routing/placement.h"
#include "routing/reference.h"
#include "routing/split.h"
#include "routing/testing/fast_exchange.h"

namespace crossdock::routing {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

constexpr std::int64_t kAlignment = 2;

class WorkedExample : public ::testing::Test {
 protected:
  const std::vector<RankRoutes> ranks_{{2, {0, 2, 1, 0, 3, -1}, {1, 2, 3, 4, 5, 6}},
                                       {2, {2, 3, -1, -1}, {7, 8, 9, 10}}};
  const ExpertSplit split_ = ExpertSplit::make(4, 2).value();
};

TEST_F(WorkedExample, Counts) {
  const auto senders = testing::run_senders(ranks_, split_, RowLayout::kPlain, kAlignment);
  EXPECT_THAT(senders.rows, ElementsAre(2, 1, 1, 1,  //
                                        0, 0, 1, 1));
  EXPECT_THAT(senders.tokens, ElementsAre(2, 2,  //
                                          0, 1));
}

// The place of a token among its source's tokens for that rank, noted at the master lane.
TEST_F(WorkedExample, PlacesOfTokensAtTheirMasterLanes) {
  const auto senders = testing::run_senders(ranks_, split_, RowLayout::kPlain, kAlignment);
  std::vector<std::vector<std::int64_t>> places{std::vector<std::int64_t>(6, -1),
                                                std::vector<std::int64_t>(4, -1)};
  for (std::size_t source = 0; source < 2; ++source) {
    for_each_plain_row(testing::routes_of(ranks_[source], senders.owners[source]),
                       senders.row_of_route[source], [&](const PlainRow& row) {
                         places[source][row.token * 2 + row.master_lane] =
                             row.row - senders.start[source][static_cast<std::size_t>(row.rank)];
                       });
  }
  EXPECT_THAT(places[0], ElementsAre(0, 0, -1, 1, 1, -1));
  EXPECT_THAT(places[1], ElementsAre(-1, 0, -1, -1));
}

TEST_F(WorkedExample, CountsAndPrefixesPerExpertAndSource) {
  const auto senders = testing::run_senders(ranks_, split_, RowLayout::kExpanded, kAlignment);
  auto rank0 = testing::run_receiver(senders, split_, 0, kAlignment);
  auto rank1 = testing::run_receiver(senders, split_, 1, kAlignment);
  EXPECT_THAT(rank0.plain_prefix, ElementsAre(2, 2));
  EXPECT_THAT(rank1.plain_prefix, ElementsAre(2, 3));
  EXPECT_THAT(rank0.row_count, ElementsAre(2, 1));
  EXPECT_THAT(rank1.row_count, ElementsAre(2, 2));
  EXPECT_THAT(rank0.aligned_row_count, ElementsAre(2, 2));
  EXPECT_THAT(rank1.aligned_row_count, ElementsAre(2, 2));
  std::vector<std::int64_t> prefix(2);
  inclusive_prefix(rank0.aligned_row_count, prefix);
  EXPECT_THAT(prefix, ElementsAre(2, 4));
  expanded_prefix(rank0.expanded(), prefix);
  EXPECT_THAT(prefix, ElementsAre(2, 3));
  inclusive_prefix(rank1.aligned_row_count, prefix);
  EXPECT_THAT(prefix, ElementsAre(2, 4));
  expanded_prefix(rank1.expanded(), prefix);
  EXPECT_THAT(prefix, ElementsAre(2, 4));
}

TEST_F(WorkedExample, PlainRowsOfBothRanks) {
  const auto rank0 = testing::run_landing(ranks_, split_, 0, RowLayout::kPlain, kAlignment);
  EXPECT_THAT(rank0.source_rank, ElementsAre(0, 0));
  EXPECT_THAT(rank0.source_token, ElementsAre(0, 1));
  EXPECT_THAT(rank0.local_expert, ElementsAre(0, -1, 1, 0));
  EXPECT_THAT(rank0.weight, ElementsAre(1, 2, 3, 4)) << "foreign lanes keep theirs";
  const auto rank1 = testing::run_landing(ranks_, split_, 1, RowLayout::kPlain, kAlignment);
  EXPECT_THAT(rank1.source_rank, ElementsAre(0, 0, 1));
  EXPECT_THAT(rank1.source_token, ElementsAre(0, 2, 0));
  EXPECT_THAT(rank1.local_expert, ElementsAre(-1, 0, 1, -1, 0, 1));
}

TEST_F(WorkedExample, ExpandedRowsOfBothRanks) {
  const auto senders = testing::run_senders(ranks_, split_, RowLayout::kExpanded, kAlignment);
  EXPECT_THAT(senders.row_of_route[0], ElementsAre(0, 0, 2, 1, 2, -1));
  EXPECT_THAT(senders.row_of_route[1], ElementsAre(1, 3, -1, -1));
  EXPECT_THAT(senders.needed[0], ElementsAre(4, 4));
  EXPECT_EQ(senders.needed[1], senders.needed[0]);

  const auto rank0 = testing::run_landing(ranks_, split_, 0, RowLayout::kExpanded, kAlignment);
  EXPECT_THAT(rank0.source_rank, ElementsAre(0, 0, 0, -1)) << "row 3 is a gap";
  EXPECT_THAT(rank0.source_token, ElementsAre(0, 1, 1, -1));
  EXPECT_THAT(rank0.weight, ElementsAre(1, 4, 3, 0));
  EXPECT_THAT(rank0.row_of_route[0], ElementsAre(0, -1, 2, 1, -1, -1));
  const auto rank1 = testing::run_landing(ranks_, split_, 1, RowLayout::kExpanded, kAlignment);
  EXPECT_THAT(rank1.source_rank, ElementsAre(0, 1, 0, 1));
  EXPECT_THAT(rank1.row_of_route[0], ElementsAre(-1, 0, -1, -1, 2, -1));
  EXPECT_THAT(rank1.row_of_route[1], ElementsAre(1, 3, -1, -1));
}

TEST_F(WorkedExample, TheReferenceSaysTheSame) {
  const auto plain = reference_exchange(ranks_, split_, RowLayout::kPlain, kAlignment);
  EXPECT_THAT(plain.ranks[0].expert_prefix, ElementsAre(2, 4));
  EXPECT_THAT(plain.ranks[1].source_prefix, ElementsAre(2, 3));
  EXPECT_THAT(plain.ranks[1].rows[1].local_experts, ElementsAre(1, -1));
  EXPECT_THAT(plain.ranks[0].rows[1].lanes, ElementsAre(0, 1));
  const auto expanded = reference_exchange(ranks_, split_, RowLayout::kExpanded, kAlignment);
  EXPECT_THAT(expanded.ranks[0].expert_prefix, ElementsAre(2, 3));
  EXPECT_THAT(expanded.ranks[1].expert_prefix, ElementsAre(2, 4));
  EXPECT_THAT(expanded.ranks[0].expert_begin, ElementsAre(0, 2));
  EXPECT_TRUE(expanded.ranks[0].rows[3].is_gap());
  EXPECT_THAT(expanded.row_of_route[0], ElementsAre(0, 0, 2, 1, 2, -1));
}

TEST_F(WorkedExample, TokensCombineOverTheirContributors) {
  const auto plain = reference_exchange(ranks_, split_, RowLayout::kPlain, kAlignment);
  const RowsOfRanks<float> outputs{{{10}, {20}}, {{1}, {2}, {3}}};
  const auto tokens = reference_combine_fp32(plain, outputs, 1);
  EXPECT_THAT(tokens[0], ElementsAre(ElementsAre(11), ElementsAre(20), ElementsAre(2)));
  EXPECT_THAT(tokens[1], ElementsAre(ElementsAre(3), ElementsAre(0)));
}

}  // namespace
}  // namespace crossdock::routing
