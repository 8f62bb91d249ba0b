// SPDX-License-Identifier: Apache-2.0
#include "fabric/bootstrap/socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <system_error>

#include "base/status_macros.h"

namespace crossdock::fabric {
namespace {

constexpr int kBacklog =
    1024;  // All ranks may knock at once; the kernel lowers it to its own limit.

Status io_error(std::string message) {
  return Status(StatusKind::kIo, Scope::kCommunicator, std::move(message));
}

std::string without_brackets(const std::string& host) {
  const bool bracketed = host.size() >= 2 && host.front() == '[' && host.back() == ']';
  return bracketed ? host.substr(1, host.size() - 2) : host;
}

void set_option(int fd, int level, int name, int value) {
  // Only latency and restart comfort depend on these, so a refusal is no error.
  ::setsockopt(fd, level, name, &value, sizeof(value));
}

/// On one host the kernel may give a connecting socket the very port that it tries to reach, and
/// then connects it to itself.
bool is_self_connected(int fd, const SocketAddress& peer) {
  const SocketAddress local = local_address(fd);
  return local.byte_count == peer.byte_count &&
         std::memcmp(&local.storage, &peer.storage, local.byte_count) == 0;
}

}  // namespace

std::string describe_errno(int error) { return std::generic_category().message(error); }

bool SocketAddress::is_loopback() const {
  if (storage.ss_family == AF_INET) {
    const auto* address = reinterpret_cast<const sockaddr_in*>(&storage);
    return (ntohl(address->sin_addr.s_addr) >> 24) == 127;
  }
  if (storage.ss_family == AF_INET6) {
    const auto* address = &reinterpret_cast<const sockaddr_in6*>(&storage)->sin6_addr;
    return IN6_IS_ADDR_LOOPBACK(address) ||
           (IN6_IS_ADDR_V4MAPPED(address) && address->s6_addr[12] == 127);
  }
  return false;
}

std::string SocketAddress::to_string() const {
  char host[NI_MAXHOST] = "";
  char service[NI_MAXSERV] = "";
  if (::getnameinfo(get(), byte_count, host, sizeof(host), service, sizeof(service),
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return "unknown address";
  }
  return storage.ss_family == AF_INET6 ? fmt::format("[{}]:{}", host, service)
                                       : fmt::format("{}:{}", host, service);
}

Result<std::vector<SocketAddress>> resolve(const std::string& host, int port) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error =
      ::getaddrinfo(without_brackets(host).c_str(), std::to_string(port).c_str(), &hints, &found);
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
  if (error != 0) {
    return io_error(
        fmt::format("bootstrap: no address for host '{}': {}", host, ::gai_strerror(error)));
  }
  std::vector<SocketAddress> addresses;
  for (const addrinfo* entry = found; entry != nullptr; entry = entry->ai_next) {
    SocketAddress& address = addresses.emplace_back();
    std::memcpy(&address.storage, entry->ai_addr, entry->ai_addrlen);
    address.byte_count = entry->ai_addrlen;
  }
  return addresses;
}

Result<FileDescriptor> listen_on(std::span<const SocketAddress> addresses) {
  std::string problem = "no address";
  for (const SocketAddress& address : addresses) {
    FileDescriptor fd(
        ::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (fd.valid()) {
      set_option(fd.get(), SOL_SOCKET, SO_REUSEADDR, 1);
      if (::bind(fd.get(), address.get(), address.byte_count) == 0 &&
          ::listen(fd.get(), kBacklog) == 0) {
        return fd;
      }
    }
    problem = fmt::format("{}: {}", address.to_string(), describe_errno(errno));
  }
  return io_error(fmt::format("bootstrap: rank 0 cannot listen on {}", problem));
}

Result<FileDescriptor> adopt_listener(int fd) {
  int listening = 0;
  socklen_t byte_count = sizeof(listening);
  if (::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &byte_count) != 0 || listening == 0) {
    return Status(StatusKind::kInvalidArgument, Scope::kCommunicator,
                  fmt::format("bootstrap: descriptor {} is not a listening socket", fd));
  }
  FileDescriptor copy(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
  const int flags = copy.valid() ? ::fcntl(copy.get(), F_GETFL) : -1;
  if (flags < 0 || ::fcntl(copy.get(), F_SETFL, flags | O_NONBLOCK) != 0) {
    return io_error(fmt::format("bootstrap: cannot use the listening socket {}: {}", fd,
                                describe_errno(errno)));
  }
  ::fcntl(fd, F_SETFD,
          FD_CLOEXEC);  // It was inherited on purpose; our own children must not have it.
  return copy;
}

SocketAddress local_address(int fd) {
  SocketAddress address;
  address.byte_count = sizeof(address.storage);
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address.storage), &address.byte_count) != 0) {
    return {};
  }
  return address;
}

Result<FileDescriptor> connect_to(const SocketAddress& address, Deadline deadline) {
  const auto failed = [&](int error) {
    return io_error(fmt::format("{}: {}", address.to_string(), describe_errno(error)));
  };
  FileDescriptor fd(
      ::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) {
    return failed(errno);
  }
  set_option(fd.get(), IPPROTO_TCP, TCP_NODELAY, 1);
  if (::connect(fd.get(), address.get(), address.byte_count) != 0 && errno != EINPROGRESS &&
      errno != EINTR) {
    return failed(errno);
  }
  pollfd wanted{.fd = fd.get(), .events = POLLOUT, .revents = 0};
  CROSSDOCK_RETURN_IF_ERROR(poll_until(std::span(&wanted, 1), deadline));
  if (wanted.revents == 0) {
    return failed(ETIMEDOUT);
  }
  int error = 0;
  socklen_t byte_count = sizeof(error);
  ::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &byte_count);
  if (error == 0 && is_self_connected(fd.get(), address)) {
    return failed(ECONNREFUSED);
  }
  return error == 0 ? Result<FileDescriptor>(std::move(fd)) : failed(error);
}

Result<FileDescriptor> accept_from(int listener, SocketAddress* peer) {
  peer->byte_count = sizeof(peer->storage);
  FileDescriptor fd(::accept4(listener, reinterpret_cast<sockaddr*>(&peer->storage),
                              &peer->byte_count, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (fd.valid()) {
    set_option(fd.get(), IPPROTO_TCP, TCP_NODELAY, 1);
    return fd;
  }
  // What can only be this process's own trouble; the rest is one connection's bad luck.
  const bool fatal = errno == EBADF || errno == EINVAL || errno == ENOTSOCK || errno == EMFILE ||
                     errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
  return fatal ? Result<FileDescriptor>(io_error(fmt::format(
                     "bootstrap: rank 0 cannot accept connections: {}", describe_errno(errno))))
               : Result<FileDescriptor>(FileDescriptor());
}

Status poll_until(std::span<pollfd> descriptors, Deadline deadline) {
  constexpr auto kLongest = std::chrono::milliseconds(60'000);  // Keeps the int far from overflow.
  for (;;) {
    const Duration left = deadline.remaining(monotonic_clock().now());
    // Rounded up: a poll of 0 ms just before the deadline would spin.
    const auto timeout =
        std::chrono::ceil<std::chrono::milliseconds>(std::min<Duration>(left, kLongest));
    const int ready =
        ::poll(descriptors.data(), descriptors.size(), static_cast<int>(timeout.count()));
    if (ready > 0 || (ready == 0 && deadline.expired(monotonic_clock().now()))) {
      return {};
    }
    if (ready < 0 && errno != EINTR) {
      return io_error(fmt::format("bootstrap: poll: {}", describe_errno(errno)));
    }
  }
}

}  // namespace crossdock::fabric
