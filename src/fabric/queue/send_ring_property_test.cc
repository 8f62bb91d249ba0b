// SPDX-License-Identifier: Apache-2.0
// Random producers over tiny rings, in random orders of all their memory accesses, with an auditor
// that knows what is whole, submitted and performed. TEST_CASES and TEST_SEED choose how many and
// which.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "base/settings.h"
#include "fabric/queue/send_ring.h"
#include "fabric/queue/testing/stepped_memory.h"
#include "fabric/queue/testing/stepper.h"

namespace crossdock::fabric {
namespace {

using testing::SteppedMemory;
using testing::Stepper;

// What a request is, written by its producer and expected by the engine.
struct Origin {
  std::uint64_t producer = 0;
  std::uint64_t batch = 0;
  std::uint64_t index = 0;  // in its batch
  std::uint64_t count = 0;  // of the batch
  friend bool operator==(const Origin&, const Origin&) = default;

  [[nodiscard]] std::uint64_t packed() const {
    return producer << 48 | batch << 32 | index << 16 | count;
  }
};

struct Reached {
  int holes = 0;    // a doorbell that stopped at a hole
  int fulls = 0;    // a reservation that found no room
  int laps = 0;     // slots that were used again
  int covered = 0;  // a doorbell that covered requests of several producers
};

class World final : public DoorbellTarget {
 public:
  World(std::uint64_t seed, Reached& reached)
      : random_(seed),
        reached_(reached),
        stepper_(seed),
        ring_({.depth = std::uint64_t{1} << draw(0, 3),
               .staging_bytes = 8,
               .first_position = first_position_}) {}

  std::string run() {
    const std::uint64_t producer_count = draw(1, 3);
    for (std::uint64_t producer = 0; producer < producer_count; ++producer) {
      std::vector<std::uint64_t> batches;
      for (std::uint64_t left = draw(1, 4 * ring_.depth() + 2); left > 0;) {
        batches.push_back(draw(1, std::min(left, ring_.depth())));
        left -= batches.back();
        expected_ += batches.back();
      }
      stepper_.add_agent([this, producer, batches] { produce(producer, batches); });
    }
    stepper_.add_agent([this] { execute(); });
    stepper_.run();
    reached_.laps += expected_ > ring_.depth() ? 1 : 0;
    return stepper_.trouble();
  }

  // The doorbell: hands on to the engine by a word of its own, as a NIC's register would.
  void submit(std::uint64_t begin, std::uint64_t end) override {
    require(begin == submitted_, "a doorbell range does not follow the one before");
    require(begin < end, "an empty doorbell");
    bool mixed = false;
    for (std::uint64_t position = begin; position < end; ++position) {
      const auto found = audit_.find(position);
      require(found != audit_.end() && found->second.is_done,
              "a doorbell covers a request that is not done");
      mixed = mixed || found->second.origin.producer != audit_[begin].origin.producer;
    }
    reached_.covered += mixed ? 1 : 0;
    const auto next = audit_.upper_bound(end);
    reached_.holes += next != audit_.end() && next->second.is_done ? 1 : 0;
    submitted_ = end;
    register_.store(end, std::memory_order_release);
  }

 private:
  struct Entry {
    Origin origin;
    bool is_done = false;
  };

  void produce(std::uint64_t producer, const std::vector<std::uint64_t>& batches) {
    for (std::uint64_t batch = 0; batch < batches.size(); ++batch) {
      const std::uint64_t count = batches[batch];
      auto taken = ring_.try_reserve(count);
      while (!taken) {
        ++reached_.fulls;
        ring_.ring_doorbell(*this);
        taken = ring_.try_reserve(count);
      }
      require(taken->end - taken->begin == count, "a reservation of another size");
      for (std::uint64_t index = 0; index < count; ++index) {
        const std::uint64_t position = taken->begin + index;
        require(position < performed_ + ring_.depth(), "a slot was given away before completion");
        const bool is_new =
            audit_.try_emplace(position, Entry{{producer, batch, index, count}, false}).second;
        require(is_new, "a position was given away twice");
      }
      fill(*taken, {producer, batch, 0, count});
      if (draw(0, 1) == 0) {
        ring_.ring_doorbell(*this);
      }
    }
    ring_.ring_doorbell(*this);
  }

