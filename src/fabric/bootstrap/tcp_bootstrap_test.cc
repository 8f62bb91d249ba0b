// SPDX-License-Identifier: Apache-2.0
// The TCP provider between well-meaning ranks, and their mistakes. Attackers:
// tcp_strangers_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/status_macros.h"
#include "fabric/bootstrap/bootstrap_test_support.h"

namespace crossdock::fabric {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

Status join_and_exchange(const TcpOptions& options, Deadline deadline) {
  CROSSDOCK_ASSIGN_OR_RETURN(auto bootstrap, make_tcp_bootstrap(options, deadline));
  EXPECT_EQ(bootstrap->rank(), options.rank);
  EXPECT_EQ(bootstrap->size(), options.size);
  return exchange(*bootstrap, deadline);
}

void expect_all_ok(const std::vector<Status>& results) {
  for (const Status& status : results) {
    EXPECT_TRUE(status.ok()) << status.to_string();
  }
}

std::string text_of(const Status& status) { return std::string(status.message()); }

class TcpBootstrapOfSize : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Sizes, TcpBootstrapOfSize, ::testing::Values(1, 2, 3, 5, 8));

TEST_P(TcpBootstrapOfSize, EveryRankGetsEveryBlob) {
  const Meeting meeting(GetParam());
  expect_all_ok(run_ranks(ranks_below(GetParam()),
                          [&](int rank) { return join_and_exchange(meeting.of(rank), soon()); }));
}

