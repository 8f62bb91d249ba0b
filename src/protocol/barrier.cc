// SPDX-License-Identifier: Apache-2.0
#include "protocol/barrier.h"

#include <cstdint>

#include "base/check.h"
#include "crossdock/types.h"
#include "fabric/fabric.h"
#include "fabric/guarantees.h"
#include "protocol/contract.h"
#include "protocol/protocol.h"

namespace crossdock::protocol {

Barrier::Barrier(const Team& team, std::uint64_t rounds_before)
    : team_(team), round_count_(rounds_before) {
  CROSSDOCK_CHECK(team.self.value >= 0 && team.self.value < team.rank_count, "rank {} of {}",
                  team.self.value, team.rank_count);
}

Actions Barrier::step(const Event& event) {
  Actions actions;
  switch (event.kind) {
    case EventKind::kRoundOpened:
      open_round(event.epoch);
      break;
    case EventKind::kPayloadPosted:
      CROSSDOCK_CHECK(phase_ == Phase::kPosting, "peer {}, round {}", event.peer.value, epoch_);
      break;
    case EventKind::kAllPosted:
      flush_and_signal(actions);
      break;
    case EventKind::kWordObserved:
      observe_counter(event, actions);
      break;
  }
  return actions;
}

void Barrier::open_round(std::uint64_t epoch) {
  CROSSDOCK_CHECK(phase_ == Phase::kProven, "epoch {} opened before {} was proven", epoch, epoch_);
  CROSSDOCK_CHECK(epoch != 0 && (epoch_ == 0 || epoch == epoch_ + 1), "epoch {} after {}", epoch,
                  epoch_);
  epoch_ = epoch;
  ++round_count_;
  phase_ = Phase::kPosting;
}

void Barrier::flush_and_signal(Actions& actions) {
  CROSSDOCK_CHECK(phase_ == Phase::kPosting, "round {}: all posted twice", epoch_);
  phase_ = Phase::kSignalling;
  distance_ = 1;
  if (team_.rank_count > 1) {
    // Before the first signal, not only before those to each target: a rank learns of most sources
    // through others, so the rows for it must be there before anyone is told anything.
    actions.add({.kind = ActionKind::kFlushAll});
  }
  start_step(actions);
}

void Barrier::start_step(Actions& actions) {
  if (distance_ >= team_.rank_count) {
    phase_ = Phase::kProven;
    awaited_ = kNobody;
    actions.add({.kind = ActionKind::kRoundProven, .value = epoch_});
    return;
  }
  const int ahead = team_.self.value - team_.rank_count + distance_;
  const int behind = team_.self.value - distance_;
  actions.add({.kind = ActionKind::kPostSignal,
               .peer = RankId{ahead < 0 ? ahead + team_.rank_count : ahead},
               .value = 1,
               .order = fabric::Order::kStrong});
  awaited_ = behind < 0 ? behind + team_.rank_count : behind;
}

void Barrier::observe_counter(const Event& event, Actions& actions) {
  CROSSDOCK_CHECK(awaits(event.peer, event.word), "word {} of rank {} is not awaited", event.word,
                  event.peer.value);
  const auto ahead = static_cast<std::int64_t>(event.value - round_count_);
  if (ahead == 0 || ahead == 1) [[likely]] {
    distance_ *= 2;
    start_step(actions);
    return;
  }
  // One behind: not yet signalled. Fewer cannot be, for the round before was proven with more.
  if (ahead != -1) {
    actions.add({.kind = ActionKind::kRejected, .peer = event.peer, .value = event.value});
  }
}

const Contract& Barrier::static_contract() {
  static constexpr Contract kContract = {
      .name = "barrier",
      .unit = "all rows of all sources in one round",
      .proof = "the signal counter of the source of the last step, read in step order",
      .needs = {.atomic_bytes = 8,
                .queue_order = fabric::QueueOrder::kNone,
                .remote_completion = true,
                .delivered_once = true},
      .answers =
          {{{Question::kWhatMakesPayloadVisible,
             "Every queue is flushed, so all rows are performed at their targets, before the first "
             "signal; a rank passes only after a chain of signals from every other. On load/store "
             "fabrics each link is a release add read with acquire, and such links are transitive.",
             "protocol/barrier.cc:flush_and_signal"},
            {Question::kWhatTellsRoundsApart,
             "Counters never restart: in the n-th round one must show n or, from a fast peer, "
             "n + 1; n - 1 is not yet; anything else is a fault. The difference is signed, so "
             "counters may wrap.",
             "protocol/barrier.cc:observe_counter"},
            {Question::kWhoFreesTheReceiveSlot,
             "Everybody's arrival: a source may write round n + 2 once it has passed n + 1, for "
             "which this rank had to open n + 1, so had given up the rows of n. Rows therefore "
             "need two halves by parity of the epoch.",
             "protocol/barrier.cc:open_round"},
            {Question::kWhenIsTheSendBufferFree,
             "After the flush that precedes the first signal; earlier where the fabric promises "
             "source_reusable_on_return.",
             "protocol/barrier.cc:flush_and_signal"},
            {Question::kHowAreQueuesJoined,
             "The flush covers every queue to every peer; the signals then use queue 0 only.",
             "protocol/barrier.cc:flush_and_signal"}}},
      .rows_at_final_address = true,
      .explicit_epoch = true};
  return kContract;
}

}  // namespace crossdock::protocol
