// SPDX-License-Identifier: Apache-2.0
// Wire grammar (SOCK_SEQPACKET, one packet per send):
//   hello  := nonce[16] rank:u32                      first packet of the connecting side
//   packet := magic:u32 purpose:u32 sequence:u64 total:u64 offset:u64 bytes[..kChunkBytes]
// A message of `total` bytes is sent as packets of growing offset (one empty packet when total is
// 0); the first one carries the descriptor, if any.
#include "fabric/shm/mesh.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/status_macros.h"
#include "fabric/shm/segment.h"

namespace crossdock::fabric {
namespace {

constexpr std::uint32_t kMagic = 0x58444B31;  // "XDK1"
constexpr std::size_t kChunkBytes = std::size_t{32} << 10;
constexpr std::size_t kMessageBytesMax = std::size_t{64} << 20;
constexpr std::size_t kNonceBytes = 16;

struct PacketHead {
  std::uint32_t magic;
  std::uint32_t purpose;
  std::uint64_t sequence;
  std::uint64_t total;
  std::uint64_t offset;
};
static_assert(sizeof(PacketHead) == 32);

struct Hello {
  std::array<std::byte, kNonceBytes> nonce;
  std::uint32_t rank;
};
static_assert(sizeof(Hello) == 20);

Status os_error(std::string_view what, int error) {
  return {StatusKind::kIo, Scope::kCommunicator, fmt::format("{}: {}", what, std::strerror(error))};
}

Status gone(int peer) {
  return {StatusKind::kPeerDead, Scope::kCommunicator,
          fmt::format("rank {} hung up during set-up", peer), peer};
}

int poll_ms(Deadline deadline) {
  constexpr Duration kSlice = std::chrono::milliseconds(50);
  const Duration left = deadline.remaining(monotonic_clock().now());
  return static_cast<int>(
      std::chrono::ceil<std::chrono::milliseconds>(std::min(left, kSlice)).count());
}

// True when the process at the other end runs as this user.
bool same_user(int socket, pid_t& pid) {
  ucred credentials{};
  socklen_t length = sizeof credentials;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) {
    return false;
  }
  pid = credentials.pid;
  return credentials.uid == ::geteuid();
}

}  // namespace

// What a rank tells the others about its end; exchanged through the authenticated bootstrap.
struct Mesh::Identity {
  std::array<std::byte, kNonceBytes> nonce;
  std::array<char, 40> name;  // abstract socket name, without the leading zero byte
  std::uint64_t process;      // process_token()
};

struct Mesh::Transfer {
  std::size_t sent = 0;
  bool send_done = false;
  bool receive_done = false;
  bool head_seen = false;
  std::size_t total = 0;
  MeshMessage message;
  ~Transfer() {
    if (message.fd >= 0) {
      ::close(message.fd);
    }
  }
};

Mesh::Mesh(int rank, int size) : rank_(rank), size_(size), peers_(static_cast<std::size_t>(size)) {
  peers_[static_cast<std::size_t>(rank)] = {-1, ::getpid(), true};
}

Mesh::~Mesh() { close(); }

void Mesh::close() {
  for (Peer& peer : peers_) {
    if (peer.socket >= 0) {
      ::close(peer.socket);
      peer.socket = -1;
    }
  }
}

namespace {

Result<int> listen_on(const std::array<char, 40>& name, int backlog) {
  const int listener = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listener < 0) {
    return os_error("unix socket", errno);
  }
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (::bind(listener, reinterpret_cast<const sockaddr*>(&address), length) != 0 ||
      ::listen(listener, backlog) != 0) {
    const int error = errno;
    ::close(listener);
    return os_error("listening on a unix socket", error);
  }
  return listener;
}

}  // namespace

Result<std::unique_ptr<Mesh>> Mesh::open(int rank, int size, const Gather& gather,
                                         Deadline deadline) {
  std::unique_ptr<Mesh> mesh(new Mesh(rank, size));
  Identity own{};
  std::array<std::uint64_t, 2> random_name{};
  CROSSDOCK_CHECK(::getrandom(own.nonce.data(), own.nonce.size(), 0) == kNonceBytes);
  CROSSDOCK_CHECK(::getrandom(random_name.data(), sizeof random_name, 0) == sizeof random_name);
  fmt::format_to_n(own.name.data(), own.name.size(), "xdock-{:016x}{:016x}", random_name[0],
                   random_name[1]);
  own.process = process_token();
  CROSSDOCK_ASSIGN_OR_RETURN(const int listener, listen_on(own.name, size));
  auto gathered = gather(std::as_bytes(std::span(&own, 1)));
  Status status = gathered.status();
  std::vector<Identity> identities(static_cast<std::size_t>(size));
  for (std::size_t peer = 0; status.ok() && peer < identities.size(); ++peer) {
    const auto& blob = gathered.value()[peer];
    if (blob.size() != sizeof(Identity)) {
      status = Status(StatusKind::kMismatch, Scope::kCommunicator,
                      fmt::format("rank {} speaks another version of the set-up", peer),
                      static_cast<int>(peer));
      break;
    }
    std::memcpy(&identities[peer], blob.data(), sizeof(Identity));
  }
  if (status.ok()) {
    status = mesh->connect_all(identities, listener, deadline);
  }
  ::close(listener);
  if (!status.ok()) {
    return status;
  }
  return mesh;
}

