// SPDX-License-Identifier: Apache-2.0
#include "fabric/shm/shm_queue.h"

#include <atomic>

#include "base/check.h"
#include "base/copy.h"

namespace crossdock::fabric {
namespace {

// Below a few lines the fixed cost of draining outweighs what the cache saves.
constexpr std::size_t kStreamBytesMin = 256;

std::uint64_t& word_at(RemoteAddress to, RankId peer) {
  const auto bytes = to.window->peer(peer);
  CROSSDOCK_DCHECK(to.offset % sizeof(std::uint64_t) == 0 && to.offset + 8 <= bytes.size(),
                   "offset {} window {}", to.offset, bytes.size());
  return *reinterpret_cast<std::uint64_t*>(bytes.data() + to.offset);
}

}  // namespace

void ShmQueue::post_put(RemoteAddress to, std::span<const std::byte> from, Order order,
                        StoreHint hint) {
  const auto bytes = to.window->peer(peer_);
  CROSSDOCK_DCHECK(to.offset <= bytes.size() && from.size() <= bytes.size() - to.offset,
                   "put of {} at {} in a window of {}", from.size(), to.offset, bytes.size());
  if (order == Order::kStrong) {
    drain_streams();
  }
  std::byte* const target = bytes.data() + to.offset;
  if (hint == StoreHint::kStream && from.size() >= kStreamBytesMin) {
    copy_streaming(target, from.data(), from.size());
    streams_.is_pending = true;
  } else {
    copy_plain(target, from.data(), from.size());
  }
}

void ShmQueue::post_put_notify(RemoteAddress to, std::span<const std::byte> from, StoreHint hint,
                               RemoteAddress event, std::uint64_t add) {
  post_put(to, from, Order::kRelaxed, hint);
  post_signal(event, add, Order::kStrong);
}

void ShmQueue::post_value(RemoteAddress to, std::uint64_t value, Order order) {
  const std::atomic_ref word(word_at(to, peer_));
  if (order != Order::kStrong) {
    word.store(value, std::memory_order_relaxed);
    return;
  }
  drain_streams();
  word.store(value, std::memory_order_release);  // Pairs with the acquire in ProofChannel::poll().
}

void ShmQueue::post_signal(RemoteAddress to, std::uint64_t add, Order order) {
  const std::atomic_ref word(word_at(to, peer_));
  if (order == Order::kStrong) {
    drain_streams();
  }
  word.fetch_add(add,
                 std::memory_order_acq_rel);  // Pairs with the acquire in ProofChannel::poll().
}

void ShmQueue::fence() { drain_streams(); }

Status ShmQueue::flush(Deadline /*deadline*/) {
  drain_streams();
  return {};
}

void ShmQueue::drain_streams() {
  if (streams_.is_pending) {
    store_fence();
    streams_.is_pending = false;
  }
}

}  // namespace crossdock::fabric
