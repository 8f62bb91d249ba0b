// SPDX-License-Identifier: Apache-2.0
// Memory that all ranks of a benchmark share, apart from the library's own: a barrier, the times of
// every round, and one window per rank in which the limits are measured.
// One anonymous file (memfd), made by the parent and opened by the ranks through its /proc path.
//
//   arena   := header samples windows
//   header  := ArenaHeader, padded to 1024, then a note (JSON text, zero-ended) up to 4096
//   samples := [contender][round][rank] Sample, padded to 2 MiB
//   windows := [rank] window_bytes, each padded to 2 MiB
// Thread rule: one thread per rank; barrier() is where they meet.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "crossdock/status.h"

namespace crossdock::bench {

struct ArenaShape {
  int ranks = 1;
  int contenders = 1;
  int rounds = 1;
  std::uint64_t window_bytes = 0;
};

/// Of the whole file.
[[nodiscard]] std::uint64_t arena_bytes(const ArenaShape& shape);

/// One rank's part of one round, on the host's monotonic clock.
struct Sample {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
};
static_assert(sizeof(Sample) == 16);

struct ArenaHeader {
  std::uint64_t magic = 0;
  std::atomic<std::uint32_t> arrived{0};     // at the barrier
  std::atomic<std::uint32_t> generation{0};  // of the barrier
  std::atomic<std::uint32_t> failed{0};      // a rank gave up: nobody waits any longer
  std::uint32_t reserved = 0;
  std::atomic<std::uint64_t> rows_checked{0};
  std::atomic<std::uint64_t> rows_wrong{0};
};
static_assert(sizeof(ArenaHeader) == 40 && std::atomic<std::uint64_t>::is_always_lock_free);

class Arena {
 public:
  /// The file, and a mapping without windows touched. Errors: kIo, kNoMemory.
  static Result<Arena> make(const ArenaShape& shape);
  /// What make() made, by its path(). Errors: kIo (not there, another size).
  static Result<Arena> open(const std::string& path, const ArenaShape& shape);
  Arena(Arena&& other) noexcept;
  Arena& operator=(Arena&& other) noexcept;
  ~Arena();

  /// Valid while the maker lives: "/proc/PID/fd/N".
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const ArenaShape& shape() const { return shape_; }
  [[nodiscard]] ArenaHeader& header() const;
  [[nodiscard]] Sample& sample(int contender, int round, int rank) const;
  [[nodiscard]] std::byte* window(int rank) const;
  /// Backs one rank's window with memory (of the caller's node) and maps all windows here.
  void touch_own_window(int rank) const;
  void touch_all_windows() const;

  /// One text for whoever reads the arena later; written once, by one rank. Too long: cut.
  void write_note(std::string_view text) const;
  [[nodiscard]] std::string note() const;

  /// Returns when all ranks are here. kTimeout after `deadline`, kPeerRefused when one failed.
  Status barrier(Deadline deadline) const;
  /// Lets everybody out of the barrier.
  void fail() const {
    header().failed.store(1, std::memory_order_release);
  }  // Pairs with barrier().

 private:
  Arena() = default;
  static Result<Arena> map(int descriptor, std::string path, const ArenaShape& shape);

  std::string path_;
  ArenaShape shape_;
  std::byte* base_ = nullptr;
  std::uint64_t byte_count_ = 0;
  int descriptor_ = -1;
};

}  // namespace crossdock::bench