TEST_P(TcpBootstrapOfSize, ProcessesMeetToo) {
  const Meeting meeting(GetParam());
  std::vector<pid_t> children;
  for (int rank = 0; rank < GetParam(); ++rank) {
    children.push_back(::fork());
    if (children.back() == 0) {
      const Status status = join_and_exchange(meeting.of(rank), soon());
      ::_exit(status.ok() && !::testing::Test::HasFailure() ? 0 : 1);
    }
  }
  for (const pid_t child : children) {
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
}

TEST(TcpBootstrap, WorksOverIpv6) {
  const auto addresses = resolve("::1", 0);
  if (!addresses.ok() || !listen_on(*addresses).ok()) {
    GTEST_SKIP() << "this host has no ::1";
  }
  const Meeting meeting(3, "[::1]");
  expect_all_ok(run_ranks(ranks_below(3),
                          [&](int rank) { return join_and_exchange(meeting.of(rank), soon()); }));
}

TEST(TcpBootstrap, LeavesWaitForARootThatListensLater) {
  Meeting meeting(3);
  meeting.listener.reset();  // The port is free again; rank 0 has to take it by itself.
  expect_all_ok(run_ranks({1, 2, 0}, [&](int rank) {
    TcpOptions options = meeting.of(rank);
    options.listener_fd = -1;
    return join_and_exchange(options, soon());
  }));
}

TEST(TcpBootstrap, TheSameListenerServesOneBootstrapAfterTheOther) {
  const Meeting meeting(3);
  expect_all_ok(run_ranks(ranks_below(3), [&](int rank) {
    for (int generation = 0; generation < 5; ++generation) {
      CROSSDOCK_RETURN_IF_ERROR(join_and_exchange(meeting.of(rank), soon()));
    }
    return Status();
  }));
}

TEST(TcpBootstrap, TwoJobsAtOnceDoNotSeeEachOther) {
  const Meeting one(2, "127.0.0.1", "one");
  const Meeting two(2, "127.0.0.1", "two");
  expect_all_ok(run_ranks(ranks_below(4), [&](int rank) {
    return join_and_exchange((rank < 2 ? one : two).of(rank % 2), soon());
  }));
}

TEST(TcpBootstrap, BlobsOfTheLargestSizeArriveWhole) {
  const Meeting meeting(4);
  expect_all_ok(run_ranks(ranks_below(4), [&](int rank) -> Status {
    CROSSDOCK_ASSIGN_OR_RETURN(auto bootstrap, make_tcp_bootstrap(meeting.of(rank), soon()));
    const std::vector<std::byte> mine(Bootstrap::kBlobBytesMax, std::byte(rank + 1));
    CROSSDOCK_ASSIGN_OR_RETURN(const auto blobs, bootstrap->all_gather(mine, soon()));
    for (int source = 0; source < 4; ++source) {
      EXPECT_EQ(blobs[static_cast<std::size_t>(source)],
                std::vector<std::byte>(Bootstrap::kBlobBytesMax, std::byte(source + 1)));
    }
    return {};
  }));
}

TEST(TcpBootstrap, AgreementFailsOnEveryRankWithBothValues) {
  const Meeting meeting(4);
  for (const Status& status : run_ranks(ranks_below(4), [&](int rank) -> Status {
         CROSSDOCK_ASSIGN_OR_RETURN(auto bootstrap, make_tcp_bootstrap(meeting.of(rank), soon()));
         CROSSDOCK_RETURN_IF_ERROR(require_agreement(*bootstrap, "experts", "64", soon()));
         return require_agreement(*bootstrap, "hidden", rank == 3 ? "4088" : "4096", soon());
       })) {
    EXPECT_EQ(text_of(status), "ranks disagree about hidden: rank 0 has 4096, rank 3 has 4088");
    EXPECT_EQ(status.culprit(), 3);
  }
}

TEST(TcpMistakes, AMissingRankIsNamedOnEveryRank) {
  const Meeting meeting(5);
  for (const Status& status : run_ranks({0, 1, 3}, [&](int rank) {
         return join_and_exchange(meeting.of(rank), in(std::chrono::seconds(1)));
       })) {
    EXPECT_EQ(status.kind(), StatusKind::kTimeout);
    EXPECT_EQ(text_of(status), "bootstrap: timed out waiting for ranks 2, 4 of 5 to join");
    EXPECT_EQ(status.culprit(), 2);
  }
}

TEST(TcpMistakes, AMissingRootIsAnErrorThatSaysWhere) {
  Meeting meeting(2);
  meeting.listener.reset();
  const Status status = join_and_exchange(meeting.of(1), in(std::chrono::milliseconds(100)));
  EXPECT_EQ(status.kind(), StatusKind::kTimeout);
  EXPECT_THAT(text_of(status),
              AllOf(StartsWith("bootstrap: rank 1 cannot join rank 0 at 127.0.0.1"),
                    HasSubstr("Connection refused")));
}

TEST(TcpMistakes, ADuplicateRankIsAnErrorOnEveryRank) {
  const Meeting meeting(4);
  for (const Status& status : run_ranks(
           {0, 1, 2, 2}, [&](int rank) { return join_and_exchange(meeting.of(rank), soon()); })) {
    EXPECT_EQ(status.kind(), StatusKind::kMismatch);
    EXPECT_THAT(text_of(status), StartsWith("bootstrap: rank 2 is claimed twice, by process "));
    EXPECT_EQ(status.culprit(), 2);
  }
}

TEST(TcpMistakes, ASizeDisagreementNamesBothSizesOnEveryRank) {
  const Meeting meeting(3);
  for (const Status& status : run_ranks(ranks_below(3), [&](int rank) {
         TcpOptions options = meeting.of(rank);
         options.size = rank == 2 ? 7 : 3;
         return join_and_exchange(options, soon());
       })) {
    EXPECT_EQ(status.kind(), StatusKind::kMismatch);
    EXPECT_EQ(text_of(status),
              "bootstrap: ranks disagree about the size: rank 0 has 3, rank 2 has 7");
  }
}

TEST(TcpMistakes, AWrongSecretIsNamedByItsRankAndByAllOthers) {
  const Meeting meeting(3);
  const auto results = run_ranks(ranks_below(3), [&](int rank) {
    TcpOptions options = meeting.of(rank);
    options.job_secret = rank == 2 ? "another" : options.job_secret;
    // The wrong one has all the time in the world and must not need it.
    return join_and_exchange(options, rank == 2 ? soon() : in(std::chrono::seconds(1)));
  });
  EXPECT_EQ(results[2].kind(), StatusKind::kPeerRefused);
  EXPECT_THAT(text_of(results[2]), HasSubstr("its job secret is another one"));
  for (const int rank : {0, 1}) {
    const Status& status = results[static_cast<std::size_t>(rank)];
    EXPECT_EQ(status.kind(), StatusKind::kTimeout);
    EXPECT_THAT(text_of(status), AllOf(HasSubstr("waiting for rank 2 of 3"),
                                       HasSubstr("calls itself rank 2 has another job secret")));
    EXPECT_EQ(text_of(status), text_of(results[0]));
  }
}

TEST(TcpMistakes, NoSecretIsAllowedOnLoopbackOnly) {
  const Meeting meeting(2, "127.0.0.1", "");
  expect_all_ok(run_ranks(ranks_below(2),
                          [&](int rank) { return join_and_exchange(meeting.of(rank), soon()); }));
  TcpOptions options = meeting.of(1);
  options.host = "192.0.2.1";  // Reserved for documentation: nobody is there.
  const Status status = join_and_exchange(options, soon());
  EXPECT_EQ(status.kind(), StatusKind::kInvalidArgument);
  EXPECT_THAT(text_of(status), HasSubstr("192.0.2.1"));
  EXPECT_THAT(text_of(status), HasSubstr("CROSSDOCK_JOB_SECRET"));
}

TEST(TcpMistakes, AnOccupiedPortIsAnErrorThatNamesIt) {
  const Meeting meeting(2);
  TcpOptions options = meeting.of(0);
  options.listener_fd = -1;
  const Status status = join_and_exchange(options, soon());
  EXPECT_EQ(status.kind(), StatusKind::kIo);
  EXPECT_THAT(text_of(status),
              AllOf(HasSubstr(meeting.address().to_string()), HasSubstr("Address already in use")));
}

TEST(TcpMistakes, ADescriptorThatDoesNotListenIsRefused) {
  TcpOptions options = Meeting(2).of(0);
  options.listener_fd = STDERR_FILENO;
  EXPECT_THAT(text_of(join_and_exchange(options, soon())),
              HasSubstr("descriptor 2 is not a listening socket"));
}

TEST(TcpMistakes, OptionsOutOfRangeAreRefused) {
  TcpOptions options = Meeting(2).of(1);
  options.rank = 2;
  EXPECT_EQ(text_of(join_and_exchange(options, soon())),
            "bootstrap: rank 2 is not in 0 .. 1 (size 2)");
  options.rank = 1;
  options.port = 0;
  EXPECT_EQ(text_of(join_and_exchange(options, soon())), "bootstrap: port 0 is not in 1 .. 65535");
  options.size = 0;
  EXPECT_THAT(text_of(join_and_exchange(options, soon())), HasSubstr("size 0"));
}

TEST(TcpMistakes, AnOversizeBlobFailsTheRoundOnEveryRank) {
  for (const int culprit : {0, 1}) {
    const Meeting meeting(3);
    for (const Status& status : run_ranks(ranks_below(3), [&](int rank) -> Status {
           CROSSDOCK_ASSIGN_OR_RETURN(auto bootstrap, make_tcp_bootstrap(meeting.of(rank), soon()));
           const std::vector<std::byte> mine(Bootstrap::kBlobBytesMax + (rank == culprit ? 1 : 0));
           return bootstrap->all_gather(mine, soon()).status();
         })) {
      EXPECT_EQ(status.culprit(), culprit);
      EXPECT_EQ(text_of(status), "bootstrap: rank " + std::to_string(culprit) +
                                     " gave 1048577 bytes, allowed are 1048576");
    }
  }
}

TEST(TcpFailures, ARankThatDoesNotComeToTheRoundIsNamedOnEveryRank) {
  const Meeting meeting(3);
  std::vector<std::unique_ptr<Bootstrap>> late(1);
  for (const Status& status : run_ranks(ranks_below(3), [&](int rank) -> Status {
         CROSSDOCK_ASSIGN_OR_RETURN(auto bootstrap, make_tcp_bootstrap(meeting.of(rank), soon()));
         if (rank == 2) {
           late[0] = std::move(bootstrap);  // Stays connected and says nothing.
           return Status(StatusKind::kTimeout, Scope::kCommunicator, "", 2);
         }
         return bootstrap->all_gather({}, in(std::chrono::seconds(1))).status();
       })) {
    EXPECT_EQ(status.kind(), StatusKind::kTimeout);
    EXPECT_EQ(status.culprit(), 2);
  }
  // The late one gets the reason, now and whenever it asks again.
  for (int call = 0; call < 2; ++call) {
    EXPECT_EQ(text_of(late[0]->all_gather({}, soon()).status()),
              "bootstrap: timed out waiting for rank 2 of 3 in an all-gather");
  }
}

class TcpDeath : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, TcpDeath, ::testing::Values(0, 1, 3));

