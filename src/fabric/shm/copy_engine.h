// SPDX-License-Identifier: Apache-2.0
// The copy engine of the queued way: one thread per fabric that carries out the work requests of
// all its send rings, as a NIC would. Every queue keeps its own order; between queues turns are
// taken. Each request is performed by the direct queue's own stores.
//
// A failed request fails its queue: what follows is completed unperformed, so that no proof is
// written behind missing rows and nobody waits for a slot.
// The engine never waits for peers: whatever was submitted is completed in bounded time. Idle, it
// sleeps in the kernel until a doorbell. Signals are left to the program's own threads.
// A forked child has no engine: see is_orphan().
// Thread rule: lanes' rings as send_ring.h says; the rest is for the fabric's thread, except
// quiesce(), which any thread may call.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/helper_thread.h"
#include "crossdock/status.h"
#include "fabric/fabric.h"
#include "fabric/queue/doorbell.h"
#include "fabric/queue/send_ring.h"
#include "fabric/shm/shm_queue.h"

namespace crossdock::fabric {

class CopyEngine {
 public:
  struct Options {
    int rank = 0;                   // names the thread
    int queue_count = 0;            // one ring for each
    std::uint64_t queue_depth = 0;  // a power of two >= 2
    int spin_count = 0;             // looks at the doorbell before sleeping
  };

  /// One queue: its ring, and the engine's end of it.
  class Lane final : public DoorbellTarget {
   public:
    Lane(CopyEngine& engine, RankId peer, std::uint64_t depth);
    [[nodiscard]] SendRing<>& ring() { return ring_; }
    void ring_doorbell() { ring_.ring_doorbell(*this); }
    void submit(std::uint64_t begin, std::uint64_t end) override;
    /// Ok, or why this queue performs nothing any more. Any thread.
    [[nodiscard]] Status failure() const;
    /// A post found the ring full.
    void count_stall() { stall_count_.fetch_add(1, std::memory_order_relaxed); }

   private:
    friend class CopyEngine;
    bool serve();  // true: something was done
    void perform(const Request& request);
    [[nodiscard]] Status check_target(const Request& request) const;

    CopyEngine& engine_;
    SendRing<> ring_;
    ShmQueue direct_;                          // engine's thread
    std::uint64_t next_ = 0;                   // engine's thread: the next to perform
    std::atomic<std::uint64_t> submitted_{0};  // by submit(), read by the engine
    std::atomic<std::uint64_t> doorbell_count_{0};
    std::atomic<std::uint64_t> stall_count_{0};
    std::atomic<bool> has_failed_{false};
    Status failure_;  // written once, before has_failed_
  };

  static Result<std::shared_ptr<CopyEngine>> start(const Options& options);
  ~CopyEngine();
  CopyEngine(const CopyEngine&) = delete;
  CopyEngine& operator=(const CopyEngine&) = delete;

  [[nodiscard]] Lane& lane(RankId peer) { return *lanes_[static_cast<std::size_t>(peer.value)]; }
  /// Rings all doorbells and blocks until everything submitted so far is completed: what requests
  /// name may go away. Short: copies only. Does nothing in a forked child.
  void quiesce();
  /// quiesce(), then ends the thread. Idempotent.
  void stop();
  [[nodiscard]] QueueCounters counters() const;
  /// True in a child of the process that started the engine: the thread is not there.
  [[nodiscard]] bool is_orphan() const { return thread_.is_orphan(); }

 private:
  explicit CopyEngine(const Options& options);
  void run();
  bool serve_all();
  void wake();

  const Options options_;
  StreamState streams_;                             // engine's thread
  std::vector<std::unique_ptr<Lane>> lanes_;        // [peer]
  alignas(64) std::atomic<std::uint32_t> bell_{0};  // counts doorbells; the engine sleeps on it
  std::atomic<bool> is_stopping_{false};
  HelperThread thread_;
};

}  // namespace crossdock::fabric
