// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "fabric/bootstrap/tcp.h"

namespace crossdock::fabric {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string problem(const Environment& environment) {
  const auto options = tcp_options_from(environment);
  EXPECT_FALSE(options.ok());
  EXPECT_EQ(options.status().kind(), StatusKind::kInvalidArgument);
  return std::string(options.status().message());
}

TEST(TcpOptions, AnEmptyEnvironmentIsOneRank) {
  const auto options = tcp_options_from({{"HOME", "/root"}});
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->rank, 0);
  EXPECT_EQ(options->size, 1);
}

TEST(TcpOptions, TheLaunchersVariablesWinOverTorchruns) {
  const Environment environment = {{"CROSSDOCK_RANK", "3"},
                                   {"CROSSDOCK_SIZE", "8"},
                                   {"CROSSDOCK_BOOTSTRAP", "[::1]:4321"},
                                   {"CROSSDOCK_BOOTSTRAP_FD", "9"},
                                   {"CROSSDOCK_JOB_SECRET", "s"},
                                   {"RANK", "1"},
                                   {"WORLD_SIZE", "2"}};
  const auto options = tcp_options_from(environment);
  ASSERT_TRUE(options.ok()) << options.status().to_string();
  EXPECT_EQ(options->rank, 3);
  EXPECT_EQ(options->size, 8);
  EXPECT_EQ(options->host, "::1");
  EXPECT_EQ(options->port, 4321);
  EXPECT_EQ(options->job_secret, "s");
  EXPECT_EQ(options->listener_fd, -1) << "only rank 0 has the listening socket";
}

TEST(TcpOptions, RankZeroTakesTheInheritedSocket) {
  const auto options = tcp_options_from({{"CROSSDOCK_RANK", "0"},
                                         {"CROSSDOCK_SIZE", "2"},
                                         {"CROSSDOCK_BOOTSTRAP", "127.0.0.1:4321"},
                                         {"CROSSDOCK_BOOTSTRAP_FD", "9"}});
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->listener_fd, 9);
}

TEST(TcpOptions, TorchrunsVariablesAreUnderstood) {
  const auto options = tcp_options_from({{"RANK", "1"},
                                         {"WORLD_SIZE", "2"},
                                         {"MASTER_ADDR", "node7"},
                                         {"MASTER_PORT", "29500"},
                                         {"CROSSDOCK_JOB_SECRET", "s"}});
  ASSERT_TRUE(options.ok()) << options.status().to_string();
  EXPECT_EQ(options->rank, 1);
  EXPECT_EQ(options->size, 2);
  EXPECT_EQ(options->host, "node7");
  EXPECT_EQ(options->port, 29500);
  EXPECT_EQ(options->job_secret, "s");
}

TEST(TcpOptions, ABootstrapPlaceOfOurOwnReplacesTorchruns) {
  const auto options = tcp_options_from({{"RANK", "1"},
                                         {"WORLD_SIZE", "2"},
                                         {"MASTER_ADDR", "node7"},
                                         {"MASTER_PORT", "29500"},
                                         {"CROSSDOCK_BOOTSTRAP", "node8:29501"}});
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->host, "node8");
  EXPECT_EQ(options->port, 29501);
}

TEST(TcpOptions, OneTorchrunRankNeedsNoPlace) {
  EXPECT_TRUE(tcp_options_from({{"RANK", "0"}, {"WORLD_SIZE", "1"}}).ok());
}

TEST(TcpOptions, EveryBadValueIsNamedWithItsVariable) {
  EXPECT_THAT(problem({{"RANK", "1 "}, {"WORLD_SIZE", "2"}}),
              AllOf(HasSubstr("RANK"), HasSubstr("'1 '")));
  EXPECT_THAT(problem({{"RANK", "0"}, {"WORLD_SIZE", "two"}}), HasSubstr("WORLD_SIZE"));
  EXPECT_THAT(problem({{"RANK", "-1"}, {"WORLD_SIZE", "2"}}), HasSubstr("RANK"));
  EXPECT_THAT(problem({{"RANK", "0"}}), HasSubstr("WORLD_SIZE is not set"));
  EXPECT_THAT(problem({{"WORLD_SIZE", "2"}}), HasSubstr("RANK is not set"));
  EXPECT_THAT(problem({{"RANK", "0"}, {"WORLD_SIZE", "2"}}), HasSubstr("MASTER_PORT is not set"));
  EXPECT_THAT(problem({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_PORT", "1"}}),
              HasSubstr("MASTER_ADDR is not set"));
  EXPECT_THAT(
      problem({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}, {"MASTER_PORT", "65536"}}),
      HasSubstr("MASTER_PORT"));
  EXPECT_EQ(
      problem({{"RANK", "2"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}, {"MASTER_PORT", "1"}}),
      "bootstrap: rank 2 is not in 0 .. 1 (size 2)");
  EXPECT_THAT(problem({{"CROSSDOCK_RANK", "x"}}), HasSubstr("CROSSDOCK_RANK"));
  EXPECT_THAT(problem({{"CROSSDOCK_RANK", "0"}}), HasSubstr("must be set together"));
  EXPECT_THAT(problem({{"CROSSDOCK_RANK", "0"}, {"CROSSDOCK_SIZE", "2"}}),
              HasSubstr("CROSSDOCK_BOOTSTRAP is not set"));
}

TEST(ListRanks, IsReadableForOneForSomeAndForMany) {
  const std::vector<int> one = {3};
  const std::vector<int> some = {1, 2};
  std::vector<int> many(40);
  EXPECT_EQ(list_ranks(one, 8), "rank 3 of 8");
  EXPECT_EQ(list_ranks(some, 8), "ranks 1, 2 of 8");
  EXPECT_THAT(list_ranks(many, 64), HasSubstr(" and 24 more of 64"));
}

}  // namespace
}  // namespace crossdock::fabric
