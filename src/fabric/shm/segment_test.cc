// SPDX-License-Identifier: Apache-2.0
#include "fabric/shm/segment.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fabric/shm/presence.h"

namespace crossdock::fabric {
namespace {

TEST(Segment, CannotBeCutOrGrownByAnybody) {
  const auto segment = Segment::create(10'000, PageKind::kBase);
  ASSERT_TRUE(segment.ok());
  EXPECT_NE(::ftruncate((*segment)->fd(), 100), 0);
  EXPECT_NE(::ftruncate((*segment)->fd(), 1 << 20), 0);
}

TEST(Segment, AnAttachedOneShowsTheSameBytes) {
  const auto segment = Segment::create(10'000, PageKind::kBase);
  ASSERT_TRUE(segment.ok());
  const auto attached = Segment::attach(::dup((*segment)->fd()), 10'000);
  ASSERT_TRUE(attached.ok());
  (*segment)->bytes()[9'999] = std::byte{42};
  EXPECT_EQ((*attached)->bytes()[9'999], std::byte{42});
}

TEST(Segment, AnUnsealedOrShortFileIsRefused) {
  const int unsealed = ::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  ASSERT_EQ(::ftruncate(unsealed, 8192), 0);
  EXPECT_EQ(Segment::attach(unsealed, 8192).status().kind(), StatusKind::kMismatch);
  const auto segment = Segment::create(4096, PageKind::kBase);
  ASSERT_TRUE(segment.ok());
  EXPECT_EQ(Segment::attach(::dup((*segment)->fd()), 1 << 20).status().kind(),
            StatusKind::kMismatch);
}

TEST(Segment, IsFoundByIdUntilItIsGone) {
  auto segment = Segment::create(4096, PageKind::kBase);
  ASSERT_TRUE(segment.ok());
  const std::uint64_t id = (*segment)->id();
  EXPECT_EQ(Segment::find(id), *segment);
  *segment = nullptr;
  EXPECT_EQ(Segment::find(id), nullptr);
}

TEST(Presence, TheFirstWordCountsAndKeepsItsReason) {
  Presence presence{};
  EXPECT_EQ(presence.observe(), PresenceState::kAlive);
  presence.poison(Status(StatusKind::kPeerDead, Scope::kCommunicator, "rank 2 (pid 7) died", 2));
  presence.poison(Status(StatusKind::kTimeout, Scope::kCommunicator, "later", 1));
  presence.close();
  ASSERT_EQ(presence.observe(), PresenceState::kPoisoned);
  const Status reason = presence.reason(1);
  EXPECT_EQ(reason.kind(), StatusKind::kPeerDead);
  EXPECT_EQ(reason.culprit(), 2);
  EXPECT_EQ(reason.message(), "rank 2 (pid 7) died (told by rank 1)");
}

TEST(Presence, GarbageInThePageIsStillAStatus) {
  Presence presence{};
  presence.kind = 4'000'000'000U;
  presence.text.fill('x');  // no terminator
  presence.state.store(static_cast<std::uint32_t>(PresenceState::kPoisoned));
  EXPECT_FALSE(presence.reason(0).ok());
}

}  // namespace
}  // namespace crossdock::fabric