  // Requests of a batch become whole in any order, and are marked in any later order.
  void fill(const Reservation& taken, Origin origin) {
    std::vector<std::uint64_t> order(taken.end - taken.begin);
    std::iota(order.begin(), order.end(), std::uint64_t{0});
    std::shuffle(order.begin(), order.end(), random_);
    const bool marks_later = draw(0, 1) == 1;
    const auto mark = [&](std::uint64_t position) {
      audit_[position].is_done = true;
      ring_.mark_done(position);
    };
    for (const std::uint64_t index : order) {
      origin.index = index;
      const std::uint64_t packed = origin.packed();
      ring_.stage(taken.begin + index, std::as_bytes(std::span(&packed, 1)));
      ring_.write(taken.begin + index, {.value = packed, .kind = RequestKind::kPut});
      if (!marks_later) {
        mark(taken.begin + index);
      }
    }
    std::shuffle(order.begin(), order.end(), random_);
    for (const std::uint64_t index : order) {
      if (marks_later) {
        mark(taken.begin + index);
      }
    }
  }

  void execute() {
    std::uint64_t position = first_position_;
    while (position < first_position_ + expected_) {
      const std::uint64_t end = register_.load(std::memory_order_acquire);
      const std::uint64_t stop = position + (end == position ? 0 : draw(1, end - position));
      for (; position < stop; ++position) {
        const Origin& origin = audit_[position].origin;
        require(ring_.read(position).value == origin.packed(), "a request was overwritten");
        std::uint64_t staged = 0;
        std::memcpy(&staged, ring_.staged(position, 8).data(), 8);
        require(staged == origin.packed(), "staging bytes were overwritten");
        require(origin.index == 0 ||
                    audit_[position - 1].origin ==
                        Origin{origin.producer, origin.batch, origin.index - 1, origin.count},
                "a reservation is not contiguous");
      }
      performed_ = position;
      ring_.complete(position);
    }
  }

  void require(bool holds, const char* trouble) {
    if (!holds) {
      stepper_.fail(trouble);
    }
  }
  std::uint64_t draw(std::uint64_t low, std::uint64_t high) {
    return std::uniform_int_distribution<std::uint64_t>(low, high)(random_);
  }

  std::mt19937_64 random_;
  Reached& reached_;
  Stepper stepper_;
  const std::uint64_t first_position_ = draw(0, 1) == 0 ? 0 : (std::uint64_t{1} << 32) - 5;
  SendRing<SteppedMemory> ring_;
  SteppedMemory::Word register_{first_position_};
  // The auditor's view; only the agent with the baton touches it.
  std::map<std::uint64_t, Entry> audit_;
  std::uint64_t expected_ = 0;
  std::uint64_t submitted_ = first_position_;
  std::uint64_t performed_ = first_position_;
};

std::uint64_t number_from(const char* name, std::uint64_t otherwise) {
  const auto text = environment_variable(name);
  return text ? std::strtoull(text->c_str(), nullptr, 10) : otherwise;
}

TEST(SendRingProperty, HoldsInRandomOrdersOfAllAccesses) {
  const std::uint64_t case_count = number_from("TEST_CASES", 2000);
  const std::uint64_t seed = number_from("TEST_SEED", 20261201);
  Reached reached;
  for (std::uint64_t index = 0; index < case_count; ++index) {
    const std::string trouble = World(seed + index, reached).run();
    ASSERT_EQ(trouble, "") << "repeat with TEST_CASES=1 TEST_SEED=" << seed + index;
  }
  std::cout << fmt::format("cases {}, seed {}: holes {}, full {}, laps {}, mixed doorbells {}\n",
                           case_count, seed, reached.holes, reached.fulls, reached.laps,
                           reached.covered);
  if (case_count >= 100) {  // A sweep that never got there proves nothing about it.
    EXPECT_GT(reached.holes, 0);
    EXPECT_GT(reached.fulls, 0);
    EXPECT_GT(reached.laps, 0);
    EXPECT_GT(reached.covered, 0);
  }
}

}  // namespace
}  // namespace crossdock::fabric
