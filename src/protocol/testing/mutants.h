// SPDX-License-Identifier: Apache-2.0
// Test-only: the shipped protocols with one rule broken each. The suite must catch every one; each
// says which of the five answers it falsifies.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "crossdock/types.h"
#include "fabric/fabric.h"
#include "protocol/barrier.h"
#include "protocol/counted.h"
#include "protocol/protocol.h"
#include "protocol/tail_fence.h"
#include "protocol/testing/order_explorer.h"

namespace crossdock::protocol::testing {

/// Passes everything on; mutants override what they break.
class Mutant : public Protocol {
 public:
  Mutant(std::unique_ptr<Protocol> inner, const Team& team)
      : inner_(std::move(inner)), team_(team) {}
  [[nodiscard]] const Contract& contract() const override { return inner_->contract(); }
  [[nodiscard]] int word_count() const override { return inner_->word_count(); }
  [[nodiscard]] Actions step(const Event& event) override {
    Actions changed;
    for (const Action& action : inner_->step(event)) {
      change(action, changed);
    }
    return changed;
  }
  [[nodiscard]] bool awaits(RankId source, int word) const override {
    return inner_->awaits(source, word);
  }
  [[nodiscard]] bool is_proven(RankId source) const override { return inner_->is_proven(source); }
  [[nodiscard]] bool is_round_proven() const override { return inner_->is_round_proven(); }
  [[nodiscard]] std::uint64_t expected_value(RankId source, int word) const override {
    return inner_->expected_value(source, word);
  }

 protected:
  virtual void change(const Action& action, Actions& changed) { changed.add(action); }

  std::unique_ptr<Protocol> inner_;
  Team team_;
};

class TailMutant : public Mutant {
 public:
  explicit TailMutant(const Team& team) : Mutant(std::make_unique<TailFence>(team), team) {}
};

class BarrierMutant : public Mutant {
 public:
  explicit BarrierMutant(const Team& team) : Mutant(std::make_unique<Barrier>(team), team) {}
};

/// What makes payload visible: the tail is a relaxed write, so rows may come behind it.
class RelaxedTail final : public TailMutant {
 public:
  using TailMutant::TailMutant;

 private:
  void change(const Action& action, Actions& changed) override {
    Action relaxed = action;
    relaxed.order = fabric::Order::kRelaxed;
    changed.add(relaxed);
  }
};

/// How queues are joined: queue 0 speaks for all of them.
class OneTailForAllQueues final : public TailMutant {
 public:
  using TailMutant::TailMutant;
  [[nodiscard]] Actions step(const Event& event) override {
    Actions all = Mutant::step(event);
    for (int lane = 1; event.kind == EventKind::kWordObserved && lane < team_.lane_count; ++lane) {
      Event copy = event;
      copy.word += lane;
      for (const Action& action : Mutant::step(copy)) {
        all.add(action);
      }
    }
    return all;
  }
  [[nodiscard]] bool awaits(RankId source, int word) const override {
    return word % team_.lane_count == 0 && TailMutant::awaits(source, word);
  }

 private:
  void change(const Action& action, Actions& changed) override {
    if (action.kind != ActionKind::kPostValue || action.lane == 0) {
      changed.add(action);
    }
  }
};

/// How queues are joined: no tail on queues without rows, which the receiver cannot know.
class NoTailOnEmptyQueues final : public TailMutant {
 public:
  using TailMutant::TailMutant;

 private:
  void change(const Action& action, Actions& changed) override {
    if (action.kind != ActionKind::kPostValue ||
        !is_empty_queue(static_cast<int>(action.value) - 1, team_.self.value, action.lane)) {
      changed.add(action);
    }
  }
};

/// What tells rounds apart: the tail is always 1.
class ConstantTail final : public TailMutant {
 public:
  using TailMutant::TailMutant;
  [[nodiscard]] Actions step(const Event& event) override {
    Event mapped = event;
    if (event.kind == EventKind::kWordObserved && event.value == 1) {
      mapped.value = TailMutant::expected_value(event.peer, event.word);
    }
    return Mutant::step(mapped);
  }
  [[nodiscard]] std::uint64_t expected_value(RankId /*source*/, int /*word*/) const override {
    return 1;
  }

 private:
  void change(const Action& action, Actions& changed) override {
    Action constant = action;
    constant.value = 1;
    changed.add(constant);
  }
};

/// Who frees the slot: one half of words, so a fast source overwrites a tail that was not yet read.
class SingleHalf final : public TailMutant {
 public:
  using TailMutant::TailMutant;
  [[nodiscard]] int word_count() const override { return team_.lane_count; }
  [[nodiscard]] Actions step(const Event& event) override {
    Event mapped = event;
    if (event.kind == EventKind::kWordObserved && !TailMutant::awaits(event.peer, event.word)) {
      mapped.word += team_.lane_count;
    }
    return Mutant::step(mapped);
  }
  [[nodiscard]] bool awaits(RankId source, int word) const override {
    return TailMutant::awaits(source, word) || TailMutant::awaits(source, word + team_.lane_count);
  }

 private:
  void change(const Action& action, Actions& changed) override {
    Action mapped = action;
    mapped.word %= team_.lane_count;
    changed.add(mapped);
  }
};

class CountedMutant : public Mutant {
 public:
  explicit CountedMutant(const Team& team) : Mutant(std::make_unique<Counted>(team), team) {}
  [[nodiscard]] int notify_word() const override { return inner_->notify_word(); }

