// SPDX-License-Identifier: Apache-2.0
// A send ring: many producers put work requests in, one doorbell role hands them to a target in
// order, the target completes them. What a send queue is to a NIC. Contract: docs/queued.md.
//
// Vocabulary: a *position* counts requests since the ring was made and is never used twice; it
// lives in slot `position mod depth`. Positions go through reserved >= done prefix >= submitted >=
// completed. A slot and its staging bytes belong to a producer from reservation to done mark, to
// doorbell role and target from there to completion, and to nobody else before that.
//
// The ring has no clock, no thread and no system call; it allocates when it is made and then never.
// Limit: position 2^64 - 1 is the last; at 10^9 requests a second that is 584 years away.
// Thread rule: as each function says.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/bytes.h"
#include "base/check.h"
#include "fabric/queue/doorbell.h"
#include "fabric/queue/request.h"
#include "fabric/queue/ring_memory.h"

namespace crossdock::fabric {

struct RingShape {
  std::uint64_t depth = 0;           // requests; a power of two
  std::uint64_t staging_bytes = 0;   // of one request; 0: none
  std::uint64_t first_position = 0;  // for tests of wide positions
};

/// Neighbouring positions of one producer.
struct Reservation {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

template <typename Memory = HostMemory>
class SendRing {
 public:
  explicit SendRing(const RingShape& shape)
      : depth_(shape.depth),
        staging_bytes_(shape.staging_bytes),
        slots_(std::make_unique<Slot[]>(shape.depth)),
        staging_(shape.depth * shape.staging_bytes),
        reserved_{shape.first_position},
        completed_{shape.first_position} {
    CROSSDOCK_CHECK(is_power_of_two(depth_), "depth {}", depth_);
    submitted_.write(shape.first_position);
  }

  [[nodiscard]] std::uint64_t depth() const { return depth_; }
  [[nodiscard]] std::uint64_t staging_bytes() const { return staging_bytes_; }

  // --- producers: any thread ---------------------------------------------------------------------

  /// `count` neighbouring positions, or nothing when they are not free: then ring the doorbell and
  /// wait for completions. REQUIRES: 1 <= count <= depth.
  [[nodiscard]] std::optional<Reservation> try_reserve(std::uint64_t count) {
    CROSSDOCK_DCHECK(count >= 1 && count <= depth_, "{} of {}", count, depth_);
    std::uint64_t begin = reserved_.load(std::memory_order_relaxed);
    do {
      // Pairs with complete(): the target has read what these slots held.
      if (begin + count > completed_.load(std::memory_order_acquire) + depth_) {
        return std::nullopt;
      }
      // Relaxed: a reservation tells nobody anything but that it is taken.
    } while (!reserved_.compare_exchange_weak(begin, begin + count, std::memory_order_relaxed,
                                              std::memory_order_relaxed));
    return Reservation{begin, begin + count};
  }

  /// Copies a put's source into the staging bytes of an own, reserved position; the caller's memory
  /// is free at once. REQUIRES: 0 < from.size() <= staging_bytes.
  std::span<const std::byte> stage(std::uint64_t position, std::span<const std::byte> from) {
    staging_.write(staging_at(position), from);
    return staged(position, from.size());
  }
  void write(std::uint64_t position, const Request& request) {
    slot_of(position).request.write(request);
  }
  /// The request at an own position, and the memory that it names, are whole. In any order within a
  /// reservation; once each. Afterwards the position belongs to the doorbell role and the target.
  void mark_done(std::uint64_t position) {
    // Pairs with find_prefix_end(): publishes request, staging bytes and source.
    slot_of(position).done.store(position + 1, std::memory_order_release);
  }

  // --- the doorbell role: any thread; whoever finds it taken leaves its ring to the holder
  // ---------

  /// Submits the done prefix. When it returns, all that this thread marked done before is submitted
  /// or stands behind a hole that another producer's doorbell will close, or a holder of the role
  /// that is still in here will submit it.
  void ring_doorbell(DoorbellTarget& target) {
    // Acquire and release: the role and submitted_ pass from holder to holder; marks made before a
    // ring are seen by whoever takes it along.
    std::uint64_t rung = 1;
    if (rings_.fetch_add(1, std::memory_order_acq_rel) != 0) {
      return;
    }
    do {
      submit_prefix(target);
      rung = rings_.fetch_sub(rung, std::memory_order_acq_rel) - rung;
    } while (rung != 0);
  }

  // --- the target --------------------------------------------------------------------------------

  /// REQUIRES: submitted, not completed.
  [[nodiscard]] const Request& read(std::uint64_t position) const {
    return slot_of(position).request.read();
  }
  [[nodiscard]] std::span<const std::byte> staged(std::uint64_t position, std::size_t size) const {
    return staging_.view(staging_at(position), size);
  }
  /// Everything before `end` is performed and will not be read again. One thread; never backwards.
  void complete(std::uint64_t end) {
    completed_.store(end, std::memory_order_release);  // Pairs with try_reserve(), completed().
  }

  // --- anybody -----------------------------------------------------------------------------------

  [[nodiscard]] std::uint64_t reserved() const { return reserved_.load(std::memory_order_relaxed); }
  /// What was performed before is visible to the caller.
  [[nodiscard]] std::uint64_t completed() const {
    return completed_.load(std::memory_order_acquire);  // Pairs with complete().
  }

 private:
  using Word = typename Memory::Word;

  // Grammar of a slot: request done:u64, where done = position + 1 once the request is whole. Older
  // values are smaller, so a mark of an earlier lap is never taken for this one's.
  struct alignas(kCacheLineBytes) Slot {
    typename Memory::template Cell<Request> request;
    Word done{0};
  };

  [[nodiscard]] Slot& slot_of(std::uint64_t position) const {
    return slots_[position & (depth_ - 1)];
  }
  [[nodiscard]] std::size_t staging_at(std::uint64_t position) const {
    return (position & (depth_ - 1)) * staging_bytes_;
  }

  // The first position from `begin` on that is not done. A position that nobody reserved yet holds
  // an older mark, so the end of the ring needs no look of its own.
  [[nodiscard]] std::uint64_t find_prefix_end(std::uint64_t begin) const {
    std::uint64_t end = begin;
    // Pairs with mark_done().
    while (slot_of(end).done.load(std::memory_order_acquire) == end + 1) {
      ++end;
    }
    return end;
  }

  void submit_prefix(DoorbellTarget& target) {
    const std::uint64_t begin = submitted_.read();
    const std::uint64_t end = find_prefix_end(begin);
    if (end != begin) {
      submitted_.write(end);
      target.submit(begin, end);
    }
  }

  const std::uint64_t depth_;
  const std::uint64_t staging_bytes_;
  std::unique_ptr<Slot[]> slots_;
  typename Memory::Bytes staging_;
  // A line each: producers, target and doorbell role do not share.
  alignas(kCacheLineBytes) Word reserved_;
  alignas(kCacheLineBytes) Word completed_;
  alignas(kCacheLineBytes) Word rings_{
      0};  // doorbells rung and not yet served; 0: the role is free
  typename Memory::template Cell<std::uint64_t> submitted_;  // of the doorbell role
};

}  // namespace crossdock::fabric
