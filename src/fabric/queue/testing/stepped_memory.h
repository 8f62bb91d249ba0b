// SPDX-License-Identifier: Apache-2.0
// A ring memory whose every access is a step of the current Stepper and is checked: what words
// order and what they do not. Interleavings are sequentially consistent; a run without races in all
// of them needs nothing more of a real machine.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "fabric/queue/testing/stepper.h"

namespace crossdock::fabric::testing {

inline void join_clock(VectorClock& into, const VectorClock& from) {
  for (std::size_t agent = 0; agent < into.size(); ++agent) {
    into[agent] = std::max(into[agent], from[agent]);
  }
}

/// Finds accesses of plain data that nothing orders.
class RaceCheck {
 public:
  void on_read() const {
    if (Stepper* stepper = Stepper::current(); stepper != nullptr) {
      stepper->step();
      require_known(*stepper, wrote_, "read of plain data that another agent is writing");
      read_[stepper->agent()] = stepper->clock()[stepper->agent()];
    }
  }
  void on_write() {
    if (Stepper* stepper = Stepper::current(); stepper != nullptr) {
      stepper->step();
      require_known(*stepper, wrote_, "write of plain data that another agent wrote");
      require_known(*stepper, read_, "write of plain data that another agent is reading");
      wrote_[stepper->agent()] = stepper->clock()[stepper->agent()];
    }
  }

 private:
  static void require_known(Stepper& stepper, const VectorClock& done, const char* trouble) {
    for (std::size_t agent = 0; agent < done.size(); ++agent) {
      if (done[agent] > stepper.clock()[agent]) {
        stepper.fail(trouble);
      }
    }
  }

  VectorClock wrote_{};
  mutable VectorClock read_{};
};

struct SteppedMemory {
  class Word {
   public:
    Word(std::uint64_t value) : value_(value) {}  // NOLINT(google-explicit-constructor): as atomic

    [[nodiscard]] std::uint64_t load(std::memory_order order) const {
      before();
      acquire(order);
      return value_;
    }
    void store(std::uint64_t value, std::memory_order order) {
      before();
      published_ = {};  // A plain store ends what an earlier release handed on.
      release(order);
      value_ = value;
    }
    std::uint64_t fetch_add(std::uint64_t add, std::memory_order order) {
      before();
      acquire(order);
      release(order);
      return (value_ += add) - add;
    }
    std::uint64_t fetch_sub(std::uint64_t sub, std::memory_order order) {
      return fetch_add(~sub + 1, order);
    }
    bool compare_exchange_weak(std::uint64_t& expected, std::uint64_t desired,
                               std::memory_order success, std::memory_order failure) {
      before();
      if (value_ != expected) {
        acquire(failure);
        expected = value_;
        return false;
      }
      acquire(success);
      release(success);
      value_ = desired;
      return true;
    }

   private:
    static void before() {
      if (Stepper* stepper = Stepper::current(); stepper != nullptr) {
        stepper->step();
      }
    }
    void acquire(std::memory_order order) const {
      Stepper* stepper = Stepper::current();
      if (stepper != nullptr &&
          (order == std::memory_order_acquire || order == std::memory_order_acq_rel)) {
        join_clock(stepper->clock(), published_);
      }
    }
    void release(std::memory_order order) {
      Stepper* stepper = Stepper::current();
      if (stepper != nullptr &&
          (order == std::memory_order_release || order == std::memory_order_acq_rel)) {
        join_clock(published_, stepper->clock());
      }
    }

    std::uint64_t value_;
    VectorClock published_{};
  };

  template <typename T>
  class Cell {
   public:
    [[nodiscard]] const T& read() const {
      check_.on_read();
      return value_;
    }
    void write(const T& value) {
      check_.on_write();
      value_ = value;
    }

   private:
    T value_{};
    RaceCheck check_;
  };

  // Checked per byte range of the first access: rings touch staging bytes slot by slot.
  class Bytes {
   public:
    explicit Bytes(std::size_t byte_count) : bytes_(byte_count), checks_(byte_count) {}
    void write(std::size_t offset, std::span<const std::byte> from) {
      checks_[offset].on_write();
      std::copy(from.begin(), from.end(), bytes_.begin() + static_cast<std::ptrdiff_t>(offset));
    }
    [[nodiscard]] std::span<const std::byte> view(std::size_t offset, std::size_t size) const {
      checks_[offset].on_read();
      return std::span(bytes_).subspan(offset, size);
    }

   private:
    std::vector<std::byte> bytes_;
    std::vector<RaceCheck> checks_;  // [offset]; only those where a slot begins are used
  };
};

}  // namespace crossdock::fabric::testing