 protected:
  static constexpr std::uint64_t kPutsMask = 0xffff'ffff;  // of a number: puts + 1
  [[nodiscard]] static bool is_number(const Action& action) {
    return action.kind == ActionKind::kPostValue;
  }
};

/// What makes payload visible: events are signals of their own, which may overtake the puts.
class EventApartFromItsPut final : public CountedMutant {
 public:
  using CountedMutant::CountedMutant;
  [[nodiscard]] int notify_word() const override { return -1; }

 private:
  void change(const Action& action, Actions& changed) override {
    changed.add(action);
    if (is_number(action) && (action.value & kPutsMask) > 1) {
      changed.add({.kind = ActionKind::kPostSignal,
                   .peer = action.peer,
                   .word = inner_->notify_word(),
                   .value = (action.value & kPutsMask) - 1});
    }
  }
};

/// What makes payload visible: the number is one too small, so the last put is not waited for.
class OnePutTooFew final : public CountedMutant {
 public:
  using CountedMutant::CountedMutant;

 private:
  void change(const Action& action, Actions& changed) override {
    Action fewer = action;
    fewer.value -= is_number(action) && (action.value & kPutsMask) > 1 ? 1 : 0;
    changed.add(fewer);
  }
};

/// What tells rounds apart: a number is taken for this round's whatever its epoch.
class NumberWithoutEpoch final : public CountedMutant {
 public:
  using CountedMutant::CountedMutant;
  [[nodiscard]] Actions step(const Event& event) override {
    Event mapped = event;
    if (event.kind == EventKind::kWordObserved && event.word < 2 && event.value != 0) {
      const std::uint64_t epoch = inner_->expected_value(event.peer, event.word) & ~kPutsMask;
      mapped.value = epoch | (event.value & kPutsMask);
    }
    return CountedMutant::step(mapped);
  }
};

/// Who frees the slot: one counter, so an early event of the next round stands in for a late one.
class OneCounterForBothHalves final : public CountedMutant {
 public:
  explicit OneCounterForBothHalves(const Team& team)
      : CountedMutant(team),
        numbers_(static_cast<std::size_t>(team.rank_count)),
        totals_(numbers_.size()) {}
  [[nodiscard]] int notify_word() const override { return kCounter; }
  [[nodiscard]] Actions step(const Event& event) override {
    Event mapped = event;
    if (event.kind == EventKind::kWordObserved) {
      std::uint64_t& number = numbers_[static_cast<std::size_t>(event.peer.value)];
      if (event.word == kCounter) {
        const std::uint64_t counted =
            event.value - totals_[static_cast<std::size_t>(event.peer.value)];
        mapped.word = inner_->notify_word();
        mapped.value =
            inner_->expected_value(event.peer, mapped.word) - number + std::min(counted, number);
      } else if (event.value != 0) {
        number = (event.value & kPutsMask) - 1;
      }
    }
    const Actions actions = CountedMutant::step(mapped);
    for (const Action& action : actions) {
      if (action.kind == ActionKind::kSourceProven && action.peer != team_.self) {
        const auto source = static_cast<std::size_t>(action.peer.value);
        totals_[source] += numbers_[source];
      }
    }
    return actions;
  }
  [[nodiscard]] bool awaits(RankId source, int word) const override {
    return word <= kCounter &&
           inner_->awaits(source, word == kCounter ? inner_->notify_word() : word);
  }

 private:
  static constexpr int kCounter = 2;
  std::vector<std::uint64_t> numbers_;  // [source], of the open round
  std::vector<std::uint64_t> totals_;   // [source], of the rounds before
};

/// Liveness and who frees the slot: ranks without puts say nothing.
class NoNumberWithoutPuts final : public CountedMutant {
 public:
  using CountedMutant::CountedMutant;

 private:
  void change(const Action& action, Actions& changed) override {
    if (!is_number(action) || (action.value & kPutsMask) != 1) {
      changed.add(action);
    }
  }
};

/// What makes payload visible: no flush before the signals.
class BarrierWithoutFlush final : public BarrierMutant {
 public:
  using BarrierMutant::BarrierMutant;

 private:
  void change(const Action& action, Actions& changed) override {
    if (action.kind != ActionKind::kFlushAll) {
      changed.add(action);
    }
  }
};

/// What makes payload visible: the flush comes behind the first signal.
class FlushBehindSignal final : public BarrierMutant {
 public:
  using BarrierMutant::BarrierMutant;

 private:
  void change(const Action& action, Actions& changed) override {
    if (action.kind == ActionKind::kFlushAll) {
      flush_ = true;
      return;
    }
    changed.add(action);
    if (std::exchange(flush_, false)) {
      changed.add({.kind = ActionKind::kFlushAll});
    }
  }
  bool flush_ = false;
};

/// What makes payload visible: the last step signals but does not wait, so some rank is unheard.
class LastStepDoesNotWait final : public BarrierMutant {
 public:
  using BarrierMutant::BarrierMutant;
  [[nodiscard]] Actions step(const Event& event) override {
    Actions all = BarrierMutant::step(event);
    int distance = 1;
    while (distance * 2 < team_.rank_count) {
      distance *= 2;
    }
    const RankId last{(team_.self.value - distance + team_.rank_count) % team_.rank_count};
    if (BarrierMutant::awaits(last, 0)) {
      for (const Action& action : BarrierMutant::step({.kind = EventKind::kWordObserved,
                                                       .peer = last,
                                                       .value = expected_value(last, 0)})) {
        all.add(action);
      }
    }
    return all;
  }
};

/// Liveness: one signal is never sent.
class OneSignalMissing final : public BarrierMutant {
 public:
  using BarrierMutant::BarrierMutant;

 private:
  void change(const Action& action, Actions& changed) override {
    if (action.kind != ActionKind::kPostSignal || team_.self.value != 0) {
      changed.add(action);
    }
  }
};

}  // namespace crossdock::protocol::testing
