// SPDX-License-Identifier: Apache-2.0
// The ring on real memory with real threads: for ThreadSanitizer, and for what only a machine does.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "fabric/queue/send_ring.h"

namespace crossdock::fabric {
namespace {

constexpr std::uint64_t kSourceWords = 4;

// A register between doorbell role and engine thread, as a NIC has one.
struct Register final : DoorbellTarget {
  std::atomic<std::uint64_t> end{0};
  std::atomic<std::uint64_t> doorbell_count{0};
  void submit(std::uint64_t /*begin*/, std::uint64_t new_end) override {
    doorbell_count.fetch_add(1, std::memory_order_relaxed);
    end.store(new_end, std::memory_order_release);  // Pairs with the engine's load.
  }
};

class Producer {
 public:
  Producer(SendRing<>& ring, Register& target, std::uint64_t id, std::uint64_t request_count)
      : ring_(ring), target_(target), id_(id), sources_(request_count * kSourceWords) {}

  void run() {
    const std::uint64_t request_count = sources_.size() / kSourceWords;
    for (std::uint64_t next = 0; next < request_count;) {
      const std::uint64_t count = std::min(request_count - next, next % ring_.depth() + 1);
      auto taken = ring_.try_reserve(count);
      for (; !taken; taken = ring_.try_reserve(count)) {
        ring_.ring_doorbell(target_);
        std::this_thread::yield();
      }
      // Backwards, so that there are holes.
      for (std::uint64_t index = count; index-- > 0;) {
        post(taken->begin + index, next + index);
      }
      next += count;
      if (next % 3 == 0) {
        ring_.ring_doorbell(target_);
      }
    }
    ring_.ring_doorbell(target_);
  }

 private:
  void post(std::uint64_t position, std::uint64_t number) {
    std::uint64_t* const source = &sources_[number * kSourceWords];
    std::fill_n(source, kSourceWords, id_ << 32 | number);  // Plain stores: ordered by the mark.
    ring_.stage(position, std::as_bytes(std::span(source, kSourceWords)));
    ring_.write(position, {.from = reinterpret_cast<const std::byte*>(source),
                           .byte_count = kSourceWords * 8,
                           .value = id_ << 32 | number,
                           .kind = RequestKind::kPut});
    ring_.mark_done(position);
  }

  SendRing<>& ring_;
  Register& target_;
  std::uint64_t id_;
  std::vector<std::uint64_t> sources_;  // never written twice
};

void execute(SendRing<>& ring, const Register& target, std::uint64_t request_count,
             std::vector<std::uint64_t>& next_of) {
  for (std::uint64_t position = 0; position < request_count;) {
    const std::uint64_t end = target.end.load(std::memory_order_acquire);
    if (position == end) {
      std::this_thread::yield();
    }
    for (; position < end; ++position) {
      const Request& request = ring.read(position);
      const auto staged = ring.staged(position, kSourceWords * 8);
      for (std::uint64_t word = 0; word < kSourceWords; ++word) {
        std::uint64_t from_source = 0;
        std::uint64_t from_staging = 0;
        std::memcpy(&from_source, request.from + word * 8, 8);
        std::memcpy(&from_staging, staged.data() + word * 8, 8);
        ASSERT_EQ(from_source, request.value);
        ASSERT_EQ(from_staging, request.value);
      }
      const std::uint64_t producer = request.value >> 32;
      ASSERT_LT(producer, next_of.size());
      next_of[producer] += 1;
      ring.complete(position + 1);
    }
  }
}

TEST(SendRingThreads, EveryRequestIsPerformedOnceAndWhole) {
  constexpr std::uint64_t kProducers = 3;
  constexpr std::uint64_t kEach = 5000;
  for (const std::uint64_t depth : {1U, 4U, 64U}) {
    SendRing<> ring({.depth = depth, .staging_bytes = kSourceWords * 8});
    Register target;
    std::vector<std::uint64_t> performed(kProducers);
    std::vector<Producer> producers;
    for (std::uint64_t id = 0; id < kProducers; ++id) {
      producers.emplace_back(ring, target, id, kEach);
    }
    std::vector<std::thread> threads;
    threads.emplace_back([&] { execute(ring, target, kProducers * kEach, performed); });
    for (Producer& producer : producers) {
      threads.emplace_back([&producer] { producer.run(); });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    EXPECT_EQ(performed, std::vector<std::uint64_t>(kProducers, kEach)) << "depth " << depth;
    EXPECT_LE(target.doorbell_count.load(), kProducers * kEach);
  }
}

}  // namespace
}  // namespace crossdock::fabric
