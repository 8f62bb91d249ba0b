// SPDX-License-Identifier: Apache-2.0
// Drives one completion protocol over a fabric: carries out its actions, reads its words, waits.
// A channel owns a block of control words per source in a window and counts its own rounds
// (epochs); all ranks open the same rounds of a channel in the same order. Thread rule: its
// fabric's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "fabric/fabric.h"
#include "protocol/protocol.h"
#include "trace/recorder.h"

namespace crossdock::collective {

class ProofChannel {
 public:
  /// Bytes of control words in every rank's window, for `word_count` words per source.
  [[nodiscard]] static std::uint64_t byte_count(int word_count, int rank_count);

  /// `offset`: where the words lie in `window`, zero before the first round.
  ProofChannel(fabric::Fabric& fabric, fabric::Window& window, std::uint64_t offset,
               std::unique_ptr<protocol::Protocol> protocol, trace::Recorder& recorder);

  [[nodiscard]] const protocol::Protocol& protocol() const { return *protocol_; }
  [[nodiscard]] std::uint64_t epoch() const { return epoch_; }

  /// Opens the next round. REQUIRES: the round before is proven (or the first).
  void open_round();
  /// Puts a part of the round's payload at `offset` of the peer's window, with what the protocol
  /// wants of each put.
  void post_put(RankId peer, std::uint64_t offset, std::span<const std::byte> from, StoreHint hint);
  /// Everything for `peer` was posted on all its queues.
  Status posted(RankId peer) { return take(protocol::EventKind::kPayloadPosted, peer); }
  /// Everything for every peer was posted.
  Status all_posted() { return take(protocol::EventKind::kAllPosted, RankId{}); }
  /// Never blocks; true once every source is proven.
  bool poll();
  /// Blocks until one source is proven; others may be before.
  Status wait_source(RankId source, const char* phase, std::uint64_t round, Deadline deadline);
  /// Blocks until every source is proven. `phase` is a literal for reports.
  Status wait_round(const char* phase, std::uint64_t round, Deadline deadline);

 private:
  Status take(protocol::EventKind kind, RankId peer);
  Status carry_out(const protocol::Actions& actions);
  bool look_at(int source);
  [[nodiscard]] std::uint64_t word_offset(int owner, int word) const;
  [[nodiscard]] std::uint64_t read_word(int source, int word) const;
  void describe_missing(fabric::WaitFor& what) const;

  fabric::Fabric& fabric_;
  fabric::Window& window_;
  std::uint64_t offset_;
  std::uint64_t block_bytes_;
  std::unique_ptr<protocol::Protocol> protocol_;
  trace::Recorder& recorder_;
  std::uint64_t epoch_ = 0;
  std::vector<fabric::Queue*> queues_;     // [peer], lane 0
  int notify_word_ = -1;                   // of the open round
  std::vector<std::uint64_t> put_counts_;  // [peer]: puts with an event in the open round
  std::vector<int> pending_;               // sources not proven yet
  std::vector<std::uint64_t> last_seen_;   // [source][word], of this round
  std::vector<std::uint8_t> is_seen_;      // [source][word]: looked at in this round
  Status fault_;                           // a rejected word ends the channel
  Instant wait_began_{};
};

}  // namespace crossdock::collective
