// SPDX-License-Identifier: Apache-2.0
// Waiting on the host: yield, then sleep; look for dead and poisoned peers and for the deadline
// about every millisecond; say who is still awaited.
#include <fmt/format.h>
#include <sched.h>

#include <algorithm>

#include "base/log.h"
#include "base/status_macros.h"
#include "fabric/shm/shm_fabric.h"

namespace crossdock::fabric {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr Duration kWatchEvery = milliseconds(1);
constexpr Duration kYieldFor =
    milliseconds(20);  // longer than most rounds; then the core is given up
constexpr Duration kSleepMin = microseconds(50);
constexpr Duration kSleepMax = milliseconds(2);

}  // namespace

Deadline ShmFabric::make_deadline() const {
  return Deadline::after(monotonic_clock(), options_.timeout);
}

void ShmFabric::give_way() {
  if (suspender_ == nullptr || !suspender_->suspend()) {
    ::sched_yield();
  }
}

void ShmFabric::interrupt(const Status& reason) {
  Interruption expected = Interruption::kQuiet;
  if (interruption_.compare_exchange_strong(expected, Interruption::kBeing,
                                            std::memory_order_acquire)) {
    interrupted_by_ = reason;
    // Pairs with look_at_peers().
    interruption_.store(Interruption::kThere, std::memory_order_release);
  }
}

Status ShmFabric::idle(WaitSession& session) {
  ++session.idle_count;
  // Reading the clock costs a good part of a yield: seldom is enough.
  if (session.idle_count > 1 && session.idle_count % 8 != 0 && !session.is_sleeping) {
    give_way();
    return {};
  }
  const Instant now = monotonic_clock().now();
  if (session.idle_count == 1) {
    session.started = now;
    session.next_watch = now + kWatchEvery;
    session.next_report = now + options_.still_waiting;
    session.board = &board_;
  }
  if (now < session.next_watch && !session.is_sleeping) {
    give_way();
    return {};
  }
  const Duration waited = now - session.started;
  const bool was_away = suspender_ != nullptr && suspender_->suspend();
  session.is_sleeping = waited > kYieldFor && !was_away;
  const Duration sleep = session.is_sleeping
                             ? std::clamp<Duration>(waited / 32, kSleepMin, kSleepMax)
                             : Duration::zero();
  show_waiting(session, now);
  if (Status fate = look_at_peers(sleep, session.what.peer); !fate.ok()) {
    return fate;
  }
  session.next_watch = now + kWatchEvery;
  report_waiting(session, now);
  return session.deadline.expired(now) ? expire(session, now) : Status();
}

// A dead process is everybody's end; a peer that closed in good order is the end only of those who
// wait for it.
Status ShmFabric::look_at_peers(Duration sleep, int awaited) {
  if (!fate_.ok()) {
    return fate_;
  }
  // Pairs with interrupt().
  if (interruption_.load(std::memory_order_acquire) == Interruption::kThere) {
    return fail(interrupted_by_);
  }
  const std::vector<int> dead = watch_.wait(sleep);
  for (int peer = 0; peer < size_ && !presences_.empty(); ++peer) {
    if (peer != rank_ && !is_gone_[static_cast<std::size_t>(peer)]) {
      CROSSDOCK_RETURN_IF_ERROR(learn_fate(peer, false));
    }
  }
  for (const int peer : dead) {
    CROSSDOCK_RETURN_IF_ERROR(learn_fate(peer, true));
  }
  if (awaited >= 0 && is_gone_[static_cast<std::size_t>(awaited)]) {
    // Through fail(): the wait that it ends can never be taken up again.
    return fail(
        {StatusKind::kClosed, Scope::kCommunicator,
         fmt::format("rank {} closed its communicator while rank {} waited for it", awaited, rank_),
         awaited});
  }
  return {};
}

Status ShmFabric::learn_fate(int peer, bool process_is_gone) {
  const PresenceState state = presences_.empty() ? PresenceState::kAlive : presence(peer).observe();
  if (state == PresenceState::kPoisoned) {
    return fail(presence(peer).reason(peer));
  }
  if (state == PresenceState::kClosed) {
    is_gone_[static_cast<std::size_t>(peer)] = true;
    return {};
  }
  if (process_is_gone) {
    return fail({StatusKind::kPeerDead, Scope::kCommunicator,
                 fmt::format("rank {} (pid {}) died", peer, mesh_->pid(peer)), peer});
  }
  return {};
}

// Whoever learns first tells the others, so that all name the same culprit.
Status ShmFabric::fail(Status status) {
  if (fate_.ok() && status.scope() >= Scope::kCommunicator) {
    fate_ = status;
    poison(status);
    if (engine_) {
      engine_->quiesce();  // The caller will take back the memory that requests name.
    }
  }
  return status;
}

void ShmFabric::show_waiting(const WaitSession& session, Instant now) {
  board_.show(session.what, session.started);
  if (!presences_.empty()) {
    presence(rank_).awaited.store(session.what.peer, std::memory_order_relaxed);
    presence(rank_).looked_ns.store(now.ns, std::memory_order_relaxed);
  }
}

// The awaited rank may itself wait for another, as in a barrier: the missing one is at the end of
// that chain. A rank that has not looked for a while does not wait: it is stopped, or computes. Who
// waits for several shows one of them, so the chain can be a circle beside the missing one.
int ShmFabric::find_missing(int awaited, Instant now) const {
  constexpr Duration kRecent = milliseconds(500);
  if (presences_.empty()) {
    return awaited;
  }
  const auto silence = [&](int peer) {
    return Duration(now.ns - presence(peer).looked_ns.load(std::memory_order_relaxed));
  };
  int missing = awaited;
  for (int step = 0; step < size_ && missing >= 0; ++step) {
    const std::int32_t next = presence(missing).awaited.load(std::memory_order_relaxed);
    if (silence(missing) > kRecent || next < 0 || next >= size_) {
      return missing;
    }
    missing = next;
  }
  int quietest = rank_;
  for (int peer = 0; peer < size_; ++peer) {
    if (peer != rank_ && (quietest == rank_ || silence(peer) > silence(quietest))) {
      quietest = peer;
    }
  }
  return quietest != rank_ && silence(quietest) > kRecent ? quietest : awaited;
}

Status ShmFabric::expire(const WaitSession& session, Instant now) {
  return fail(Status::stuck_wait({rank_, find_missing(session.what.peer, now), session.what.phase,
                                  session.what.round, session.what.expected, session.what.observed,
                                  now - session.started}));
}

void ShmFabric::report_waiting(WaitSession& session, Instant now) {
  if (options_.still_waiting <= Duration::zero() || now < session.next_report) {
    return;
  }
  session.next_report = now + options_.still_waiting;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now - session.started);
  log_line(
      LogLevel::kWarn,
      fmt::format("still waiting for rank {} in {}, round {}: expected {}, observed {}, for {} s",
                  session.what.peer, session.what.phase, session.what.round, session.what.expected,
                  session.what.observed, seconds.count()));
}

void ShmFabric::poison(const Status& reason) {
  if (!presences_.empty() && !fork_guard_.is_child()) {
    presence(rank_).poison(reason);
  }
}

}  // namespace crossdock::fabric
