// SPDX-License-Identifier: Apache-2.0
// The direct way: the caller's own stores into the peer's window. A plain store is ordered by the
// release of a later strong operation; streaming stores are not (they bypass the cache), so a
// strong operation first drains them. Thread rule: its fabric's thread.
#pragma once

#include <cstdint>
#include <span>

#include "fabric/fabric.h"

namespace crossdock::fabric {

/// Shared by all queues of a fabric: streaming stores are drained per thread, not per peer.
struct StreamState {
  bool is_pending = false;
};

class ShmQueue final : public Queue {
 public:
  ShmQueue(RankId peer, StreamState& streams) : peer_(peer), streams_(streams) {}

  void post_put(RemoteAddress to, std::span<const std::byte> from, Order order,
                StoreHint hint) override;
  void post_put_notify(RemoteAddress to, std::span<const std::byte> from, StoreHint hint,
                       RemoteAddress event, std::uint64_t add) override;
  void post_value(RemoteAddress to, std::uint64_t value, Order order) override;
  void post_signal(RemoteAddress to, std::uint64_t add, Order order) override;
  void fence() override;
  void ring_doorbell() override {}  // Posts are performed at once.
  Status flush(Deadline deadline) override;

  [[nodiscard]] RankId peer() const { return peer_; }

 private:
  void drain_streams();

  RankId peer_;
  StreamState& streams_;
};

}  // namespace crossdock::fabric
