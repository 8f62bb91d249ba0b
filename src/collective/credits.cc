// SPDX-License-Identifier: Apache-2.0
#include "collective/credits.h"

#include <atomic>

#include "base/bytes.h"

namespace crossdock::collective {

std::uint64_t Credits::byte_count(int rank_count) {
  return kCacheLineBytes * static_cast<std::uint64_t>(rank_count);  // a line per writer
}

void Credits::post_readers_done(std::uint64_t ordinal) {
  const fabric::RemoteAddress word{
      &window_, offset_ + kCacheLineBytes * static_cast<std::uint64_t>(fabric_.rank().value)};
  for (int step = 1; step < fabric_.size(); ++step) {
    const RankId owner{(fabric_.rank().value + step) % fabric_.size()};
    // Strong: this rank's loads of the owner's rows come before it (a release on the word).
    fabric_.queue(owner, 0).post_value(word, ordinal, fabric::Order::kStrong);
    fabric_.queue(owner, 0).ring_doorbell();
  }
}

std::uint64_t Credits::read_credit(int reader) const {
  auto* bytes =
      window_.local().data() + offset_ + kCacheLineBytes * static_cast<std::uint64_t>(reader);
  const std::atomic_ref word(*reinterpret_cast<std::uint64_t*>(bytes));
  return word.load(std::memory_order_acquire);  // Pairs with post_readers_done().
}

Status Credits::wait_for_readers(std::uint64_t ordinal, std::uint64_t round, Deadline deadline) {
  if (ordinal == 0) {
    return {};
  }
  int reader = 0;
  fabric::WaitSession session({.phase = "readers done", .round = round, .expected = ordinal},
                              deadline);
  return fabric::wait(fabric_, session, [&] {
    for (; reader < fabric_.size(); ++reader) {
      if (reader == fabric_.rank().value) {
        continue;
      }
      const std::uint64_t credit = read_credit(reader);
      if (credit < ordinal) {
        session.what.peer = reader;
        session.what.observed = credit;
        return false;
      }
    }
    return true;
  });
}

}  // namespace crossdock::collective
