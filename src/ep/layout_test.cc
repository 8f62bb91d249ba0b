// SPDX-License-Identifier: Apache-2.0
#include "ep/layout.h"

#include <gtest/gtest.h>

#include <string>

namespace crossdock::ep {
namespace {

BufferOptions options() {
  BufferOptions made;
  made.max_tokens_per_rank = 128;
  made.hidden = 64;
  made.topk = 4;
  made.experts = 16;
  return made;
}

TEST(Layout, RegionsFollowOneAnotherWithoutOverlap) {
  BufferOptions made = options();
  made.open_rounds = 3;
  made.max_expert_alignment = 8;
  const auto planned = plan_window(made, 4);
  ASSERT_TRUE(planned.ok());
  const WindowLayout& layout = planned->layout;
  EXPECT_LT(layout.announce_words, layout.row_words.front());
  EXPECT_LT(layout.row_words.back(), layout.credits);
  EXPECT_LT(layout.credits, layout.announcements);
  EXPECT_GE(layout.landings, layout.announcement(1, 3) + layout.announcement_bytes);
  std::uint64_t end = layout.landing(1, 3) + layout.landing_bytes;
  const std::uint64_t rows = static_cast<std::uint64_t>(layout.row_capacity) * layout.row_bytes;
  for (const RoundSlotLayout& slot : layout.slots) {
    EXPECT_GE(slot.rows, end);
    EXPECT_EQ(slot.rows % 4096, 0U);
    EXPECT_GE(slot.outputs, slot.rows + rows);
    EXPECT_GE(slot.source_token, slot.outputs + rows);
    EXPECT_GT(slot.row_of_landed, slot.weight);
    end = slot.row_of_landed;
  }
  EXPECT_GT(layout.byte_count, end);
}

TEST(Layout, HalvesAlternateByEpoch) {
  const auto planned = plan_window(options(), 3);
  ASSERT_TRUE(planned.ok());
  const WindowLayout& layout = planned->layout;
  EXPECT_EQ(layout.landing(1, 2), layout.landing(3, 2));
  EXPECT_NE(layout.landing(1, 2), layout.landing(2, 2));
  EXPECT_NE(layout.announcement(1, 0), layout.announcement(2, 0));
}

TEST(Layout, ThePlanAddsUpToWhatIsRequested) {
  const auto plan = plan_memory(options(), 4);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->requested_bytes, plan->control_bytes + plan->landing_bytes + plan->racing_bytes +
                                       plan->push_bytes + plan->rows_bytes + plan->outputs_bytes +
                                       plan->metadata_bytes);
  EXPECT_GE(plan->reserved_bytes, plan->requested_bytes);
  EXPECT_LE(plan->touched_bytes, plan->reserved_bytes);
  EXPECT_EQ(plan->row_capacity, plan->worst_case_rows);
}

TEST(Layout, WorstCaseCountsLanesThatCanBeLocalAndAlignmentGaps) {
  BufferOptions made = options();  // 16 experts on 8 ranks: 2 local, so 2 of 4 lanes at most
  EXPECT_EQ(worst_case_rows(made, 8, 128, 1), 8 * 128 * 2);
  EXPECT_EQ(worst_case_rows(made, 8, 128, 16), 8 * 128 * 2 + 15 * 2);
  EXPECT_EQ(worst_case_rows(made, 2, 128, 1), 2 * 128 * 4);
}

TEST(Layout, SixtyFourRanksOfLargeRowsDoNotWrap) {
  BufferOptions made;
  made.max_tokens_per_rank = 4096;
  made.hidden = 7168;
  made.topk = 1;
  made.experts = 64;
  made.memory_budget_bytes = std::uint64_t{1} << 50;
  const auto plan = plan_memory(made, 64);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->rows_bytes, 3'758'096'384U);
}

TEST(Layout, ABudgetBoundsTheRowsOfEveryOpenRound) {
  BufferOptions made = options();
  made.memory_budget_bytes = std::uint64_t{1} << 18;
  const auto one = plan_memory(made, 8);
  made.open_rounds = 4;
  const auto four = plan_memory(made, 8);
  ASSERT_TRUE(one.ok() && four.ok());
  EXPECT_LE(one->rows_bytes + one->outputs_bytes, made.memory_budget_bytes);
  EXPECT_LT(four->row_capacity, one->row_capacity);
  EXPECT_LT(one->row_capacity, one->worst_case_rows);
}

TEST(Layout, EveryValueOutOfRangeIsNamedWithWhatIsAllowed) {
  const auto refused = [](auto change) {
    BufferOptions made = options();
    change(made);
    return std::string(check_options(made, 4).message());
  };
  EXPECT_EQ(refused([](auto& made) { made.hidden = 0; }), "hidden is 0; allowed: 1 .. 536870912");
  EXPECT_EQ(refused([](auto& made) { made.topk = 17; }), "topk is 17; allowed: 1 .. 16");
  EXPECT_EQ(refused([](auto& made) { made.topk = 0; }), "topk is 0; allowed: 1 .. 16");
  EXPECT_EQ(refused([](auto& made) { made.experts = 3; }), "experts is 3; allowed: 4 .. 16777216");
  EXPECT_EQ(refused([](auto& made) { made.max_tokens_per_rank = 0; }),
            "max_tokens_per_rank is 0; allowed: 1 .. 16777216");
  EXPECT_EQ(refused([](auto& made) { made.open_rounds = 9; }), "open_rounds is 9; allowed: 1 .. 8");
  EXPECT_NE(refused([](auto& made) { made.protocol = "hope"; }).find("hope"), std::string::npos);
  EXPECT_NE(refused([](auto& made) { made.schedule = "spiral"; }).find("spiral"),
            std::string::npos);
}

}  // namespace
}  // namespace crossdock::ep
