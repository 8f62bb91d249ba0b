// SPDX-License-Identifier: Apache-2.0
#include "fabric/shm/copy_engine.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <utility>

#include "base/status_macros.h"

namespace crossdock::fabric {
namespace {

// Requests of one queue before the next queue has its turn. Completion is told once per turn.
constexpr std::uint64_t kTurn = 32;
// Sources up to this size are copied when they are posted: a line or two costs less there than
// the engine's misses on them later, and small control messages are the caller's again at once.
constexpr std::uint64_t kStagingBytes = 128;

}  // namespace

// --- one queue -----------------------------------------------------------------------------------

CopyEngine::Lane::Lane(CopyEngine& engine, RankId peer, std::uint64_t depth)
    : engine_(engine),
      ring_({.depth = depth, .staging_bytes = kStagingBytes}),
      direct_(peer, engine.streams_) {}

void CopyEngine::Lane::submit(std::uint64_t /*begin*/, std::uint64_t end) {
  doorbell_count_.fetch_add(1, std::memory_order_relaxed);
  submitted_.store(end, std::memory_order_release);  // Pairs with the acquire in serve().
  engine_.wake();
}

Status CopyEngine::Lane::failure() const {
  // Pairs with the release in perform().
  return has_failed_.load(std::memory_order_acquire) ? failure_ : Status();
}

bool CopyEngine::Lane::serve() {
  // Pairs with the release in submit(): requests and what they name are visible.
  const std::uint64_t end = std::min(submitted_.load(std::memory_order_acquire), next_ + kTurn);
  if (next_ == end) {
    return false;
  }
  for (; next_ < end; ++next_) {
    if (!has_failed_.load(std::memory_order_relaxed)) {
      perform(ring_.read(next_));
    }
  }
  direct_.fence();  // Completed means performed, streaming stores too.
  ring_.complete(end);
  return true;
}

// Addresses come from the engine above, but a wrong one must not take the process down from a
// thread that the caller never sees.
Status CopyEngine::Lane::check_target(const Request& request) const {
  if (request.kind == RequestKind::kFence) {
    return {};
  }
  const bool is_put = request.kind == RequestKind::kPut;
  const std::uint64_t size = is_put ? request.byte_count : sizeof(std::uint64_t);
  const std::uint64_t room =
      request.to.window == nullptr ? 0 : request.to.window->peer(direct_.peer()).size();
  if (size <= room && request.to.offset <= room - size &&
      (is_put || request.to.offset % sizeof(std::uint64_t) == 0)) {
    return {};
  }
  return {StatusKind::kInternal, Scope::kCommunicator,
          fmt::format("request {} to rank {}: {} of {} bytes at {} in a window of {}; allowed: "
                      "inside{}",
                      next_, direct_.peer().value, is_put ? "put" : "value", size,
                      request.to.offset, room, is_put ? "" : ", a multiple of 8")};
}

void CopyEngine::Lane::perform(const Request& request) {
  if (Status status = check_target(request); !status.ok()) {
    failure_ = std::move(status);
    has_failed_.store(true, std::memory_order_release);  // Pairs with failure().
    return;
  }
  switch (request.kind) {
    case RequestKind::kPut:
      direct_.post_put(request.to, {request.from, request.byte_count}, request.order, request.hint);
      break;
    case RequestKind::kValue:
      direct_.post_value(request.to, request.value, request.order);
      break;
    case RequestKind::kSignal:
      direct_.post_signal(request.to, request.value, request.order);
      break;
    case RequestKind::kFence:
      direct_.fence();
      break;
  }
}

// --- life ----------------------------------------------------------------------------------------

CopyEngine::CopyEngine(const Options& options) : options_(options) {
  for (int peer = 0; peer < options.queue_count; ++peer) {
    lanes_.push_back(std::make_unique<Lane>(*this, RankId{peer}, options.queue_depth));
  }
}

Result<std::shared_ptr<CopyEngine>> CopyEngine::start(const Options& options) {
  std::shared_ptr<CopyEngine> engine(new CopyEngine(options));
  CROSSDOCK_RETURN_IF_ERROR(engine->thread_.start(fmt::format("xd-copy-{}", options.rank),
                                                  [raw = engine.get()] { raw->run(); }));
  return engine;
}

CopyEngine::~CopyEngine() { stop(); }

void CopyEngine::quiesce() {
  if (is_orphan()) {
    return;
  }
  for (const auto& lane : lanes_) {
    lane->ring_doorbell();
    const std::uint64_t end = lane->submitted_.load(std::memory_order_acquire);
    while (lane->ring_.completed() < end && !is_stopping_.load(std::memory_order_acquire)) {
      ::sched_yield();  // At most a ring's worth of copies.
    }
  }
}

void CopyEngine::stop() {
  if (!thread_.is_started()) {
    return;
  }
  quiesce();
  is_stopping_.store(true, std::memory_order_release);  // Pairs with run().
  wake();
  thread_.join();
}

QueueCounters CopyEngine::counters() const {
  QueueCounters sum;
  for (const auto& lane : lanes_) {
    sum.request_count += lane->ring_.reserved();
    sum.doorbell_count += lane->doorbell_count_.load(std::memory_order_relaxed);
    sum.stall_count += lane->stall_count_.load(std::memory_order_relaxed);
  }
  return sum;
}

void CopyEngine::wake() {
  // Pairs with run(). Sequentially consistent: before the look for sleepers in notify_one().
  bell_.fetch_add(1, std::memory_order_seq_cst);
  bell_.notify_one();
}

void CopyEngine::run() {
  while (true) {
    // Read before the lanes are looked at: a doorbell after that ends the sleep below.
    const std::uint32_t seen = bell_.load(std::memory_order_acquire);
    if (serve_all()) {
      continue;
    }
    if (is_stopping_.load(std::memory_order_acquire)) {
      return;
    }
    int spin = options_.spin_count;
    while (spin > 0 && bell_.load(std::memory_order_relaxed) == seen) {
      cpu_relax();
      --spin;
    }
    bell_.wait(seen, std::memory_order_acquire);
  }
}

bool CopyEngine::serve_all() {
  bool was_busy = false;
  for (const auto& lane : lanes_) {
    was_busy = lane->serve() || was_busy;
  }
  return was_busy;
}

}  // namespace crossdock::fabric
