// SPDX-License-Identifier: Apache-2.0
// A program of its own: it replaces the global operator new by one that counts.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <string_view>

#include "crossdock/types.h"
#include "protocol/protocol.h"

namespace {

std::uint64_t allocation_count = 0;

}  // namespace

void* operator new(std::size_t size) {
  ++allocation_count;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) {
    return memory;
  }
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t /*size*/) noexcept { std::free(memory); }

namespace crossdock::protocol {
namespace {

/// Every event of a round as rank 0 sees it when all others answer at once.
void run_round(Protocol& protocol, int rank_count, std::uint64_t epoch) {
  static_cast<void>(protocol.step({.kind = EventKind::kRoundOpened, .epoch = epoch}));
  for (int peer = 1; peer < rank_count; ++peer) {
    static_cast<void>(protocol.step({.kind = EventKind::kPayloadPosted, .peer = RankId{peer}}));
  }
  static_cast<void>(protocol.step({.kind = EventKind::kAllPosted}));
  while (!protocol.is_round_proven()) {
    for (int source = 0; source < rank_count; ++source) {
      for (int word = 0; word < protocol.word_count(); ++word) {
        if (protocol.awaits(RankId{source}, word)) {
          static_cast<void>(
              protocol.step({.kind = EventKind::kWordObserved,
                             .peer = RankId{source},
                             .word = word,
                             .value = protocol.expected_value(RankId{source}, word)}));
        }
      }
    }
  }
}

TEST(ProtocolAllocation, CounterSeesAnAllocation) {
  const std::uint64_t before = allocation_count;
  const auto protocol = make_protocol("barrier", {RankId{0}, 2, 1});
  EXPECT_GT(allocation_count, before);
}

TEST(ProtocolAllocation, RoundsAllocateNothing) {
  for (const std::string_view name : protocol_names()) {
    for (const int rank_count : {1, 2, 8, 100}) {
      const auto protocol = make_protocol(name, {RankId{0}, rank_count, 3}).value();
      const std::uint64_t before = allocation_count;
      for (std::uint64_t epoch = 1; epoch <= 10; ++epoch) {
        run_round(*protocol, rank_count, epoch);
      }
      EXPECT_EQ(allocation_count - before, 0U) << name << ", " << rank_count << " ranks";
    }
  }
}

}  // namespace
}  // namespace crossdock::protocol
