// SPDX-License-Identifier: Apache-2.0
// Completion protocols: how a receiver learns that a round's rows are in its window.
//
// A protocol is a step machine: an event goes in, actions come out. It owns no clock, no thread and
// no memory after it was made; the engine, the simulator and the verifier drive the same object.
// Every rank has a block of `word_count()` control words per source in its window, written by that
// source only. A round is numbered by its epoch, which starts at 1 and grows by one each round.
// Thread rule: one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <type_traits>

#include "base/check.h"
#include "crossdock/status.h"
#include "crossdock/types.h"
#include "fabric/fabric.h"
#include "protocol/contract.h"

namespace crossdock::protocol {

struct Team {
  RankId self;
  int rank_count = 1;
  int lane_count = 1;  // queues per pair of ranks
};

enum class EventKind : std::uint8_t {
  kRoundOpened,    // epoch: a new round begins; all earlier rounds are proven
  kPayloadPosted,  // peer, value: everything for this peer was posted on all its queues, `value`
                   // puts with a fused event among it (see notify_word)
  kAllPosted,      // everything for every peer was posted
  kWordObserved,   // peer, word, value: a word of that source's block was read (acquire)
};

struct Event {
  EventKind kind;
  std::uint64_t epoch = 0;
  RankId peer{};
  int word = 0;
  std::uint64_t value = 0;
};

enum class ActionKind : std::uint8_t {
  kFlushAll,      // performed at the targets: everything posted on every queue
  kPostValue,     // write `value` into my block's `word` at `peer`, on queue `lane`, with `order`
  kPostSignal,    // add `value` there
  kSourceProven,  // every row of `peer` is in the window; not said by proofs of all sources at once
  kRoundProven,   // every row of every source is in the window, and all of mine was posted
  kRejected,      // `value` seen in (peer, word) belongs to no round that can be open: a fault
};

struct Action {
  ActionKind kind;
  RankId peer{};
  int lane = 0;
  int word = 0;
  std::uint64_t value = 0;
  fabric::Order order = fabric::Order::kStrong;
};

/// The actions of one step, in the order in which they are to be carried out.
class Actions {
 public:
  // Leaves the items alone: a step is part of a round of a few microseconds, most steps add
  // nothing, and clearing the array would cost more than everything else in them.
  Actions() {}  // NOLINT(modernize-use-equals-default): = default would be a value-initialization
  void add(const Action& action) {
    CROSSDOCK_CHECK(count_ < kCapacity);
    new (storage_ + count_ * sizeof(Action)) Action(action);
    ++count_;
  }
  [[nodiscard]] const Action* begin() const {
    return std::launder(reinterpret_cast<const Action*>(storage_));
  }
  [[nodiscard]] const Action* end() const { return begin() + count_; }
  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] bool empty() const { return count_ == 0; }

 private:
  static constexpr std::size_t kCapacity = 24;
  static_assert(std::is_trivially_copyable_v<Action> && std::is_trivially_destructible_v<Action>);
  std::size_t count_ = 0;
  alignas(Action) std::byte storage_[kCapacity * sizeof(Action)];
};

class Protocol {
 public:
  virtual ~Protocol() = default;
  [[nodiscard]] virtual const Contract& contract() const = 0;
  /// Control words per source (same on all ranks), 8 bytes each, zero before the first round.
  [[nodiscard]] virtual int word_count() const = 0;
  /// REQUIRES, for each round: kRoundOpened once the round before is proven; kPayloadPosted once
  /// for every peer (self may be left out), then kAllPosted; between, in any order, kWordObserved,
  /// and only for words that awaits() names. Broken rules are checks. Allocates nothing.
  [[nodiscard]] virtual Actions step(const Event& event) = 0;
  /// True while the round cannot be proven without reading this word of this source's block.
  [[nodiscard]] virtual bool awaits(RankId source, int word) const = 0;
  [[nodiscard]] virtual bool is_proven(RankId source) const = 0;
  /// Also true before the first round.
  [[nodiscard]] virtual bool is_round_proven() const = 0;
  /// The word of my block at a peer to which every put of the open round adds one, by an event
  /// fused with it; -1: puts carry no event.
  [[nodiscard]] virtual int notify_word() const { return -1; }
  /// The value awaits() waits for, for reports.
  [[nodiscard]] virtual std::uint64_t expected_value(RankId source, int word) const = 0;
};

/// "barrier" | "counted" | "tail_fence"; unknown names are refused with the list of known ones. The
/// first round may have any epoch but 0; all ranks start with the same one.
Result<std::unique_ptr<Protocol>> make_protocol(std::string_view name, const Team& team);
std::span<const std::string_view> protocol_names();
/// Not ok when the fabric lacks something the contract needs: lists what, and which would fit.
Status check_fit(const Contract& contract, const fabric::Guarantees& guarantees);

}  // namespace crossdock::protocol
