// SPDX-License-Identifier: Apache-2.0
#include "fabric/conformance_suite.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstring>
#include <random>

namespace crossdock::fabric::testing {
namespace {

using std::chrono::milliseconds;

std::uint64_t load_word(Window& window, std::uint64_t offset) {
  auto* word = reinterpret_cast<std::uint64_t*>(window.local().data() + offset);
  // Pairs with post_value / post_signal of the writing queue.
  return std::atomic_ref(*word).load(std::memory_order_acquire);
}

// Waits until the local word has `value`.
Status wait_word(Fabric& fabric, Window& window, std::uint64_t offset, std::uint64_t value,
                 int peer) {
  WaitSession session({.phase = "conformance", .peer = peer, .expected = value},
                      fabric.make_deadline());
  return wait(fabric, session, [&] {
    session.what.observed = load_word(window, offset);
    return session.what.observed == value;
  });
}

std::vector<std::byte> pattern(std::size_t size, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes) {
    byte = static_cast<std::byte>(random());
  }
  return bytes;
}

// What was posted from memory that is about to change.
void flush_all(Fabric& fabric) {
  for (int peer = 0; peer < fabric.size(); ++peer) {
    ASSERT_TRUE(fabric.queue(RankId{peer}, 0).flush(fabric.make_deadline()).ok());
  }
}

void windows_are_zero_and_symmetric(const Team& team) {
  team(4, [](Fabric& fabric) {
    auto window = fabric.make_window(100'001);
    ASSERT_TRUE(window.ok()) << window.status().to_string();
    EXPECT_EQ((*window)->byte_count(), 100'001U);
    for (const std::byte byte : (*window)->local()) {
      ASSERT_EQ(byte, std::byte{0});
    }
    for (int peer = 0; peer < fabric.size() && fabric.guarantees().load_store_reach; ++peer) {
      EXPECT_EQ((*window)->peer(RankId{peer}).size(), 100'001U);
    }
  });
}

// Relaxed puts, then one strong value: whoever sees the value sees all the rows.
void strong_value_covers_earlier_puts(const Team& team, StoreHint hint) {
  constexpr std::size_t kRow = 4096 + 24;
  constexpr std::size_t kRows = 16;
  constexpr std::uint64_t kRounds = 200;
  team(3, [hint](Fabric& fabric) {
    const auto size = static_cast<std::size_t>(fabric.size());
    auto window = fabric.make_window(size * 8 * 2 + size * 2 * kRows * kRow);
    ASSERT_TRUE(window.ok());
    const auto self = static_cast<std::size_t>(fabric.rank().value);
    const auto word_of = [&](std::size_t source, std::uint64_t round) {
      return (round % 2 * size + source) * 8;
    };
    const auto rows_of = [&](std::size_t source, std::uint64_t round) {
      return size * 16 + (round % 2 * size + source) * kRows * kRow;
    };
    for (std::uint64_t round = 1; round <= kRounds; ++round) {
      const auto mine = pattern(kRow, round * 1000 + self);
      for (std::size_t peer = 0; peer < size; ++peer) {
        Queue& queue = fabric.queue(RankId{static_cast<int>(peer)}, 0);
        for (std::size_t row = 0; row < kRows; ++row) {
          queue.post_put({window->get(), rows_of(self, round) + row * kRow}, mine, Order::kRelaxed,
                         hint);
        }
        queue.post_value({window->get(), word_of(self, round)}, round, Order::kStrong);
        queue.ring_doorbell();
      }
      for (std::size_t source = 0; source < size; ++source) {
        ASSERT_TRUE(
            wait_word(fabric, **window, word_of(source, round), round, static_cast<int>(source))
                .ok());
        const auto expected = pattern(kRow, round * 1000 + source);
        for (std::size_t row = 0; row < kRows; ++row) {
          ASSERT_EQ(std::memcmp((*window)->local().data() + rows_of(source, round) + row * kRow,
                                expected.data(), kRow),
                    0)
              << "round " << round << " source " << source << " row " << row;
        }
      }
      ASSERT_NO_FATAL_FAILURE(flush_all(fabric));
    }
  });
}

void signals_of_all_ranks_add_up(const Team& team) {
  constexpr std::uint64_t kEach = 5000;
  team(4, [](Fabric& fabric) {
    auto window = fabric.make_window(64);
    ASSERT_TRUE(window.ok());
    for (std::uint64_t signal = 0; signal < kEach; ++signal) {
      fabric.queue(RankId{0}, 0).post_signal({window->get(), 8}, 3, Order::kStrong);
    }
    fabric.queue(RankId{0}, 0).ring_doorbell();
    if (fabric.rank().value == 0) {
      const auto sum = kEach * 3 * static_cast<std::uint64_t>(fabric.size());
      EXPECT_TRUE(wait_word(fabric, **window, 8, sum, -1).ok());
    }
    EXPECT_TRUE(fabric.all_gather({}).ok());  // Windows must outlive the signals.
  });
}

void notify_is_never_before_its_data(const Team& team) {
  team(2, [](Fabric& fabric) {
    auto window = fabric.make_window(64 + 2 * 1024);
    ASSERT_TRUE(window.ok());
    const RankId other{1 - fabric.rank().value};
    for (std::uint64_t round = 1; round <= 500; ++round) {
      const std::uint64_t at = 64 + round % 2 * 1024;
      const auto mine = pattern(1000, round);
      fabric.queue(other, 0).post_put_notify({window->get(), at}, mine, StoreHint::kStream,
                                             {window->get(), round % 2 * 8}, 3);
      fabric.queue(other, 0).ring_doorbell();
      ASSERT_TRUE(
          wait_word(fabric, **window, round % 2 * 8, (round + 1) / 2 * 3, other.value).ok());
      ASSERT_EQ(std::memcmp((*window)->local().data() + at, mine.data(), mine.size()), 0);
      ASSERT_NO_FATAL_FAILURE(flush_all(fabric));
    }
  });
}

// Sources change as early as the fabric allows; the target sees what they were when posted.
void sources_are_read_as_promised(const Team& team) {
  constexpr std::uint64_t kRounds = 300;
  constexpr std::size_t kSizeMax = 3000;
  team(2, [](Fabric& fabric) {
    auto window = fabric.make_window(64 + 2 * kSizeMax);
    ASSERT_TRUE(window.ok());
    const RankId other{1 - fabric.rank().value};
    Queue& queue = fabric.queue(other, 0);
    std::vector<std::byte> mine;
    for (std::uint64_t round = 1; round <= kRounds; ++round) {
      mine = pattern(1 + round * 37 % kSizeMax, round);
      const std::uint64_t at = 64 + round % 2 * kSizeMax;
      queue.post_put({window->get(), at}, mine, Order::kRelaxed, StoreHint::kKeep);
      queue.post_value({window->get(), round % 2 * 8}, round, Order::kStrong);
      queue.ring_doorbell();
      if (!fabric.guarantees().source_reusable_on_return) {
        ASSERT_TRUE(queue.flush(fabric.make_deadline()).ok());
      }
      const auto expected = mine;
      std::fill(mine.begin(), mine.end(), std::byte{0xff});
      ASSERT_TRUE(wait_word(fabric, **window, round % 2 * 8, round, other.value).ok());
      ASSERT_EQ(std::memcmp((*window)->local().data() + at, expected.data(), expected.size()), 0)
          << "round " << round;
    }
  });
}

void more_puts_than_a_queue_holds_all_arrive(const Team& team) {
  constexpr std::uint64_t kPuts = 20'000;
  team(2, [](Fabric& fabric) {
    auto window = fabric.make_window(64 + kPuts * 8);
    ASSERT_TRUE(window.ok());
    const RankId other{1 - fabric.rank().value};
    Queue& queue = fabric.queue(other, 0);
    for (std::uint64_t put = 0; put < kPuts; ++put) {
      queue.post_value({window->get(), 64 + put * 8}, put + 1, Order::kNone);
    }
    // Operations of order none are outside every constraint: only a flush says they are there.
    ASSERT_TRUE(queue.flush(fabric.make_deadline()).ok());
    ASSERT_TRUE(fabric.all_gather({}).ok());
    for (std::uint64_t put = 0; put < kPuts; ++put) {
      ASSERT_EQ(load_word(**window, 64 + put * 8), put + 1);
    }
  });
}

void flush_means_performed_and_reusable(const Team& team) {
  team(2, [](Fabric& fabric) {
    auto window = fabric.make_window(4096);
    ASSERT_TRUE(window.ok());
    std::vector<std::byte> mine = pattern(2048, 7);
    if (fabric.rank().value == 0) {
      Queue& queue = fabric.queue(RankId{1}, 0);
      queue.post_put({window->get(), 64}, mine, Order::kRelaxed, StoreHint::kStream);
      queue.fence();
      ASSERT_TRUE(queue.flush(fabric.make_deadline()).ok());
      std::fill(mine.begin(), mine.end(), std::byte{0});
    }
    ASSERT_TRUE(fabric.all_gather({}).ok());
    if (fabric.rank().value == 1) {
      const auto expected = pattern(2048, 7);
      EXPECT_EQ(std::memcmp((*window)->local().data() + 64, expected.data(), expected.size()), 0);
    }
  });
}

void gathers_carry_every_size(const Team& team) {
  team(5, [](Fabric& fabric) {
    for (const std::size_t size :
         {std::size_t{0}, std::size_t{1}, std::size_t{40'000}, std::size_t{700'000}}) {
      const auto rank = static_cast<std::size_t>(fabric.rank().value);
      const auto all = fabric.all_gather(pattern(size + rank, rank));
      ASSERT_TRUE(all.ok()) << all.status().to_string();
      for (std::size_t peer = 0; peer < all->size(); ++peer) {
        EXPECT_EQ((*all)[peer], pattern(size + peer, peer));
      }
    }
  });
}

void windows_of_unequal_size_are_refused_on_every_rank(const Team& team) {
  team(3, [](Fabric& fabric) {
    const std::size_t size = fabric.rank().value == 2 ? 4096 : 8192;
    const auto window = fabric.make_window(size);
    ASSERT_FALSE(window.ok());
    EXPECT_EQ(window.status().kind(), StatusKind::kMismatch);
    EXPECT_NE(window.status().message().find("4096"), std::string_view::npos);
  });
}

void waiting_in_vain_names_the_peer(const Team& team) {
  team(2, [](Fabric& fabric) {
    auto window = fabric.make_window(64);
    ASSERT_TRUE(window.ok());
    if (fabric.rank().value == 0) {
      WaitSession session({.phase = "nothing", .peer = 1, .round = 9, .expected = 5},
                          Deadline::after(monotonic_clock(), milliseconds(30)));
      const Status status = wait(fabric, session, [] { return false; });
      EXPECT_EQ(status.kind(), StatusKind::kTimeout);
      ASSERT_NE(status.stuck(), nullptr);
      EXPECT_EQ(status.stuck()->peer, 1);
      EXPECT_EQ(status.stuck()->round, 9U);
      // Counted from the first look after spinning, a little later than the deadline.
      EXPECT_GE(status.stuck()->waited, milliseconds(25));
    } else {
      // The other side learns at once that rank 0 gave up, long before its own deadline.
      WaitSession session({.phase = "forever", .peer = 0}, fabric.make_deadline());
      const Status status = wait(fabric, session, [] { return false; });
      EXPECT_FALSE(status.ok());
      EXPECT_NE(status.message().find("nothing"), std::string_view::npos) << status.to_string();
    }
  });
}

void a_closed_peer_ends_only_waits_for_it(const Team& team) {
  team(3, [](Fabric& fabric) {
    auto window = fabric.make_window(64);
    ASSERT_TRUE(window.ok());
    if (fabric.rank().value == 0) {
      fabric.close();
      fabric.close();
      EXPECT_EQ(fabric.health().kind(), StatusKind::kClosed);
      return;
    }
    // Long enough to look at the peers: rank 0 is gone, and that is nobody's end who does not wait
    // for it.
    const RankId other{3 - fabric.rank().value};
    const Deadline until = Deadline::after(monotonic_clock(), milliseconds(50));
    for (std::uint64_t round = 1; round <= 3; ++round) {
      while (fabric.rank().value == 1 && !until.expired(monotonic_clock().now())) {
      }
      fabric.queue(other, 0).post_value({window->get(), round * 8}, round, Order::kStrong);
      fabric.queue(other, 0).ring_doorbell();
      const Status status = wait_word(fabric, **window, round * 8, round, other.value);
      ASSERT_TRUE(status.ok()) << status.to_string();
    }
    ASSERT_NO_FATAL_FAILURE(flush_all(fabric));
    WaitSession session({.phase = "closed peer", .peer = 0}, fabric.make_deadline());
    const Status status = wait(fabric, session, [] { return false; });
    EXPECT_EQ(status.kind(), StatusKind::kClosed) << status.to_string();
    EXPECT_EQ(status.culprit(), 0);
  });
}

void children_of_a_split_work_side_by_side(const Team& team) {
  team(5, [](Fabric& fabric) {
    const int colour = fabric.rank().value % 2;
    auto child = fabric.split(colour);
    ASSERT_TRUE(child.ok()) << child.status().to_string();
    EXPECT_EQ((*child)->size(), colour == 0 ? 3 : 2);
    EXPECT_EQ((*child)->rank().value, fabric.rank().value / 2);
    auto window = (*child)->make_window(1024);
    ASSERT_TRUE(window.ok());
    const int next = ((*child)->rank().value + 1) % (*child)->size();
    const auto value = static_cast<std::uint64_t>(colour + 10);
    (*child)->queue(RankId{next}, 0).post_value({window->get(), 0}, value, Order::kStrong);
    (*child)->queue(RankId{next}, 0).ring_doorbell();
    EXPECT_TRUE(wait_word(**child, **window, 0, value, -1).ok());
    EXPECT_TRUE((*child)->all_gather({}).ok());
  });
}

}  // namespace

std::vector<ConformanceCase> conformance_cases() {
  return {
      {"WindowsAreZeroAndSymmetric", windows_are_zero_and_symmetric},
      {"StrongValueCoversEarlierPlainPuts",
       [](const Team& team) { strong_value_covers_earlier_puts(team, StoreHint::kKeep); }},
      {"StrongValueCoversEarlierStreamingPuts",
       [](const Team& team) { strong_value_covers_earlier_puts(team, StoreHint::kStream); }},
      {"SignalsOfAllRanksAddUp", signals_of_all_ranks_add_up},
      {"NotifyIsNeverBeforeItsData", notify_is_never_before_its_data},
      {"FlushMeansPerformedAndReusable", flush_means_performed_and_reusable},
      {"SourcesAreReadAsPromised", sources_are_read_as_promised},
      {"MorePutsThanAQueueHoldsAllArrive", more_puts_than_a_queue_holds_all_arrive},
      {"GathersCarryEverySize", gathers_carry_every_size},
      {"WindowsOfUnequalSizeAreRefusedOnEveryRank",
       windows_of_unequal_size_are_refused_on_every_rank},
      {"WaitingInVainNamesThePeer", waiting_in_vain_names_the_peer},
      {"AClosedPeerEndsOnlyWaitsForIt", a_closed_peer_ends_only_waits_for_it},
      {"ChildrenOfASplitWorkSideBySide", children_of_a_split_work_side_by_side},
  };
}

}  // namespace crossdock::fabric::testing
