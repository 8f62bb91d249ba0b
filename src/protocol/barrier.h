// SPDX-License-Identifier: Apache-2.0
// barrier: post everything, flush every queue, then a dissemination barrier of ceil(log2 R) steps.
// In step k each rank signals rank + 2^k and waits for rank - 2^k. All sources are proven at once.
//
// Words of a source's block, 8 bytes each, zero before the first round:
//   word[0] = rounds in which that source signalled this rank    // added to, never written
// One word is enough: the distances 2^k < R differ, so a source signals a given target in one step
// only. A counter may be one ahead: its rank has passed this round's barrier, which takes this
// rank's first signal, and may have signalled in the next; passing that one takes this rank's next.
// Counters are compared by signed difference, so they may wrap.
#pragma once

#include <cstdint>

#include "crossdock/types.h"
#include "protocol/contract.h"
#include "protocol/protocol.h"

namespace crossdock::protocol {

class Barrier final : public Protocol {
 public:
  /// REQUIRES: a team that make_protocol accepts. `rounds_before`: what all counters already hold.
  explicit Barrier(const Team& team, std::uint64_t rounds_before = 0);
  [[nodiscard]] static const Contract& static_contract();

  [[nodiscard]] const Contract& contract() const override { return static_contract(); }
  [[nodiscard]] int word_count() const override { return 1; }
  [[nodiscard]] Actions step(const Event& event) override;
  [[nodiscard]] bool awaits(RankId source, int word) const override {
    return source.value == awaited_ && word == 0;
  }
  [[nodiscard]] bool is_proven(RankId /*source*/) const override { return is_round_proven(); }
  [[nodiscard]] bool is_round_proven() const override { return phase_ == Phase::kProven; }
  [[nodiscard]] std::uint64_t expected_value(RankId /*source*/, int /*word*/) const override {
    return round_count_;
  }

 private:
  enum class Phase : std::uint8_t { kProven, kPosting, kSignalling };
  static constexpr int kNobody = -1;

  void open_round(std::uint64_t epoch);
  void flush_and_signal(Actions& actions);
  void start_step(Actions& actions);
  void observe_counter(const Event& event, Actions& actions);

  Team team_;
  Phase phase_ = Phase::kProven;
  int distance_ = 1;       // 2^k of the step under way
  int awaited_ = kNobody;  // the source of this step
  std::uint64_t epoch_ = 0;
  std::uint64_t round_count_;  // what the counters show once this round's signals are there
};

}  // namespace crossdock::protocol