TEST_P(TcpDeath, InTheMiddleOfARoundIsReportedOnEveryRankAtOnce) {
  const int victim = GetParam();
  const Meeting meeting(4);
  const pid_t child = ::fork();  // Before any thread.
  if (child == 0) {
    auto bootstrap = make_tcp_bootstrap(meeting.of(victim), soon());
    ::kill(::getpid(), SIGKILL);
  }
  std::vector<int> survivors = ranks_below(4);
  std::erase(survivors, victim);
  const auto results = run_ranks(survivors, [&](int rank) -> Status {
    TcpOptions options = meeting.of(rank);
    CROSSDOCK_ASSIGN_OR_RETURN(auto bootstrap, make_tcp_bootstrap(options, soon()));
    return bootstrap->all_gather({}, Deadline::never()).status();
  });
  for (const Status& status : results) {
    EXPECT_EQ(status.kind(), StatusKind::kPeerDead) << status.to_string();
    EXPECT_EQ(status.culprit(), victim);
  }
  ::waitpid(child, nullptr, 0);
}

TEST(TcpFailures, AChildForkedAfterTheStartMayNotUseTheBootstrap) {
  const Meeting meeting(2);
  expect_all_ok(run_ranks(ranks_below(2), [&](int rank) -> Status {
    CROSSDOCK_ASSIGN_OR_RETURN(auto bootstrap, make_tcp_bootstrap(meeting.of(rank), soon()));
    if (rank == 1) {
      const pid_t child = ::fork();
      if (child == 0) {
        const auto result = bootstrap->all_gather({}, soon());
        const bool refused = text_of(result.status()).find("after fork") != std::string::npos;
        bootstrap.reset();  // Must not disturb the parent's connection.
        ::_exit(refused ? 0 : 1);
      }
      int status = -1;
      ::waitpid(child, &status, 0);
      EXPECT_EQ(status, 0);
    }
    return exchange(*bootstrap, soon());
  }));
}

}  // namespace
}  // namespace crossdock::fabric
