// SPDX-License-Identifier: Apache-2.0
// counted: every put carries an event fused with it, which adds one to a counter at the receiver.
// The source also says how many puts there were. A source is proven when its counter has grown by
// that number. Nothing is asked of the order of anything, and queues need no joining: their events
// meet in one counter.
//
// Words of a source's block, 8 bytes each, all zero before the first round:
//   word[epoch & 1]     = epoch mod 2^32 << 32 | (puts + 1)    // the number; never 0
//   word[2 + epoch & 1] = puts of that half's rounds so far    // added to, one per put
// Two halves, for the same reason as in tail_fence.h: a fast source may send round n + 1 before
// this rank has counted n, and with one counter an early event of n + 1 would stand in for a late
// one of n. It cannot send n + 2: for that it must have proven n + 1, which takes this rank's
// number of n + 1, posted (also when it is 0) after this rank had proven n.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "crossdock/types.h"
#include "protocol/contract.h"
#include "protocol/protocol.h"

namespace crossdock::protocol {

class Counted final : public Protocol {
 public:
  static constexpr std::uint64_t kPutCountMax = 0xffff'fffe;  // to one peer in one round

  /// REQUIRES: a team that make_protocol accepts.
  explicit Counted(const Team& team);
  [[nodiscard]] static const Contract& static_contract();

  [[nodiscard]] const Contract& contract() const override { return static_contract(); }
  [[nodiscard]] int word_count() const override { return 4; }
  [[nodiscard]] Actions step(const Event& event) override;
  [[nodiscard]] bool awaits(RankId source, int word) const override;
  [[nodiscard]] bool is_proven(RankId source) const override {
    return peers_[static_cast<std::size_t>(source.value)].is_proven;
  }
  [[nodiscard]] bool is_round_proven() const override { return unproven_count_ == 0; }
  [[nodiscard]] std::uint64_t expected_value(RankId source, int word) const override;
  [[nodiscard]] int notify_word() const override { return counter_word(); }

 private:
  struct Peer {
    std::array<std::uint64_t, 2> counted{};  // by half: what the counter holds between rounds
    std::uint64_t number = 0;                // puts of the open round, once known
    std::uint64_t posted_epoch = 0;          // the last round whose number went to this peer
    bool has_number = false;
    bool is_proven = true;
  };

  void open_round(std::uint64_t epoch);
  void post_number(const Event& event, Actions& actions);
  void finish_posting(Actions& actions);
  void observe_word(const Event& event, Actions& actions);
  [[nodiscard]] bool learn_number(Peer& peer, std::uint64_t value) const;
  void prove(RankId source, Actions& actions);
  [[nodiscard]] std::size_t half() const { return epoch_ & 1; }
  [[nodiscard]] int number_word() const { return static_cast<int>(half()); }
  [[nodiscard]] int counter_word() const { return 2 + static_cast<int>(half()); }
  [[nodiscard]] Peer& peer(RankId rank) { return peers_[static_cast<std::size_t>(rank.value)]; }

  Team team_;
  std::uint64_t epoch_ = 0;
  std::uint64_t first_epoch_ = 0;
  int unproven_count_ = 0;  // sources, self included
  int unposted_count_ = 0;  // peers without their number
  bool posting_ = false;    // between kRoundOpened and kAllPosted
  std::vector<Peer> peers_;
};

}  // namespace crossdock::protocol
