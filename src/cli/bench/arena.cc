// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/arena.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "crossdock/status.h"

namespace crossdock::bench {
namespace {

constexpr std::uint64_t kMagic = 0x6172656e61303178ULL;
constexpr std::uint64_t kHeaderBytes = 4096;
constexpr std::uint64_t kNoteAt = 1024;
constexpr std::uint64_t kHugePageBytes = std::uint64_t{2} << 20;
constexpr std::size_t kPageBytes = 4096;

struct ArenaLayout {
  std::uint64_t window_stride = 0;
  std::uint64_t windows_at = 0;
  std::uint64_t byte_count = 0;
};

ArenaLayout layout_of(const ArenaShape& shape) {
  LayoutBuilder builder;
  builder.add_bytes(kHeaderBytes, kHeaderBytes);
  builder.add<Sample>(static_cast<std::uint64_t>(shape.contenders) *
                      static_cast<std::uint64_t>(shape.rounds) *
                      static_cast<std::uint64_t>(shape.ranks));
  ArenaLayout layout;
  layout.window_stride = align_up(shape.window_bytes, kHugePageBytes);
  layout.windows_at = builder.add_bytes(
      layout.window_stride * static_cast<std::uint64_t>(shape.ranks), kHugePageBytes);
  layout.byte_count = builder.byte_count();
  return layout;
}

Status io_error(const char* what) {
  return {StatusKind::kIo, Scope::kProcess,
          fmt::format("benchmark memory: {}: {}", what, std::strerror(errno))};
}

}  // namespace

std::uint64_t arena_bytes(const ArenaShape& shape) { return layout_of(shape).byte_count; }

Result<Arena> Arena::make(const ArenaShape& shape) {
  const int descriptor = memfd_create("crossdock-bench", MFD_CLOEXEC);
  if (descriptor < 0) {
    return io_error("memfd_create");
  }
  if (ftruncate(descriptor, static_cast<off_t>(layout_of(shape).byte_count)) != 0) {
    const Status status = io_error("ftruncate");
    ::close(descriptor);
    return status;
  }
  CROSSDOCK_ASSIGN_OR_RETURN(
      Arena arena, map(descriptor, fmt::format("/proc/{}/fd/{}", getpid(), descriptor), shape));
  new (arena.base_) ArenaHeader{.magic = kMagic};
  return arena;
}

Result<Arena> Arena::open(const std::string& path, const ArenaShape& shape) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) {
    return io_error(path.c_str());
  }
  CROSSDOCK_ASSIGN_OR_RETURN(Arena arena, map(descriptor, path, shape));
  if (arena.header().magic != kMagic) {
    return Status(StatusKind::kIo, Scope::kProcess,
                  fmt::format("benchmark memory: {} is something else", path));
  }
  return arena;
}

Result<Arena> Arena::map(int descriptor, std::string path, const ArenaShape& shape) {
  Arena arena;
  arena.descriptor_ = descriptor;
  arena.path_ = std::move(path);
  arena.shape_ = shape;
  arena.byte_count_ = layout_of(shape).byte_count;
  struct stat file{};
  if (fstat(descriptor, &file) != 0 ||
      static_cast<std::uint64_t>(file.st_size) != arena.byte_count_) {
    return Status(StatusKind::kIo, Scope::kProcess,
                  fmt::format("benchmark memory: {} has {} bytes, not {}", arena.path_,
                              file.st_size, arena.byte_count_));
  }
  void* base = mmap(nullptr, arena.byte_count_, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (base == MAP_FAILED) {
    return io_error("mmap");
  }
  arena.base_ = static_cast<std::byte*>(base);
  // As the library asks for its windows. A refusal leaves small pages, for both.
  madvise(base, arena.byte_count_, MADV_HUGEPAGE);
  return arena;
}

Arena::Arena(Arena&& other) noexcept { *this = std::move(other); }

Arena& Arena::operator=(Arena&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(shape_, other.shape_);
  std::swap(base_, other.base_);
  std::swap(byte_count_, other.byte_count_);
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

Arena::~Arena() {
  if (base_ != nullptr) {
    munmap(base_, byte_count_);
  }
  if (descriptor_ >= 0) {
    ::close(descriptor_);
  }
}

ArenaHeader& Arena::header() const { return *std::launder(reinterpret_cast<ArenaHeader*>(base_)); }

Sample& Arena::sample(int contender, int round, int rank) const {
  const int index = (contender * shape_.rounds + round) * shape_.ranks + rank;
  return reinterpret_cast<Sample*>(base_ + kHeaderBytes)[index];
}

std::byte* Arena::window(int rank) const {
  const ArenaLayout layout = layout_of(shape_);
  return base_ + layout.windows_at + layout.window_stride * static_cast<std::uint64_t>(rank);
}

void Arena::touch_own_window(int rank) const { std::memset(window(rank), 0, shape_.window_bytes); }

void Arena::touch_all_windows() const {
  for (int rank = 0; rank < shape_.ranks; ++rank) {
    const volatile std::byte* page = window(rank);
    for (std::uint64_t offset = 0; offset < shape_.window_bytes; offset += kPageBytes) {
      static_cast<void>(page[offset]);
    }
  }
}

void Arena::write_note(std::string_view text) const {
  const std::size_t byte_count = std::min<std::size_t>(text.size(), kHeaderBytes - kNoteAt - 1);
  std::memcpy(base_ + kNoteAt, text.data(), byte_count);
  base_[kNoteAt + byte_count] = std::byte{0};
}

std::string Arena::note() const {
  const char* const text = reinterpret_cast<const char*>(base_ + kNoteAt);
  return {text, strnlen(text, kHeaderBytes - kNoteAt)};
}

Status Arena::barrier(Deadline deadline) const {
  ArenaHeader& shared = header();
  const std::uint32_t generation = shared.generation.load(std::memory_order_relaxed);
  // Pairs with the acquire below: what a rank wrote before the barrier is seen after it.
  const std::uint32_t before = shared.arrived.fetch_add(1, std::memory_order_acq_rel);
  if (before + 1 == static_cast<std::uint32_t>(shape_.ranks)) {
    shared.arrived.store(0, std::memory_order_relaxed);
    shared.generation.store(generation + 1, std::memory_order_release);
    return {};
  }
  // Yields at once: on a machine with fewer cores than ranks the others need this core to arrive.
  for (std::uint32_t polls = 0; shared.generation.load(std::memory_order_acquire) == generation;
       ++polls) {
    if (shared.failed.load(std::memory_order_acquire) != 0) {  // Pairs with fail().
      return {StatusKind::kPeerRefused, Scope::kProcess, "another rank of the benchmark failed"};
    }
    if (polls % 1024 == 1023 && deadline.expired(monotonic_clock().now())) {
      return {StatusKind::kTimeout, Scope::kProcess,
              "a rank did not come to the benchmark's barrier"};
    }
    sched_yield();
  }
  return {};
}

}  // namespace crossdock::bench