Status Mesh::connect_all(const std::vector<Identity>& identities, int listener, Deadline deadline) {
  // Lower ranks are connected to, higher ones accepted; listeners exist since the gather.
  for (int peer = 0; peer < rank_; ++peer) {
    CROSSDOCK_RETURN_IF_ERROR(connect_to(peer, identities[static_cast<std::size_t>(peer)]));
  }
  CROSSDOCK_RETURN_IF_ERROR(
      accept_rest(listener, identities[static_cast<std::size_t>(rank_)], deadline));
  for (int peer = 0; peer < size_; ++peer) {
    peers_[static_cast<std::size_t>(peer)].same_process =
        identities[static_cast<std::size_t>(peer)].process == process_token();
  }
  return {};
}

Status Mesh::connect_to(int peer, const Identity& identity) {
  Peer& end = peers_[static_cast<std::size_t>(peer)];
  end.socket = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (end.socket < 0) {
    return os_error("unix socket", errno);
  }
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, identity.name.data(), identity.name.size());
  const auto length =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + identity.name.size());
  if (::connect(end.socket, reinterpret_cast<const sockaddr*>(&address), length) != 0) {
    return {StatusKind::kPeerDead, Scope::kCommunicator,
            fmt::format("connecting to rank {}: {}", peer, std::strerror(errno)), peer};
  }
  if (!same_user(end.socket, end.pid)) {
    return {StatusKind::kIo, Scope::kCommunicator,
            fmt::format("rank {} runs as another user; allowed: the same user on one host", peer),
            peer};
  }
  const Hello hello{identity.nonce, static_cast<std::uint32_t>(rank_)};
  if (::send(end.socket, &hello, sizeof hello, MSG_NOSIGNAL) != sizeof hello) {
    return gone(peer);
  }
  return {};
}

Status Mesh::accept_rest(int listener, const Identity& own, Deadline deadline) {
  int missing_count = size_ - 1 - rank_;
  while (missing_count > 0) {
    pollfd entry{listener, POLLIN, 0};
    if (::poll(&entry, 1, poll_ms(deadline)) > 0) {
      const int socket = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
      if (socket >= 0) {
        CROSSDOCK_RETURN_IF_ERROR(admit(socket, own, deadline, missing_count));
      }
    } else if (deadline.expired(monotonic_clock().now())) {
      return {StatusKind::kTimeout, Scope::kCommunicator,
              fmt::format("{} ranks did not connect to rank {} in time", missing_count, rank_)};
    }
  }
  return {};
}

// A stranger is dropped without a word; only the nonce proves a rank.
Status Mesh::admit(int socket, const Identity& own, Deadline deadline, int& missing_count) {
  Hello hello{};
  pid_t pid = 0;
  pollfd entry{socket, POLLIN, 0};
  constexpr int kHelloMs = 1000;
  const bool readable =
      ::poll(&entry, 1, std::min(kHelloMs, poll_ms(deadline) * 20)) > 0 && same_user(socket, pid);
  if (!readable || ::recv(socket, &hello, sizeof hello, MSG_DONTWAIT) != sizeof hello ||
      hello.nonce != own.nonce || hello.rank >= static_cast<std::uint32_t>(size_) ||
      static_cast<int>(hello.rank) <= rank_ || peers_[hello.rank].socket >= 0) {
    ::close(socket);
    return {};
  }
  peers_[hello.rank].socket = socket;
  peers_[hello.rank].pid = pid;
  --missing_count;
  return {};
}

Status Mesh::send_some(int peer, Transfer& transfer, std::uint32_t purpose,
                       std::span<const std::byte> mine, int fd) {
  const Peer& end = peers_[static_cast<std::size_t>(peer)];
  while (!transfer.send_done) {
    const std::size_t size = std::min(kChunkBytes, mine.size() - transfer.sent);
    PacketHead head{kMagic, purpose, sequence_, mine.size(), transfer.sent};
    std::array<iovec, 2> parts{
        {{&head, sizeof head}, {const_cast<std::byte*>(mine.data()) + transfer.sent, size}}};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    if (fd >= 0 && transfer.sent == 0 && !end.same_process) {
      message.msg_control = control.data();
      message.msg_controllen = control.size();
      cmsghdr* part = CMSG_FIRSTHDR(&message);
      part->cmsg_level = SOL_SOCKET;
      part->cmsg_type = SCM_RIGHTS;
      part->cmsg_len = CMSG_LEN(sizeof(int));
      std::memcpy(CMSG_DATA(part), &fd, sizeof fd);
    }
    if (::sendmsg(end.socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
      if (errno == EAGAIN || errno == EINTR || errno == ETOOMANYREFS) {
        return {};
      }
      return gone(peer);
    }
    transfer.sent += size;
    transfer.send_done = transfer.sent == mine.size();
  }
  return {};
}

namespace {

void take_fd(const msghdr& message, int& fd) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(const_cast<msghdr*>(&message), part)) {
    if (part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_RIGHTS) {
      int received = -1;
      std::memcpy(&received, CMSG_DATA(part), sizeof received);
      if (fd >= 0) {
        ::close(received);
      } else {
        fd = received;
      }
    }
  }
}

}  // namespace

