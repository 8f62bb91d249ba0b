// SPDX-License-Identifier: Apache-2.0
// tail_fence: payload as relaxed puts, then on each queue of the pair, empty ones too, one strong
// write of the epoch: the tail. A source is proven when the tails of all its queues are there.
//
// Words of a source's block, 8 bytes each, all zero before the first round:
//   word[(epoch & 1) * lane_count + lane] = epoch    // tail of queue `lane`
// Two halves, because a fast source that has proven round n may post its tails of n + 1 before this
// rank has looked at those of n. It cannot post those of n + 2: for that it must have proven n + 1,
// which takes this rank's tails of n + 1, posted after this rank had proven n. So a word of the
// open round's half holds the epoch, or that minus two, or 0, and nothing else. Limit: the epoch
// 2^64 - 1 is the last; at a million rounds a second that is 584,000 years away.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "crossdock/types.h"
#include "protocol/contract.h"
#include "protocol/protocol.h"

namespace crossdock::protocol {

class TailFence final : public Protocol {
 public:
  static constexpr int kLaneCountMax = 16;

  /// REQUIRES: a team that make_protocol accepts.
  explicit TailFence(const Team& team);
  [[nodiscard]] static const Contract& static_contract();

  [[nodiscard]] const Contract& contract() const override { return static_contract(); }
  [[nodiscard]] int word_count() const override { return 2 * team_.lane_count; }
  [[nodiscard]] Actions step(const Event& event) override;
  [[nodiscard]] bool awaits(RankId source, int word) const override {
    return (missing_of(source) >> word & 1) != 0;
  }
  [[nodiscard]] bool is_proven(RankId source) const override { return missing_of(source) == 0; }
  [[nodiscard]] bool is_round_proven() const override { return unproven_count_ == 0; }
  [[nodiscard]] std::uint64_t expected_value(RankId /*source*/, int /*word*/) const override {
    return epoch_;
  }

 private:
  // Bit w: word w is awaited. Self awaits no word but is unproven until all was posted.
  static constexpr std::uint64_t kSelfBit = std::uint64_t{1} << 63;
  static_assert(2 * kLaneCountMax < 63);

  struct Peer {
    std::uint64_t missing = 0;
    std::uint64_t posted_epoch = 0;  // the last round whose tails went to this peer
  };

  void open_round(std::uint64_t epoch);
  void post_tails(RankId peer, Actions& actions);
  void finish_posting(Actions& actions);
  void observe_word(const Event& event, Actions& actions);
  void prove(RankId source, Actions& actions);
  [[nodiscard]] bool is_stale(std::uint64_t value) const;
  [[nodiscard]] int half_base() const { return (epoch_ & 1) != 0 ? team_.lane_count : 0; }
  [[nodiscard]] std::uint64_t missing_of(RankId source) const {
    return peers_[static_cast<std::size_t>(source.value)].missing;
  }

  Team team_;
  std::uint64_t epoch_ = 0;
  std::uint64_t first_epoch_ = 0;
  int unproven_count_ = 0;  // sources, self included
  int unposted_count_ = 0;  // peers without their tails
  bool posting_ = false;    // between kRoundOpened and kAllPosted
  std::vector<Peer> peers_;
};

}  // namespace crossdock::protocol
