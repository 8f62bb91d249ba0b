// SPDX-License-Identifier: Apache-2.0
#include "ep/announcement.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace crossdock::ep {
namespace {

AnnouncementHead head() {
  AnnouncementHead made;
  made.ordinal = 4;
  made.options.operation = static_cast<std::uint8_t>(OperationCode::kDispatch);
  made.options.expert_alignment = 8;
  made.options.max_tokens = 128;
  made.options.round = 3;
  return made;
}

TEST(Announcement, EqualHeadsGoOn) {
  EXPECT_TRUE(compare_announcements(head(), 0, head(), 1, "").ok());
}

TEST(Announcement, ARefusalNamesItsRankAndCarriesItsWords) {
  AnnouncementHead refused = head();
  refused.verdict = static_cast<std::uint32_t>(Verdict::kRefused);
  const Status status = compare_announcements(head(), 0, refused, 2, "129 tokens for 128");
  EXPECT_EQ(status.kind(), StatusKind::kPeerRefused);
  EXPECT_EQ(status.scope(), Scope::kOperation);
  EXPECT_EQ(status.culprit(), 2);
  EXPECT_NE(status.message().find("rank 2"), std::string_view::npos);
  EXPECT_NE(status.message().find("129 tokens for 128"), std::string_view::npos);
}

TEST(Announcement, EveryDifferingOptionIsNamedWithBothValues) {
  using Change = std::function<void(CollectiveOptions&)>;
  const std::vector<std::pair<std::string, Change>> changes{
      {"operation", [](auto& options) { options.operation = 2; }},
      {"round", [](auto& options) { options.round = 9; }},
      {"layout", [](auto& options) { options.layout = 1; }},
      {"mode", [](auto& options) { options.mode = 2; }},
      {"protocol", [](auto& options) { options.protocol = 1; }},
      {"schedule", [](auto& options) { options.schedule = 1; }},
      {"expert_alignment", [](auto& options) { options.expert_alignment = 16; }},
      {"max_tokens_per_rank", [](auto& options) { options.max_tokens = 64; }},
      {"padding", [](auto& options) { options.padding = 1; }},
      {"round of the plan", [](auto& options) { options.repeated = 1; }},
      {"plan", [](auto& options) { options.plan = 1; }},
      {"path", [](auto& options) { options.path = 2; }},
      {"row_count", [](auto& options) { options.row_count = 1; }},
      {"arrival", [](auto& options) { options.arrival = 1; }},
      {"topk_weights of combine", [](auto& options) { options.topk_weights = 1; }},
  };
  for (const auto& [name, change] : changes) {
    AnnouncementHead other = head();
    change(other.options);
    const Status status = compare_announcements(head(), 0, other, 3, "");
    EXPECT_EQ(status.kind(), StatusKind::kMismatch) << name;
    EXPECT_NE(status.message().find(name + " differs: rank 0 has"), std::string_view::npos)
        << status.message();
    EXPECT_NE(status.message().find("rank 3 has"), std::string_view::npos) << status.message();
  }
}

TEST(Announcement, NonsenseFromAPeerIsStillOneLine) {
  AnnouncementHead other = head();
  other.options.protocol = 250;
  other.options.operation = 77;
  const Status status = compare_announcements(head(), 0, other, 1, "");
  EXPECT_NE(status.message().find("operation 77"), std::string_view::npos) << status.message();
}

TEST(Announcement, DifferentNumbersOfCallsAreAFaultOfTheCommunicator) {
  AnnouncementHead other = head();
  other.ordinal = 5;
  const Status status = compare_announcements(head(), 0, other, 1, "");
  EXPECT_EQ(status.kind(), StatusKind::kMismatch);
  EXPECT_EQ(status.scope(), Scope::kCommunicator);
}

}  // namespace
}  // namespace crossdock::ep
