// SPDX-License-Identifier: Apache-2.0
// The queued way: operations become work requests of a send ring, and the copy engine carries them
// out while the caller goes on. A put's source must stay as it is until flush(); the small ones
// that are staged are the caller's again at once. A full ring makes posts wait for completions.
// Thread rule: its fabric's thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "fabric/fabric.h"
#include "fabric/queue/send_ring.h"
#include "fabric/shm/copy_engine.h"

namespace crossdock::fabric {

class QueuedQueue final : public Queue {
 public:
  QueuedQueue(RankId peer, CopyEngine& engine, Fabric& fabric)
      : engine_(engine), lane_(engine.lane(peer)), fabric_(fabric) {}

  void post_put(RemoteAddress to, std::span<const std::byte> from, Order order,
                StoreHint hint) override;
  void post_put_notify(RemoteAddress to, std::span<const std::byte> from, StoreHint hint,
                       RemoteAddress event, std::uint64_t add) override;
  void post_value(RemoteAddress to, std::uint64_t value, Order order) override;
  void post_signal(RemoteAddress to, std::uint64_t add, Order order) override;
  void fence() override;
  void ring_doorbell() override { lane_.ring_doorbell(); }
  /// Also reports, and tells the peers of, a request that could not be performed. Sources are free
  /// when it returns, with an error too.
  Status flush(Deadline deadline) override;

 private:
  std::optional<Reservation> reserve(std::uint64_t count);
  std::optional<Reservation> wait_for_room(std::uint64_t count);
  Status wait_completed(std::uint64_t end, Deadline deadline);
  void put_at(std::uint64_t position, Request request);
  void post(const Request& request);

  CopyEngine& engine_;
  CopyEngine::Lane& lane_;
  Fabric& fabric_;
  Status fate_;  // not ok once a post was dropped: then all later ones are
};

}  // namespace crossdock::fabric
