// SPDX-License-Identifier: Apache-2.0
// The host backend: ranks of one machine, as processes or threads, over sealed shared memory. Every
// peer is in the LSA team. Bytes move the direct way, by the caller's own stores, or the queued
// way, by a copy engine that carries out work requests (copy_engine.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/fork_guard.h"
#include "fabric/bootstrap/bootstrap.h"
#include "fabric/fabric.h"
#include "fabric/options.h"
#include "fabric/shm/copy_engine.h"
#include "fabric/shm/mesh.h"
#include "fabric/shm/peer_watch.h"
#include "fabric/shm/presence.h"
#include "fabric/shm/segment.h"
#include "fabric/shm/shm_queue.h"
#include "fabric/wait_board.h"

namespace crossdock::fabric {

class ShmFabric final : public Fabric {
 public:
  /// Collective over the ranks that `gather` connects.
  static Result<std::unique_ptr<Fabric>> open(int rank, int size, const Gather& gather,
                                              const FabricOptions& options);
  ~ShmFabric() override;

  [[nodiscard]] RankId rank() const override { return RankId{rank_}; }
  [[nodiscard]] int size() const override { return size_; }
  [[nodiscard]] const Guarantees& guarantees() const override { return guarantees_; }
  [[nodiscard]] std::string_view name() const override { return "shm"; }
  [[nodiscard]] std::string_view way() const override { return engine_ ? "queued" : "direct"; }
  [[nodiscard]] QueueCounters queue_counters() const override {
    return engine_ ? engine_->counters() : QueueCounters{};
  }
  Result<std::unique_ptr<Window>> make_window(std::size_t byte_count) override;
  [[nodiscard]] Queue& queue(RankId peer, int lane) override;
  [[nodiscard]] int lane_count() const override { return 1; }
  Result<Blobs> all_gather(std::span<const std::byte> mine) override;
  Result<std::unique_ptr<Fabric>> split(int colour) override;
  Status idle(WaitSession& session) override;
  void set_suspender(Suspender* suspender) override { suspender_ = suspender; }
  void interrupt(const Status& reason) override;
  [[nodiscard]] int spin_count() const override { return suspender_ == nullptr ? spin_count_ : 1; }
  [[nodiscard]] bool ranks_share_cores() const override;
  [[nodiscard]] Deadline make_deadline() const override;
  void poison(const Status& reason) override;
  [[nodiscard]] Status health() override;
  void close() override;

 private:
  struct SegmentOffer;

  ShmFabric(int rank, int size, const FabricOptions& options);
  Status connect(const Gather& gather);
  Status make_queues();
  Status watch_peers();
  Result<std::vector<MeshMessage>> exchange(std::uint32_t purpose, std::span<const std::byte> mine,
                                            int fd);
  Result<std::vector<std::shared_ptr<Segment>>> make_segments(std::size_t byte_count);
  Status check_host_memory(std::size_t byte_count);
  Result<std::vector<std::shared_ptr<Segment>>> offer(const std::shared_ptr<Segment>& own,
                                                      std::size_t byte_count, bool& everybody_made);
  Status attach(int peer, const SegmentOffer& offer, int fd, std::size_t byte_count,
                std::shared_ptr<Segment>& segment);
  Status share_verdict(std::uint32_t purpose, const Status& own);
  void give_way();
  Status look_at_peers(Duration sleep, int awaited);
  Status learn_fate(int peer, bool process_is_gone);
  Status fail(Status status);
  Status expire(const WaitSession& session, Instant now);
  void show_waiting(const WaitSession& session, Instant now);
  [[nodiscard]] int find_missing(int awaited, Instant now) const;
  void report_waiting(WaitSession& session, Instant now);
  [[nodiscard]] Presence& presence(int peer) const;

  const int rank_;
  const int size_;
  const FabricOptions options_;
  const Guarantees guarantees_;
  int spin_count_ = 0;
  bool is_closed_ = false;
  const ForkGuard fork_guard_;
  Status fate_;  // not ok once unusable
  Suspender* suspender_ = nullptr;
  // Written by any thread: kQuiet -> kBeing -> kThere; the status is whole once kThere.
  enum class Interruption : std::uint8_t { kQuiet, kBeing, kThere };
  std::atomic<Interruption> interruption_{Interruption::kQuiet};
  Status interrupted_by_;
  std::unique_ptr<Mesh> mesh_;
  PeerWatch watch_;
  std::vector<bool> is_gone_;  // [rank]: closed in good order or its process ended after closing
  StreamState streams_;
  std::shared_ptr<CopyEngine> engine_;               // null with the direct way
  std::vector<std::unique_ptr<Queue>> queues_;       // [rank]
  std::vector<std::shared_ptr<Segment>> presences_;  // [rank]
  WaitBoard board_;
};

}  // namespace crossdock::fabric
