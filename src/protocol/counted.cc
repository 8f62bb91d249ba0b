// SPDX-License-Identifier: Apache-2.0
#include "protocol/counted.h"

#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "crossdock/types.h"
#include "fabric/fabric.h"
#include "fabric/guarantees.h"
#include "protocol/contract.h"
#include "protocol/protocol.h"

namespace crossdock::protocol {
namespace {

constexpr std::uint64_t number_of(std::uint64_t epoch, std::uint64_t put_count) {
  return epoch << 32 | (put_count + 1);
}

}  // namespace

Counted::Counted(const Team& team)
    : team_(team), peers_(static_cast<std::size_t>(team.rank_count)) {
  CROSSDOCK_CHECK(team.self.value >= 0 && team.self.value < team.rank_count, "rank {} of {}",
                  team.self.value, team.rank_count);
}

Actions Counted::step(const Event& event) {
  Actions actions;
  switch (event.kind) {
    case EventKind::kRoundOpened:
      open_round(event.epoch);
      break;
    case EventKind::kPayloadPosted:
      post_number(event, actions);
      break;
    case EventKind::kAllPosted:
      finish_posting(actions);
      break;
    case EventKind::kWordObserved:
      observe_word(event, actions);
      break;
  }
  return actions;
}

bool Counted::awaits(RankId source, int word) const {
  const Peer& from = peers_[static_cast<std::size_t>(source.value)];
  if (from.is_proven || source == team_.self) {
    return false;
  }
  return word == (from.has_number ? counter_word() : number_word());
}

std::uint64_t Counted::expected_value(RankId source, int word) const {
  const Peer& from = peers_[static_cast<std::size_t>(source.value)];
  return word == counter_word() ? from.counted[half()] + from.number : number_of(epoch_, 0);
}

void Counted::open_round(std::uint64_t epoch) {
  // The first check is what makes two halves enough: see the head of counted.h.
  CROSSDOCK_CHECK(is_round_proven(), "epoch {} opened while {} sources of {} are unproven", epoch,
                  unproven_count_, epoch_);
  CROSSDOCK_CHECK(epoch != 0 && (epoch_ == 0 || epoch == epoch_ + 1), "epoch {} after {}", epoch,
                  epoch_);
  if (epoch_ == 0) {
    first_epoch_ = epoch;
  }
  epoch_ = epoch;
  for (Peer& from : peers_) {
    from.number = 0;
    from.has_number = false;
    from.is_proven = false;
  }
  unproven_count_ = team_.rank_count;
  unposted_count_ = team_.rank_count - 1;
  posting_ = true;
}

void Counted::post_number(const Event& event, Actions& actions) {
  CROSSDOCK_CHECK(posting_ && event.peer.value >= 0 && event.peer.value < team_.rank_count,
                  "peer {} of {}, round {}", event.peer.value, team_.rank_count, epoch_);
  if (event.peer == team_.self) {
    return;
  }
  std::uint64_t& posted_epoch = peer(event.peer).posted_epoch;
  CROSSDOCK_CHECK(posted_epoch != epoch_, "number of round {} to rank {} posted twice", epoch_,
                  event.peer.value);
  CROSSDOCK_CHECK(event.value <= kPutCountMax, "{} puts to rank {}", event.value, event.peer.value);
  posted_epoch = epoch_;
  --unposted_count_;
  // Strong for this rank's own reads of the last round's rows, which come before it. Of the puts
  // nothing is asked: the number may overtake them.
  actions.add({.kind = ActionKind::kPostValue,
               .peer = event.peer,
               .word = number_word(),
               .value = number_of(epoch_, event.value),
               .order = fabric::Order::kStrong});
}

void Counted::finish_posting(Actions& actions) {
  CROSSDOCK_CHECK(posting_ && unposted_count_ == 0, "round {}: {} peers were not announced", epoch_,
                  unposted_count_);
  posting_ = false;
  prove(team_.self, actions);
}

void Counted::observe_word(const Event& event, Actions& actions) {
  CROSSDOCK_CHECK(awaits(event.peer, event.word), "word {} of rank {} is not awaited", event.word,
                  event.peer.value);
  Peer& from = peer(event.peer);
  bool is_fault = false;
  if (event.word == number_word()) {
    is_fault = !learn_number(from, event.value);
    if (from.has_number && from.number == 0) {
      prove(event.peer, actions);
    }
  } else {
    const std::uint64_t counted = event.value - from.counted[half()];
    is_fault = counted > from.number;
    if (counted == from.number) {
      prove(event.peer, actions);
    }
  }
  if (is_fault) {
    actions.add({.kind = ActionKind::kRejected,
                 .peer = event.peer,
                 .word = event.word,
                 .value = event.value});
  }
}

// False when no round can have written the value; the number of two rounds ago is only old.
bool Counted::learn_number(Peer& from, std::uint64_t value) const {
  const auto tag = static_cast<std::uint32_t>(value >> 32);
  if (static_cast<std::uint32_t>(value) != 0 && tag == static_cast<std::uint32_t>(epoch_)) {
    from.number = (value & 0xffff'ffff) - 1;
    from.has_number = true;
    return true;
  }
  return value == 0 ||
         (tag == static_cast<std::uint32_t>(epoch_ - 2) && epoch_ - first_epoch_ >= 2);
}

void Counted::prove(RankId source, Actions& actions) {
  Peer& from = peer(source);
  from.is_proven = true;
  from.counted[half()] += from.number;
  actions.add({.kind = ActionKind::kSourceProven, .peer = source});
  // Self is counted, so the last source is never proven before all was posted.
  if (--unproven_count_ == 0) {
    actions.add({.kind = ActionKind::kRoundProven, .value = epoch_});
  }
}

const Contract& Counted::static_contract() {
  static constexpr Contract kContract = {
      .name = "counted",
      .unit = "all rows of one source in one round",
      .proof =
          "a counter of the source's puts, fed by an event fused with each, and their number in a "
          "word of its own with the epoch",
      .needs = {.atomic_bytes = 8,
                .queue_order = fabric::QueueOrder::kNone,
                .remote_completion = false,
                .delivered_once = true,
                .event_after_data = true},
      .answers =
          {{{Question::kWhatMakesPayloadVisible,
             "Each event is fused with its put: the fabric never shows it before the data. The "
             "receiver reads the counter with acquire.",
             "protocol/counted.cc:observe_word"},
            {Question::kWhatTellsRoundsApart,
             "The number carries 32 bits of the epoch; a half's word can hold only this round's or "
             "that of two rounds ago. Counters never restart: what earlier rounds added is "
             "subtracted.",
             "protocol/counted.cc:learn_number"},
            {Question::kWhoFreesTheReceiveSlot,
             "Complete exchange of numbers, 0 included: a source may write round n + 2 once it has "
             "proven n + 1, for which this rank had to open n + 1, so had given up the rows of n. "
             "Rows, numbers and counters therefore need two halves by parity of the epoch.",
             "protocol/counted.cc:open_round"},
            {Question::kWhenIsTheSendBufferFree,
             "When the put returns, if the fabric promises source_reusable_on_return; else after a "
             "flush, or once the next round is proven here: its numbers say that every peer had "
             "proven this one.",
             "protocol/counted.cc:prove"},
            {Question::kHowAreQueuesJoined,
             "All queues of a pair add to the same counter, and the number is that of all of them.",
             "protocol/counted.cc:post_number"}}},
      .rows_at_final_address = true,
      .explicit_epoch = true};
  return kContract;
}

}  // namespace crossdock::protocol
