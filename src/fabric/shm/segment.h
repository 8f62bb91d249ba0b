// SPDX-License-Identifier: Apache-2.0
// One rank's piece of shared memory: a sealed memfd and its mapping. It has no name, so nothing is
// left behind by a crash, and the size of /dev/shm does not matter. Ranks that are threads of one
// process share one mapping (no sanitizer sees a race through two mappings of the same page); the
// process-wide registry hands it to them.
// Thread rule: any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "crossdock/status.h"

namespace crossdock::fabric {

enum class PageKind : std::uint8_t { kBase, kHuge };

class Segment {
 public:
  /// Creates, sizes, seals and maps; touches nothing. kHuge fails where the pool has no room.
  static Result<std::shared_ptr<Segment>> create(std::size_t byte_count, PageKind pages);
  /// Maps a peer's descriptor (taken over) after checking its seals and size.
  static Result<std::shared_ptr<Segment>> attach(int fd, std::size_t byte_count);
  /// A segment that a rank of this process created; null when there is none.
  static std::shared_ptr<Segment> find(std::uint64_t id);

  ~Segment();
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  [[nodiscard]] std::span<std::byte> bytes() const { return bytes_; }
  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] std::uint64_t id() const { return id_; }
  [[nodiscard]] PageKind pages() const { return pages_; }
  /// Peers will take no more copies of the descriptor.
  void close_fd();

 private:
  Segment() = default;
  Status map(std::size_t byte_count);

  std::span<std::byte> bytes_;
  std::size_t mapped_bytes_ = 0;
  int fd_ = -1;
  std::uint64_t id_ = 0;
  PageKind pages_ = PageKind::kBase;
};

/// Random, drawn once per process; a forked child draws its own.
std::uint64_t process_token();

}  // namespace crossdock::fabric
