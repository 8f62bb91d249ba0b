// SPDX-License-Identifier: Apache-2.0
// Sockets with deadlines: names to addresses, listening, connecting, waiting. IPv4 and IPv6.
// Every socket made here is non-blocking and closed on exec.
#pragma once

#include <poll.h>
#include <sys/socket.h>

#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "crossdock/status.h"
#include "fabric/bootstrap/file_descriptor.h"

namespace crossdock::fabric {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t byte_count = 0;

  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  [[nodiscard]] bool is_loopback() const;
  /// "127.0.0.1:4000" or "[::1]:4000".
  [[nodiscard]] std::string to_string() const;
};

/// The addresses of `host` (a name, IPv4, or IPv6 with or without brackets), at least one. Numbers
/// never block; a name asks the system's resolver, which has its own time limit.
Result<std::vector<SocketAddress>> resolve(const std::string& host, int port);

/// Listens on the first of `addresses` that can be bound.
Result<FileDescriptor> listen_on(std::span<const SocketAddress> addresses);
/// A duplicate of a listening socket that somebody else made.
Result<FileDescriptor> adopt_listener(int fd);
[[nodiscard]] SocketAddress local_address(int fd);

/// kIo with the system's words when nobody answers before the deadline.
Result<FileDescriptor> connect_to(const SocketAddress& address, Deadline deadline);
/// The next waiting connection; an invalid descriptor when there is none.
Result<FileDescriptor> accept_from(int listener, SocketAddress* peer);

/// Waits for events, at most until the deadline (then all revents are 0). Restarts after signals.
Status poll_until(std::span<pollfd> descriptors, Deadline deadline);

/// "Connection refused" for ECONNREFUSED.
[[nodiscard]] std::string describe_errno(int error);

}  // namespace crossdock::fabric
