// SPDX-License-Identifier: Apache-2.0
#include "fabric/wait_board.h"

#include <fmt/compile.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <mutex>

namespace crossdock::fabric {
namespace {

struct Slot {
  std::atomic<bool> taken{false};
  std::atomic<int> rank{-1};
  std::atomic<const char*> phase{nullptr};  // null: not waiting
  std::atomic<int> peer{-1};
  std::atomic<std::uint64_t> round{0};
  std::atomic<std::uint64_t> expected{0};
  std::atomic<std::uint64_t> observed{0};
  std::atomic<std::int64_t> since_ns{0};
};

constexpr std::size_t kSlotCount = 256;
std::array<Slot, kSlotCount> slots;

// Runs in a signal handler: formats into the stack (integers and C strings only) and writes.
void dump_slot(const Slot& slot) {
  std::array<char, 256> line{};
  const char* phase = slot.phase.load(std::memory_order_relaxed);
  const int rank = slot.rank.load(std::memory_order_relaxed);
  char* end = nullptr;
  if (phase == nullptr) {
    end =
        fmt::format_to_n(line.data(), line.size(), FMT_COMPILE("[rank {}] is not waiting\n"), rank)
            .out;
  } else {
    const auto waited_ns =
        monotonic_clock().now().ns - slot.since_ns.load(std::memory_order_relaxed);
    end = fmt::format_to_n(line.data(), line.size(),
                           FMT_COMPILE("[rank {}] waits for rank {} in {}, round {}: expected {}, "
                                       "observed {}, for {} ms\n"),
                           rank, slot.peer.load(std::memory_order_relaxed), phase,
                           slot.round.load(std::memory_order_relaxed),
                           slot.expected.load(std::memory_order_relaxed),
                           slot.observed.load(std::memory_order_relaxed), waited_ns / 1'000'000)
              .out;
  }
  [[maybe_unused]] const auto written =
      ::write(STDERR_FILENO, line.data(), static_cast<std::size_t>(end - line.data()));
}

void dump_all(int /*signal*/) {
  const int saved_errno = errno;
  for (const Slot& slot : slots) {
    if (slot.taken.load(std::memory_order_acquire)) {  // Pairs with the exchange in WaitBoard().
      dump_slot(slot);
    }
  }
  errno = saved_errno;
}

}  // namespace

WaitBoard::WaitBoard(int rank) {
  for (std::size_t index = 0; index < slots.size(); ++index) {
    if (!slots[index].taken.exchange(true, std::memory_order_acq_rel)) {
      slot_ = static_cast<int>(index);
      slots[index].rank.store(rank, std::memory_order_relaxed);
      return;
    }
  }
}

WaitBoard::~WaitBoard() {
  if (slot_ >= 0) {
    clear();
    // Pairs with the exchange in WaitBoard(): the next owner sees a cleared slot.
    slots[static_cast<std::size_t>(slot_)].taken.store(false, std::memory_order_release);
  }
}

void WaitBoard::show(const WaitFor& what, Instant since) {
  if (slot_ < 0) {
    return;
  }
  Slot& slot = slots[static_cast<std::size_t>(slot_)];
  slot.peer.store(what.peer, std::memory_order_relaxed);
  slot.round.store(what.round, std::memory_order_relaxed);
  slot.expected.store(what.expected, std::memory_order_relaxed);
  slot.observed.store(what.observed, std::memory_order_relaxed);
  slot.since_ns.store(since.ns, std::memory_order_relaxed);
  slot.phase.store(what.phase, std::memory_order_relaxed);
}

void WaitBoard::clear() {
  if (slot_ >= 0) {
    slots[static_cast<std::size_t>(slot_)].phase.store(nullptr, std::memory_order_relaxed);
  }
}

void install_wait_dump() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction current{};
    if (sigaction(SIGUSR1, nullptr, &current) != 0 || current.sa_handler != SIG_DFL) {
      return;
    }
    struct sigaction action{};
    action.sa_handler = dump_all;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    sigaction(SIGUSR1, &action, nullptr);
  });
}

}  // namespace crossdock::fabric
