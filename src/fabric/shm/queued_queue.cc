// SPDX-License-Identifier: Apache-2.0
#include "fabric/shm/queued_queue.h"

namespace crossdock::fabric {
namespace {

Status no_engine() {
  return {StatusKind::kUnsupported, Scope::kCommunicator,
          "a forked child has no copy engine; allowed: a communicator of its own"};
}

}  // namespace

void QueuedQueue::post_put(RemoteAddress to, std::span<const std::byte> from, Order order,
                           StoreHint hint) {
  post({.to = to,
        .from = from.data(),
        .byte_count = from.size(),
        .kind = RequestKind::kPut,
        .order = order,
        .hint = hint});
}

// Neighbours in one ring: the value is strong, so the data is performed before it.
void QueuedQueue::post_put_notify(RemoteAddress to, std::span<const std::byte> from, StoreHint hint,
                                  RemoteAddress event, std::uint64_t add) {
  if (const auto taken = reserve(2)) {
    put_at(taken->begin, {.to = to,
                          .from = from.data(),
                          .byte_count = from.size(),
                          .kind = RequestKind::kPut,
                          .order = Order::kRelaxed,
                          .hint = hint});
    put_at(taken->begin + 1,
           {.to = event, .value = add, .kind = RequestKind::kSignal, .order = Order::kStrong});
  }
}

void QueuedQueue::post_value(RemoteAddress to, std::uint64_t value, Order order) {
  post({.to = to, .value = value, .kind = RequestKind::kValue, .order = order});
}

void QueuedQueue::post_signal(RemoteAddress to, std::uint64_t add, Order order) {
  post({.to = to, .value = add, .kind = RequestKind::kSignal, .order = order});
}

void QueuedQueue::fence() { post({.kind = RequestKind::kFence}); }

void QueuedQueue::post(const Request& request) {
  if (const auto taken = reserve(1)) {
    put_at(taken->begin, request);
  }
}

void QueuedQueue::put_at(std::uint64_t position, Request request) {
  SendRing<>& ring = lane_.ring();
  if (request.byte_count != 0 && request.byte_count <= ring.staging_bytes()) {
    request.from = ring.stage(position, {request.from, request.byte_count}).data();
  }
  ring.write(position, request);
  ring.mark_done(position);
}

std::optional<Reservation> QueuedQueue::reserve(std::uint64_t count) {
  if (!fate_.ok()) {
    return std::nullopt;
  }
  const auto taken = lane_.ring().try_reserve(count);
  return taken ? taken : wait_for_room(count);
}

std::optional<Reservation> QueuedQueue::wait_for_room(std::uint64_t count) {
  lane_.count_stall();
  lane_.ring_doorbell();
  if (engine_.is_orphan()) {
    fate_ = no_engine();
    return std::nullopt;
  }
  std::optional<Reservation> taken;
  WaitSession session({.phase = "room in the send ring", .expected = count},
                      fabric_.make_deadline());
  const Status status = wait(fabric_, session, [&] {
    taken = lane_.ring().try_reserve(count);
    return taken.has_value();
  });
  if (!status.ok() && !taken) {
    fate_ = status;
  }
  return taken;
}

Status QueuedQueue::flush(Deadline deadline) {
  lane_.ring_doorbell();
  Status status = wait_completed(lane_.ring().reserved(), deadline);
  if (status.ok()) {
    status = fate_;
  }
  if (status.ok()) {
    status = lane_.failure();
    if (!status.ok()) {
      fabric_.poison(status);  // The peers would wait for proofs that never come.
    }
  }
  if (!status.ok()) {
    engine_.quiesce();
  }
  return status;
}

Status QueuedQueue::wait_completed(std::uint64_t end, Deadline deadline) {
  if (lane_.ring().completed() >= end) {
    return {};
  }
  if (engine_.is_orphan()) {
    return no_engine();
  }
  WaitSession session({.phase = "queue flush", .expected = end}, deadline);
  return wait(fabric_, session, [&] {
    session.what.observed = lane_.ring().completed();
    return session.what.observed >= end;
  });
}

}  // namespace crossdock::fabric
