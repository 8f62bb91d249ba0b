// SPDX-License-Identifier: Apache-2.0
#include "protocol/tail_fence.h"

#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "crossdock/types.h"
#include "fabric/fabric.h"
#include "fabric/guarantees.h"
#include "protocol/contract.h"
#include "protocol/protocol.h"

namespace crossdock::protocol {

TailFence::TailFence(const Team& team)
    : team_(team), peers_(static_cast<std::size_t>(team.rank_count)) {
  CROSSDOCK_CHECK(team.lane_count >= 1 && team.lane_count <= kLaneCountMax, "lane_count {}",
                  team.lane_count);
  CROSSDOCK_CHECK(team.self.value >= 0 && team.self.value < team.rank_count, "rank {} of {}",
                  team.self.value, team.rank_count);
}

Actions TailFence::step(const Event& event) {
  Actions actions;
  switch (event.kind) {
    case EventKind::kRoundOpened:
      open_round(event.epoch);
      break;
    case EventKind::kPayloadPosted:
      post_tails(event.peer, actions);
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

void TailFence::open_round(std::uint64_t epoch) {
  // The first check is what makes two halves enough: see the head of tail_fence.h.
  CROSSDOCK_CHECK(is_round_proven(), "epoch {} opened while {} sources of {} are unproven", epoch,
                  unproven_count_, epoch_);
  CROSSDOCK_CHECK(epoch != 0 && (epoch_ == 0 || epoch == epoch_ + 1), "epoch {} after {}", epoch,
                  epoch_);
  if (epoch_ == 0) {
    first_epoch_ = epoch;
  }
  epoch_ = epoch;
  const std::uint64_t words = ((std::uint64_t{1} << team_.lane_count) - 1) << half_base();
  for (Peer& peer : peers_) {
    peer.missing = words;
  }
  peers_[static_cast<std::size_t>(team_.self.value)].missing = kSelfBit;
  unproven_count_ = team_.rank_count;
  unposted_count_ = team_.rank_count - 1;
  posting_ = true;
}

void TailFence::post_tails(RankId peer, Actions& actions) {
  CROSSDOCK_CHECK(posting_ && peer.value >= 0 && peer.value < team_.rank_count,
                  "peer {} of {}, round {}", peer.value, team_.rank_count, epoch_);
  if (peer == team_.self) {
    return;
  }
  std::uint64_t& posted_epoch = peers_[static_cast<std::size_t>(peer.value)].posted_epoch;
  CROSSDOCK_CHECK(posted_epoch != epoch_, "tails of round {} to rank {} posted twice", epoch_,
                  peer.value);
  posted_epoch = epoch_;
  --unposted_count_;
  const int base = half_base();
  for (int lane = 0; lane < team_.lane_count; ++lane) {
    actions.add({.kind = ActionKind::kPostValue,
                 .peer = peer,
                 .lane = lane,
                 .word = base + lane,
                 .value = epoch_,
                 .order = fabric::Order::kStrong});
  }
}

void TailFence::finish_posting(Actions& actions) {
  CROSSDOCK_CHECK(posting_ && unposted_count_ == 0, "round {}: {} peers were not announced", epoch_,
                  unposted_count_);
  posting_ = false;
  prove(team_.self, actions);
}

void TailFence::observe_word(const Event& event, Actions& actions) {
  CROSSDOCK_CHECK(event.peer.value >= 0 && event.peer.value < team_.rank_count && event.word >= 0 &&
                      event.word < word_count(),
                  "word {} of rank {}", event.word, event.peer.value);
  if (event.value == epoch_) [[likely]] {
    std::uint64_t& missing = peers_[static_cast<std::size_t>(event.peer.value)].missing;
    const std::uint64_t bit = std::uint64_t{1} << event.word;
    CROSSDOCK_CHECK((missing & bit) != 0, "word {} of rank {} is not awaited", event.word,
                    event.peer.value);
    if (missing == bit) {
      prove(event.peer, actions);
    } else {
      missing &= ~bit;
    }
    return;
  }
  if (!is_stale(event.value)) {
    actions.add({.kind = ActionKind::kRejected,
                 .peer = event.peer,
                 .word = event.word,
                 .value = event.value});
  }
}

void TailFence::prove(RankId source, Actions& actions) {
  peers_[static_cast<std::size_t>(source.value)].missing = 0;
  actions.add({.kind = ActionKind::kSourceProven, .peer = source});
  // Self is counted, so the last source is never proven before all was posted.
  if (--unproven_count_ == 0) {
    actions.add({.kind = ActionKind::kRoundProven, .value = epoch_});
  }
}

bool TailFence::is_stale(std::uint64_t value) const {
  return value == 0 || (value == epoch_ - 2 && epoch_ - first_epoch_ >= 2);
}

const Contract& TailFence::static_contract() {
  static constexpr Contract kContract = {
      .name = "tail_fence",
      .unit = "all rows of one source in one round",
      .proof =
          "one word for each queue of the pair, written behind the rows of that queue; each "
          "holds the epoch",
      .needs = {.atomic_bytes = 8,
                .queue_order = fabric::QueueOrder::kStrongOnly,
                .remote_completion = false,
                .delivered_once = true},
      .answers = {{{Question::kWhatMakesPayloadVisible,
                    "The tail is a strong operation: the fabric performs it at the target after "
                    "every earlier put of its queue. The receiver reads the word with acquire.",
                    "protocol/tail_fence.cc:post_tails"},
                   {Question::kWhatTellsRoundsApart,
                    "The tail is the whole 64-bit epoch and is compared for equality. The value of "
                    "two rounds ago and 0 are stale and ignored; any other value is a fault.",
                    "protocol/tail_fence.cc:observe_word"},
                   {Question::kWhoFreesTheReceiveSlot,
                    "Complete exchange: a source may write round n + 2 once it has proven n + 1, "
                    "for which this rank had to open n + 1, so had given up the rows of n. Rows "
                    "and words therefore need two halves by parity of the epoch.",
                    "protocol/tail_fence.cc:open_round"},
                   {Question::kWhenIsTheSendBufferFree,
                    "When the put returns, if the fabric promises source_reusable_on_return; else "
                    "after a flush, or once the next round is proven here: its tails say that "
                    "every peer had proven this one.",
                    "protocol/tail_fence.cc:prove"},
                   {Question::kHowAreQueuesJoined,
                    "Every queue carries its own tail, also when it carried no row, and the "
                    "receiver waits for all of them.",
                    "protocol/tail_fence.cc:observe_word"}}},
      .rows_at_final_address = true,
      .explicit_epoch = true};
  return kContract;
}

}  // namespace crossdock::protocol
