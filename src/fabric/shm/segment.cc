// SPDX-License-Identifier: Apache-2.0
#include "fabric/shm/segment.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "base/bytes.h"
#include "base/check.h"
#include "base/status_macros.h"

namespace crossdock::fabric {
namespace {

constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

struct Registry {
  std::mutex mutex;
  std::map<std::uint64_t, std::weak_ptr<Segment>> segments;
  std::uint64_t next_id = 1;
};

Registry& registry() {
  static Registry instance;
  return instance;
}

Status os_error(std::string_view what, int error) {
  return {StatusKind::kIo, Scope::kCommunicator, fmt::format("{}: {}", what, std::strerror(error))};
}

std::size_t page_bytes(PageKind pages) {
  return pages == PageKind::kHuge ? kHugePageBytes
                                  : static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

// Shared memory's policy belongs to the file, so it holds for whichever rank touches a page first:
// rows are written by their senders, but must lie near their reader, the rank that creates them.
void prefer_own_numa_node(std::span<std::byte> bytes) {
  unsigned cpu = 0;
  unsigned node = 0;
  if (::access("/sys/devices/system/node/node1", F_OK) != 0 ||
      ::syscall(SYS_getcpu, &cpu, &node, nullptr) != 0 || node >= 64) {
    return;
  }
  constexpr int kPreferred = 1;  // MPOL_PREFERRED
  const unsigned long mask = 1UL << node;
  ::syscall(SYS_mbind, bytes.data(), bytes.size(), kPreferred, &mask, 64UL, 0U);
}

}  // namespace

Result<std::shared_ptr<Segment>> Segment::create(std::size_t byte_count, PageKind pages) {
  const unsigned huge_flag = pages == PageKind::kHuge ? MFD_HUGETLB : 0U;
  const int fd = ::memfd_create("crossdock", MFD_CLOEXEC | MFD_ALLOW_SEALING | huge_flag);
  if (fd < 0) {
    return os_error("memfd_create", errno);
  }
  std::shared_ptr<Segment> segment(new Segment);
  segment->fd_ = fd;
  segment->pages_ = pages;
  const std::size_t size = align_up(byte_count, page_bytes(pages));
  if (::ftruncate(fd, static_cast<off_t>(size)) != 0) {
    return os_error(fmt::format("sizing shared memory to {}", format_bytes(size)), errno);
  }
  if (::fcntl(fd, F_ADD_SEALS, kSeals) != 0) {
    return os_error("sealing shared memory", errno);
  }
  CROSSDOCK_RETURN_IF_ERROR(segment->map(byte_count));
  prefer_own_numa_node(segment->bytes_);
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  segment->id_ = all.next_id++;
  all.segments[segment->id_] = segment;
  return segment;
}

Result<std::shared_ptr<Segment>> Segment::attach(int fd, std::size_t byte_count) {
  std::shared_ptr<Segment> segment(new Segment);
  segment->fd_ = fd;
  struct stat status{};
  // An unsealed or short file could be cut under us: the next access would be SIGBUS.
  if (::fstat(fd, &status) != 0) {
    return os_error("a peer's shared memory", errno);
  }
  const int seals = ::fcntl(fd, F_GET_SEALS);
  if (seals < 0 || (seals & kSeals) != kSeals ||
      static_cast<std::size_t>(status.st_size) < byte_count) {
    return Status(StatusKind::kMismatch, Scope::kCommunicator,
                  fmt::format("a peer's shared memory is unsealed or short: {} bytes, seals {}; "
                              "allowed: {} bytes or more, sealed against shrinking",
                              status.st_size, seals, byte_count));
  }
  CROSSDOCK_RETURN_IF_ERROR(segment->map(byte_count));
  segment->close_fd();
  return segment;
}

Status Segment::map(std::size_t byte_count) {
  struct stat status{};
  if (::fstat(fd_, &status) != 0) {
    return os_error("shared memory", errno);
  }
  mapped_bytes_ = static_cast<std::size_t>(status.st_size);
  if (mapped_bytes_ == 0) {
    return {};
  }
  void* address = ::mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  if (address == MAP_FAILED) {
    const int error = errno;
    mapped_bytes_ = 0;
    return os_error(fmt::format("mapping {} of shared memory", format_bytes(byte_count)), error);
  }
  bytes_ = {static_cast<std::byte*>(address), byte_count};
  ::madvise(address, mapped_bytes_, MADV_HUGEPAGE);  // Helps where shmem THP is "advise".
  return {};
}

std::shared_ptr<Segment> Segment::find(std::uint64_t id) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  const auto found = all.segments.find(id);
  return found == all.segments.end() ? nullptr : found->second.lock();
}

Segment::~Segment() {
  if (id_ != 0) {
    Registry& all = registry();
    const std::lock_guard lock(all.mutex);
    all.segments.erase(id_);
  }
  if (mapped_bytes_ != 0) {
    ::munmap(bytes_.data(), mapped_bytes_);
  }
  close_fd();
}

void Segment::close_fd() {
  if (fd_ >= 0) {
    ::close(fd_);
    fd_ = -1;
  }
}

std::uint64_t process_token() {
  static std::atomic<std::uint64_t> token{0};
  static std::atomic<pid_t> owner{0};
  if (owner.load() != ::getpid()) {
    std::uint64_t drawn = 0;
    CROSSDOCK_CHECK(::getrandom(&drawn, sizeof drawn, 0) == sizeof drawn);
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    if (owner.load() != ::getpid()) {
      token.store(drawn | 1);
      owner.store(::getpid());
    }
  }
  return token.load();
}

}  // namespace crossdock::fabric
