// SPDX-License-Identifier: Apache-2.0
#include "fabric/shm/peer_watch.h"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace crossdock::fabric {

PeerWatch::~PeerWatch() { close(); }

Status PeerWatch::open() {
  epoll_fd_ = ::epoll_create1(EPOLL_CLOEXEC);
  if (epoll_fd_ < 0) {
    return {StatusKind::kIo, Scope::kCommunicator, fmt::format("epoll: {}", std::strerror(errno))};
  }
  return {};
}

Status PeerWatch::add(int rank, pid_t pid) {
  const int fd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0U));
  if (fd < 0) {
    const int error = errno;
    if (error == ESRCH) {
      return {StatusKind::kPeerDead, Scope::kCommunicator,
              fmt::format("rank {} (pid {}) died during set-up", rank, pid), rank};
    }
    return {StatusKind::kIo, Scope::kCommunicator,
            fmt::format("watching rank {} (pid {}): {}", rank, pid, std::strerror(error))};
  }
  epoll_event event{};
  event.events = EPOLLIN | EPOLLONESHOT;
  event.data.u32 = static_cast<std::uint32_t>(rank);
  if (::epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, fd, &event) != 0) {
    const int error = errno;
    ::close(fd);
    return {StatusKind::kIo, Scope::kCommunicator,
            fmt::format("watching rank {}: {}", rank, std::strerror(error))};
  }
  pid_fds_.push_back(fd);
  return {};
}

std::vector<int> PeerWatch::wait(std::chrono::nanoseconds timeout) {
  std::array<epoll_event, 16> events{};
  const timespec limit{timeout.count() / 1'000'000'000, timeout.count() % 1'000'000'000};
  const long count = ::syscall(SYS_epoll_pwait2, epoll_fd_, events.data(),
                               static_cast<int>(events.size()), &limit, nullptr, 0UL);
  if (count < 0 && errno == ENOSYS) {  // Kernels before 5.11 know milliseconds only.
    const auto rounded = std::chrono::ceil<std::chrono::milliseconds>(timeout);
    const int seen = ::epoll_wait(epoll_fd_, events.data(), static_cast<int>(events.size()),
                                  static_cast<int>(rounded.count()));
    return seen > 0 ? std::vector<int>{static_cast<int>(events[0].data.u32)} : std::vector<int>{};
  }
  std::vector<int> dead;
  for (long index = 0; index < count; ++index) {
    dead.push_back(static_cast<int>(events[static_cast<std::size_t>(index)].data.u32));
  }
  return dead;
}

void PeerWatch::close() {
  for (const int fd : pid_fds_) {
    ::close(fd);
  }
  pid_fds_.clear();
  if (epoll_fd_ >= 0) {
    ::close(epoll_fd_);
    epoll_fd_ = -1;
  }
}

}  // namespace crossdock::fabric