Status Mesh::receive_some(int peer, Transfer& transfer, std::uint32_t purpose) {
  while (!transfer.receive_done) {
    PacketHead head{};
    std::array<std::byte, kChunkBytes> chunk;
    std::array<iovec, 2> parts{{{&head, sizeof head}, {chunk.data(), chunk.size()}}};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t size = ::recvmsg(peers_[static_cast<std::size_t>(peer)].socket, &message,
                                   MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) {
      return {};
    }
    if (size < static_cast<ssize_t>(sizeof head)) {
      return gone(peer);
    }
    take_fd(message, transfer.message.fd);
    const std::size_t payload = static_cast<std::size_t>(size) - sizeof head;
    if (head.magic != kMagic || head.sequence != sequence_ || head.purpose != purpose) {
      return {
          StatusKind::kMismatch, Scope::kCommunicator,
          fmt::format("rank {} is in set-up step {}.{} and rank {} in {}.{}: all ranks must make "
                      "the same calls in the same order",
                      rank_, purpose, sequence_, peer, head.purpose, head.sequence),
          peer};
    }
    if (head.total > kMessageBytesMax || head.offset != transfer.message.bytes.size() ||
        payload > head.total - head.offset ||
        (transfer.head_seen && head.total != transfer.total)) {
      return {StatusKind::kInternal, Scope::kCommunicator,
              fmt::format("rank {} sent a malformed set-up packet", peer), peer};
    }
    transfer.head_seen = true;
    transfer.total = head.total;
    transfer.message.bytes.insert(transfer.message.bytes.end(), chunk.begin(),
                                  chunk.begin() + static_cast<std::ptrdiff_t>(payload));
    transfer.receive_done = transfer.message.bytes.size() == head.total;
  }
  return {};
}

Status Mesh::progress(int peer, Transfer& transfer, std::uint32_t purpose,
                      std::span<const std::byte> mine, int fd) {
  // Receiving first: a peer that sent all its messages may be gone already, rightly.
  CROSSDOCK_RETURN_IF_ERROR(receive_some(peer, transfer, purpose));
  return send_some(peer, transfer, purpose, mine, fd);
}

Result<std::vector<MeshMessage>> Mesh::exchange(std::uint32_t purpose,
                                                std::span<const std::byte> mine, int fd,
                                                Deadline deadline) {
  if (mine.size() > kMessageBytesMax) {
    return Status(
        StatusKind::kInvalidArgument, Scope::kOperation,
        fmt::format("a blob of {} bytes; allowed: at most {}", mine.size(), kMessageBytesMax));
  }
  ++sequence_;
  std::vector<Transfer> transfers(peers_.size());
  const Instant begin = monotonic_clock().now();
  while (true) {
    std::vector<pollfd> entries;
    int missing = -1;
    for (int peer = 0; peer < size_; ++peer) {
      Transfer& transfer = transfers[static_cast<std::size_t>(peer)];
      if (peer == rank_ || (transfer.send_done && transfer.receive_done)) {
        continue;
      }
      const int socket = peers_[static_cast<std::size_t>(peer)].socket;
      if (socket < 0) {
        return Status(StatusKind::kClosed, Scope::kCommunicator, "used after close");
      }
      CROSSDOCK_RETURN_IF_ERROR(progress(peer, transfer, purpose, mine, fd));
      if (!transfer.send_done || !transfer.receive_done) {
        const auto events = static_cast<short>((transfer.receive_done ? 0 : POLLIN) |
                                               (transfer.send_done ? 0 : POLLOUT));
        entries.push_back({socket, events, 0});
        missing = peer;
      }
    }
    if (entries.empty()) {
      break;
    }
    ::poll(entries.data(), entries.size(), poll_ms(deadline));
    if (watch_) {
      CROSSDOCK_RETURN_IF_ERROR(watch_());
    }
    if (const Instant now = monotonic_clock().now(); deadline.expired(now)) {
      return Status::stuck_wait({rank_, missing, "set-up exchange", sequence_, 1, 0, now - begin});
    }
  }
  std::vector<MeshMessage> messages(peers_.size());
  for (std::size_t peer = 0; peer < messages.size(); ++peer) {
    messages[peer] = std::exchange(transfers[peer].message, MeshMessage{});
  }
  messages[static_cast<std::size_t>(rank_)].bytes.assign(mine.begin(), mine.end());
  return messages;
}

}  // namespace crossdock::fabric
