// SPDX-License-Identifier: Apache-2.0
// The seam between the engine and whatever moves bytes. Dispatch, combine, protocols and schedules
// are written once against these classes and run over every backend unchanged.
//
// Vocabulary: a *window* is symmetric memory (every rank has one of the same size); the *LSA team*
// is the set of ranks whose windows can be loaded and stored directly; a *queue* carries operations
// to one peer in the order its guarantees state; there is no get: what must be read remotely is
// read in place on an LSA team. Thread rule: a Fabric and everything it made belong to one thread
// at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/copy.h"
#include "crossdock/status.h"
#include "crossdock/types.h"
#include "fabric/guarantees.h"
#include "fabric/waiting.h"

namespace crossdock::fabric {

/// A strong operation waits for the earlier relaxed and strong ones of its queue; a relaxed one is
/// free itself but held by a later strong one; a none one is outside every constraint.
enum class Order : std::uint8_t { kNone, kRelaxed, kStrong };

class Window {
 public:
  virtual ~Window() = default;
  [[nodiscard]] virtual std::size_t byte_count() const = 0;
  [[nodiscard]] virtual std::span<std::byte> local() = 0;
  /// The peer's window when it is in the LSA team (own rank included), else an empty span.
  [[nodiscard]] virtual std::span<std::byte> peer(RankId rank) = 0;
  /// "memfd, 4 KiB pages" or the like, for people.
  [[nodiscard]] virtual std::string describe() const = 0;
};

/// A place in the target's window: `offset` bytes from its start.
struct RemoteAddress {
  Window* window = nullptr;
  std::uint64_t offset = 0;
};

/// Operations to one peer. Posts start and return; source memory may be reused once flush() (or the
/// backend's guarantee `source_reusable_on_return`) says so.
class Queue {
 public:
  virtual ~Queue() = default;
  virtual void post_put(RemoteAddress to, std::span<const std::byte> from, Order order,
                        StoreHint hint) = 0;
  /// A put and an event fused with it, which adds to 8 aligned bytes at the target, indivisibly
  /// among all events and signals: it is never visible before its data.
  virtual void post_put_notify(RemoteAddress to, std::span<const std::byte> from, StoreHint hint,
                               RemoteAddress event, std::uint64_t add) = 0;
  /// Writes 8 aligned bytes indivisibly.
  virtual void post_value(RemoteAddress to, std::uint64_t value, Order order) = 0;
  /// Adds to 8 aligned bytes at the target, indivisibly among all signals.
  virtual void post_signal(RemoteAddress to, std::uint64_t add, Order order) = 0;
  /// Everything posted before is performed at the target before anything posted later.
  virtual void fence() = 0;
  /// Starts what was posted; a backend that starts on post does nothing.
  virtual void ring_doorbell() = 0;
  /// Blocks until everything posted is performed at the target and sources are reusable.
  virtual Status flush(Deadline deadline) = 0;
};

/// Blobs of all ranks, [rank]; the one primitive that everything collective at set-up is made of.
using Blob = std::vector<std::byte>;
using Blobs = std::vector<Blob>;

/// What went through a fabric's queues since it was opened; zeros where nothing is queued.
struct QueueCounters {
  std::uint64_t request_count = 0;
  std::uint64_t doorbell_count = 0;  // hand-overs to whoever performs the requests
  std::uint64_t stall_count = 0;     // posts that found their queue full
};

/// Takes the thread from a wait that would only yield or sleep, and gives it back later.
class Suspender {
 public:
  virtual ~Suspender() = default;
  /// False: not now; then the wait yields or sleeps by itself.
  virtual bool suspend() = 0;
};

class Fabric {
 public:
  virtual ~Fabric() = default;
  [[nodiscard]] virtual RankId rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;
  [[nodiscard]] virtual const Guarantees& guarantees() const = 0;
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// Who moves the bytes: "direct" (the poster, before the post returns) or "queued".
  [[nodiscard]] virtual std::string_view way() const { return "direct"; }
  [[nodiscard]] virtual QueueCounters queue_counters() const { return {}; }

  /// Collective, blocking: zero-filled symmetric memory. Fails on every rank or on none.
  /// Memory is checked against what the host has, summed over its ranks, before it is touched.
  virtual Result<std::unique_ptr<Window>> make_window(std::size_t byte_count) = 0;
  /// The queue to `peer`; lane < lane_count(). Lives as long as the fabric.
  [[nodiscard]] virtual Queue& queue(RankId peer, int lane) = 0;
  [[nodiscard]] virtual int lane_count() const = 0;

  /// Collective, blocking; not for data paths.
  virtual Result<Blobs> all_gather(std::span<const std::byte> mine) = 0;
  /// Collective: ranks with equal colour form a new fabric, ordered by their rank here.
  virtual Result<std::unique_ptr<Fabric>> split(int colour) = 0;

  /// What wait() does when spinning did not help: yields or sleeps, looks for dead peers, poison
  /// and the deadline, prints the "still waiting" line. Not ok ends the wait.
  virtual Status idle(WaitSession& session) = 0;
  /// While set, idle() offers the thread to it before it yields or sleeps: waits become steps that
  /// somebody drives. Null: none.
  virtual void set_suspender(Suspender* suspender) = 0;
  /// Any thread, the only call that is: ends the wait that the fabric's thread is in, and all later
  /// ones, with `reason`, as if a peer had died. The first interruption wins.
  virtual void interrupt(const Status& reason) = 0;
  /// How many polls wait() makes before the first idle(): few when ranks outnumber cores.
  [[nodiscard]] virtual int spin_count() const = 0;
  /// More ranks than cores: every wait costs the awaited peer a turn on the core.
  [[nodiscard]] virtual bool ranks_share_cores() const = 0;
  [[nodiscard]] virtual Deadline make_deadline() const = 0;

  /// Tells all peers that this rank cannot go on; their waits end with `reason` at once.
  /// The first poison wins; later ones are ignored.
  virtual void poison(const Status& reason) = 0;
  /// Not ok once this rank has noticed that the fabric is unusable (a peer died, poison arrived,
  /// closed). Cheap: asks nobody; waits notice.
  [[nodiscard]] virtual Status health() = 0;
  /// Idempotent; never waits for peers.
  virtual void close() = 0;
};

/// Polls until `poll()` returns true. `poll` may update what/observed through session.what.
/// Blocks up to session.deadline; a StuckWait or the peer's fate is returned otherwise.
template <typename Poll>
Status wait(Fabric& fabric, WaitSession& session, Poll&& poll) {
  for (int spin = fabric.spin_count(); spin > 0; --spin) {
    if (poll()) {
      return {};
    }
    cpu_relax();
  }
  while (!poll()) {
    if (Status status = fabric.idle(session); !status.ok()) {
      // A peer may have finished its part and left between our last look and its leaving.
      return poll() ? Status() : status;
    }
  }
  return {};
}

}  // namespace crossdock::fabric
