// SPDX-License-Identifier: Apache-2.0
// Counts and rows that race: for each pair of a local expert and a source one producer writes a
// count word while another writes blocks (a row, then its flag) and neither waits for the other.
// The receiver reconciles them: a pair is proven when its count is known and as many blocks carry
// the flag of this round.
//
// Words, 8 bytes each, zero before the first round, in two halves by parity of the epoch:
//   count  = epoch mod 2^32 << 32 | (blocks + 1)    // never 0
//   flag   = epoch                                  // of one block, written behind its row
// Either may be seen first. What an older round left is stale; a count or flag of a later one, or
// more flagged blocks than the count, is a fault. Blocks of a pair are looked at in their order, so
// that rows can be taken as they come. Epochs grow by any amount from round to round.
//
// Like the protocols beside it this is a step machine: no clock, no thread, no memory after it was
// made. It is not one of them, for what it waits for depends on what it has seen.
// Thread rule: one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace crossdock::protocol {

class CountsAndBlocks {
 public:
  enum class Seen : std::uint8_t { kNothing, kNews, kFault };

  /// `block_max`: blocks that one source can send to one expert in a round.
  CountsAndBlocks(int expert_count, int source_count, std::uint32_t block_max);

  [[nodiscard]] static std::uint64_t count_word(std::uint64_t epoch, std::uint32_t blocks) {
    return epoch << 32 | (std::uint64_t{blocks} + 1);
  }

  /// REQUIRES: the round before is proven (or given up by everybody), a greater epoch.
  void open_round(std::uint64_t epoch);

  /// Whether the pair's count is not known yet.
  [[nodiscard]] bool awaits_count(int expert, int source) const {
    return !pair(expert, source).has_count;
  }
  /// Whether the flag of next_block() may be worth a look: also before the count is known.
  [[nodiscard]] bool awaits_block(int expert, int source) const;
  [[nodiscard]] std::uint32_t next_block(int expert, int source) const {
    return pair(expert, source).block_count;
  }
  [[nodiscard]] std::uint32_t count(int expert, int source) const {
    return pair(expert, source).count;
  }

  /// REQUIRES: awaits_count(). The word was read with acquire.
  [[nodiscard]] Seen observe_count(int expert, int source, std::uint64_t word);
  /// REQUIRES: awaits_block(). The flag of next_block(), read with acquire; kNews: its row is here.
  [[nodiscard]] Seen observe_flag(int expert, int source, std::uint64_t flag);

  [[nodiscard]] bool has_all_counts() const { return unknown_count_ == 0; }
  [[nodiscard]] bool is_proven(int expert, int source) const {
    const Pair& of = pair(expert, source);
    return of.has_count && of.block_count == of.count;
  }
  [[nodiscard]] bool is_round_proven() const { return unproven_count_ == 0; }

 private:
  struct Pair {
    std::uint32_t count = 0;
    std::uint32_t block_count = 0;  // blocks seen, from the first on
    bool has_count = false;
  };

  [[nodiscard]] const Pair& pair(int expert, int source) const {
    return pairs_[static_cast<std::size_t>(expert) * static_cast<std::size_t>(source_count_) +
                  static_cast<std::size_t>(source)];
  }
  [[nodiscard]] Pair& pair(int expert, int source) {
    return pairs_[static_cast<std::size_t>(expert) * static_cast<std::size_t>(source_count_) +
                  static_cast<std::size_t>(source)];
  }

  int source_count_;
  std::uint32_t block_max_;
  std::uint64_t epoch_ = 0;
  std::size_t unknown_count_ = 0;   // pairs without their count
  std::size_t unproven_count_ = 0;  // pairs
  std::vector<Pair> pairs_;         // [expert][source]
};

}  // namespace crossdock::protocol
