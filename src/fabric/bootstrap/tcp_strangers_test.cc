// SPDX-License-Identifier: Apache-2.0
// Whoever connects without knowing the secret must not disturb the job, whatever is sent.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/status_macros.h"
#include "fabric/bootstrap/bootstrap_test_support.h"
#include "fabric/bootstrap/connection.h"
#include "fabric/bootstrap/frame.h"
#include "fabric/bootstrap/handshake.h"

namespace crossdock::fabric {
namespace {

using ::testing::HasSubstr;

using Bytes = std::vector<std::byte>;

/// A raw client of `meeting`.
class Stranger {
 public:
  explicit Stranger(const Meeting& meeting) {
    auto socket = connect_to(meeting.address(), soon());
    EXPECT_TRUE(socket.ok()) << socket.status().to_string();
    socket_ = std::move(socket).value();
  }
  /// Sends as much as the other side takes; it may have hung up.
  void send(std::span<const std::byte> bytes) const {
    const Deadline deadline = soon();
    while (!bytes.empty() && !deadline.expired(monotonic_clock().now())) {
      pollfd events{.fd = socket_.get(), .events = POLLOUT, .revents = 0};
      ASSERT_TRUE(poll_until(std::span(&events, 1), deadline).ok());
      const ssize_t count =
          ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (count <= 0) {
        return;
      }
      bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
  }
  /// The root's challenge, byte for byte.
  [[nodiscard]] Bytes read_challenge() const {
    Bytes bytes;
    const Deadline deadline = soon();
    while (parse_frame(bytes, kHandshakeBytesMax).outcome == ParseOutcome::kIncomplete &&
           !deadline.expired(monotonic_clock().now())) {
      pollfd events{.fd = socket_.get(), .events = POLLIN, .revents = 0};
      EXPECT_TRUE(poll_until(std::span(&events, 1), deadline).ok());
      Bytes piece(256);
      const ssize_t count = ::recv(socket_.get(), piece.data(), piece.size(), MSG_DONTWAIT);
      if (count <= 0) {
        break;
      }
      bytes.insert(bytes.end(), piece.begin(), piece.begin() + count);
    }
    return bytes;
  }

 private:
  FileDescriptor socket_;
};

/// A job of three ranks in whose lobby `disturb` runs after the root started and before the others
/// join; the job must work all the same.
void expect_undisturbed(const std::function<void(const Meeting&)>& disturb) {
  const Meeting meeting(3);
  for (const Status& status : run_ranks(ranks_below(3), [&](int rank) -> Status {
         if (rank == 1) {
           disturb(meeting);
         }
         CROSSDOCK_ASSIGN_OR_RETURN(auto bootstrap, make_tcp_bootstrap(meeting.of(rank), soon()));
         return exchange(*bootstrap, soon());
       })) {
    EXPECT_TRUE(status.ok()) << status.to_string();
  }
}

/// A join as rank 1 or as told, for `challenge`, signed as somebody with `secret` would.
Bytes make_join(const Bytes& challenge, std::string_view secret, const FrameHead& head,
                std::uint32_t size) {
  const ParsedFrame parsed = parse_frame(challenge, kHandshakeBytesMax);
  EXPECT_EQ(parsed.outcome, ParseOutcome::kComplete);
  Nonce root_nonce{};
  std::copy(parsed.frame.payload.begin(), parsed.frame.payload.end(), root_nonce.begin());
  const JoinPayload join{.leaf_nonce = make_nonce(), .size = size, .process_id = 1};
  Bytes frame;
  append_frame(frame, head, encode_join(join),
               derive_session_keys(derive_job_key(secret), root_nonce, join.leaf_nonce).to_root);
  return frame;
}

TEST(TcpStrangers, OneThatSaysNothingIsNoHindrance) {
  std::vector<Stranger> silent;
  expect_undisturbed([&](const Meeting& meeting) { silent.emplace_back(meeting); });
}

TEST(TcpStrangers, AnotherProtocolIsNoHindrance) {
  expect_undisturbed([](const Meeting& meeting) {
    Stranger(meeting).send(bytes_of("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    Stranger(meeting).send(bytes_of(std::string("\x16\x03\x01\x02\x00\x01", 6)));
    Stranger(meeting).send(bytes_of("X"));
  });
}

TEST(TcpStrangers, EndlessBytesAreNoHindrance) {
  expect_undisturbed([](const Meeting& meeting) {
    Stranger(meeting).send(Bytes(std::size_t{32} << 20));
    Bytes frame;  // A frame that promises 4 GiB, and more after it.
    append_frame(frame, {.kind = FrameKind::kJoin, .rank = 1, .sequence = 0}, {}, Key{});
    std::fill(frame.begin() + 12, frame.begin() + 16, std::byte{0xff});
    frame.resize(std::size_t{8} << 20);
    Stranger(meeting).send(frame);
  });
}

TEST(TcpStrangers, HundredsOfOpenConnectionsAreNoHindrance) {
  std::vector<Stranger> silent;
  expect_undisturbed([&](const Meeting& meeting) {
    for (int i = 0; i < 300; ++i) {
      silent.emplace_back(meeting);
    }
  });
}

TEST(TcpStrangers, AJoinWithAnotherSecretDoesNotTakeTheRank) {
  expect_undisturbed([](const Meeting& meeting) {
    for (const std::uint32_t rank : {0U, 1U, 2U, 3U, 0xffffffffU}) {
      const Stranger stranger(meeting);
      stranger.send(make_join(stranger.read_challenge(), "guess",
                              {.kind = FrameKind::kJoin, .rank = rank, .sequence = 0}, 3));
    }
  });
}

TEST(TcpStrangers, ARecordedJoinIsWorthNothingOnAnotherConnection) {
  expect_undisturbed([](const Meeting& meeting) {
    const Stranger overheard(meeting);
    const Bytes join = make_join(overheard.read_challenge(), meeting.options.job_secret,
                                 {.kind = FrameKind::kJoin, .rank = 1, .sequence = 0}, 3);
    const Stranger replay(meeting);
    EXPECT_FALSE(replay.read_challenge().empty());
    replay.send(join);
  });
}

TEST(TcpStrangers, TheRootsOwnChallengeSentBackIsWorthNothing) {
  expect_undisturbed([](const Meeting& meeting) {
    const Stranger stranger(meeting);
    stranger.send(stranger.read_challenge());
  });
}

TEST(TcpStrangers, RandomAndDamagedFramesAreNoHindrance) {
  constexpr std::uint64_t kSeed = 17;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  expect_undisturbed([](const Meeting& meeting) {
    std::mt19937_64 random(kSeed);
    for (int round = 0; round < 200; ++round) {
      const Stranger stranger(meeting);
      Bytes bytes;
      if (round % 2 == 0) {
        bytes.resize(random() % 300);
        std::generate(bytes.begin(), bytes.end(), [&] { return std::byte(random() & 0xff); });
      } else {  // Right in all but a few bits or its end. Never rank 1 or 2 with everything right.
        bytes = make_join(stranger.read_challenge(), "guess",
                          {.kind = static_cast<FrameKind>(1 + random() % 6),
                           .rank = static_cast<std::uint32_t>(random() % 4),
                           .sequence = random() % 3},
                          3);
        bytes[random() % bytes.size()] ^= std::byte(1U << (random() % 8));
        bytes.resize(random() % 4 == 0 ? random() % bytes.size() : bytes.size());
      }
      stranger.send(bytes);
    }
  });
}

TEST(TcpStrangers, TheTimeoutSaysHowManyWereDroppedAndWhy) {
  const Meeting meeting(2);
  Status status;
  std::thread root([&] {
    status = make_tcp_bootstrap(meeting.of(0), in(std::chrono::milliseconds(500))).status();
  });
  Stranger(meeting).send(bytes_of("GET / HTTP/1.1\r\n\r\n"));
  root.join();
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("waiting for rank 1 of 2 to join; 1 other connections were dropped, the "
                        "last one from 127.0.0.1:"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("not a crossdock bootstrap frame"));
}

/// What a leaf says about a server that answers with `answer` and then stays silent.
Status join_fake_root(const Bytes& answer) {
  const Meeting meeting(2);
  std::thread server([&] {
    pollfd events{.fd = meeting.listener.get(), .events = POLLIN, .revents = 0};
    ASSERT_TRUE(poll_until(std::span(&events, 1), soon()).ok());
    SocketAddress peer;
    auto socket = accept_from(meeting.listener.get(), &peer);
    ASSERT_TRUE(socket.ok() && socket->valid());
    ASSERT_EQ(::send(socket->get(), answer.data(), answer.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(answer.size()));
    // Until the leaf hangs up.
    events = {.fd = socket->get(), .events = POLLRDHUP, .revents = 0};
    ASSERT_TRUE(poll_until(std::span(&events, 1), soon()).ok());
  });
  const Status status = make_tcp_bootstrap(meeting.of(1), in(std::chrono::seconds(2))).status();
  server.join();
  return status;
}

TEST(TcpFakeRoot, AServerOfAnotherProtocolIsRefused) {
  const Status status = join_fake_root(bytes_of("SSH-2.0-OpenSSH_9.2p1\r\n"));
  EXPECT_EQ(status.kind(), StatusKind::kPeerRefused);
  EXPECT_THAT(std::string(status.message()), HasSubstr("not a crossdock bootstrap frame"));
}

TEST(TcpFakeRoot, AChallengeOfSomebodyWithoutTheSecretIsRefused) {
  Bytes challenge;
  append_frame(challenge, {.kind = FrameKind::kChallenge, .rank = 0, .sequence = 0}, make_nonce(),
               derive_job_key("guess"));
  EXPECT_EQ(join_fake_root(challenge).kind(), StatusKind::kPeerRefused);
}

TEST(TcpFakeRoot, AReplayedChallengeLeadsNowhere) {
  Bytes answer;
  const Key job_key = derive_job_key("a test secret");
  append_frame(answer, {.kind = FrameKind::kChallenge, .rank = 0, .sequence = 0}, make_nonce(),
               job_key);
  // Without the session key, which takes the secret, the leaf cannot be told that it is in.
  append_frame(answer, {.kind = FrameKind::kAccepted, .rank = 1, .sequence = 0}, {}, job_key);
  const Status status = join_fake_root(answer);
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr("signature"));
}

TEST(TcpFakeRoot, SilenceEndsAtTheDeadline) {
  const Status status = join_fake_root({});
  EXPECT_EQ(status.kind(), StatusKind::kTimeout);
  EXPECT_THAT(std::string(status.message()), HasSubstr("no answer before the deadline"));
}

}  // namespace
}  // namespace crossdock::fabric
