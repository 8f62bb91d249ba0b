// SPDX-License-Identifier: Apache-2.0
#include "protocol/counts_and_blocks.h"

#include <algorithm>

#include "base/check.h"

namespace crossdock::protocol {

CountsAndBlocks::CountsAndBlocks(int expert_count, int source_count, std::uint32_t block_max)
    : source_count_(source_count),
      block_max_(block_max),
      pairs_(static_cast<std::size_t>(expert_count) * static_cast<std::size_t>(source_count)) {}

void CountsAndBlocks::open_round(std::uint64_t epoch) {
  CROSSDOCK_CHECK(epoch > epoch_, "epoch {} after {}", epoch, epoch_);
  epoch_ = epoch;
  std::fill(pairs_.begin(), pairs_.end(), Pair{});
  unknown_count_ = pairs_.size();
  unproven_count_ = pairs_.size();
}

bool CountsAndBlocks::awaits_block(int expert, int source) const {
  const Pair& of = pair(expert, source);
  return of.block_count < (of.has_count ? of.count : block_max_);
}

CountsAndBlocks::Seen CountsAndBlocks::observe_count(int expert, int source, std::uint64_t word) {
  Pair& of = pair(expert, source);
  CROSSDOCK_CHECK(!of.has_count, "the count of expert {} and source {} is known", expert, source);
  if (word == 0) {
    return Seen::kNothing;
  }
  const auto age = static_cast<std::int32_t>(static_cast<std::uint32_t>(epoch_) -
                                             static_cast<std::uint32_t>(word >> 32));
  if (age > 0) {
    return Seen::kNothing;  // an older round's
  }
  const auto blocks = static_cast<std::uint32_t>(word) - 1;
  if (age < 0 || blocks > block_max_ || of.block_count > blocks) {
    return Seen::kFault;
  }
  of.count = blocks;
  of.has_count = true;
  --unknown_count_;
  unproven_count_ -= is_proven(expert, source) ? 1 : 0;
  return Seen::kNews;
}

CountsAndBlocks::Seen CountsAndBlocks::observe_flag(int expert, int source, std::uint64_t flag) {
  CROSSDOCK_CHECK(awaits_block(expert, source), "expert {} and source {} await no block", expert,
                  source);
  if (flag < epoch_) {
    return Seen::kNothing;  // an older round's block, or none yet
  }
  if (flag > epoch_) {
    return Seen::kFault;
  }
  ++pair(expert, source).block_count;
  unproven_count_ -= is_proven(expert, source) ? 1 : 0;
  return Seen::kNews;
}

}  // namespace crossdock::protocol
