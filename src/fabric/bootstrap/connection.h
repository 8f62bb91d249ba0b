// SPDX-License-Identifier: Apache-2.0
// One TCP connection that carries signed frames, with a buffer on each side so that nobody blocks.
// Errors here are kClosed (the other side is gone) or kInternal (it broke the protocol); the owner
// knows the rank and says so.
#pragma once

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "crossdock/status.h"
#include "fabric/bootstrap/bootstrap.h"
#include "fabric/bootstrap/file_descriptor.h"
#include "fabric/bootstrap/frame.h"

namespace crossdock::fabric {

/// The largest payload once both sides have proven who they are, and before that.
inline constexpr std::size_t kPayloadBytesMax = Bootstrap::kBlobBytesMax;
inline constexpr std::size_t kHandshakeBytesMax = 256;

struct Message {
  FrameKind kind = FrameKind::kError;
  std::uint32_t rank = 0;
  std::vector<std::byte> payload;
};

class Connection {
 public:
  explicit Connection(FileDescriptor socket) : socket_(std::move(socket)) {}

  /// Keys of the two directions; both sequences start at 0.
  void start_session(const Key& send_key, const Key& receive_key);

  /// Queues a frame; flush_some() sends it.
  void post(FrameKind kind, std::uint32_t rank, std::span<const std::byte> payload);
  /// Queues a frame outside the session, signed with `key`.
  void post_signed_with(const Key& key, FrameKind kind, std::span<const std::byte> payload);
  [[nodiscard]] bool has_unsent() const { return sent_ < outgoing_.size(); }

  /// Never block. receive_some() reads at most one piece; kClosed at the end of the stream.
  Status flush_some();
  Status receive_some();

  /// The next received frame before any proof; the bytes stay until take() or drop().
  [[nodiscard]] ParsedFrame peek(std::size_t payload_bytes_max) const;
  void drop(std::size_t byte_count) { taken_ += byte_count; }
  /// The next complete frame, its sequence and tag checked against the session.
  Result<std::optional<Message>> take(std::size_t payload_bytes_max);

  [[nodiscard]] pollfd wanted_events() const {
    const auto events = static_cast<short>(has_unsent() ? POLLIN | POLLOUT : POLLIN);
    return {.fd = socket_.get(), .events = events, .revents = 0};
  }

 private:
  FileDescriptor socket_;
  Key send_key_{};
  Key receive_key_{};
  std::uint64_t send_sequence_ = 0;
  std::uint64_t receive_sequence_ = 0;
  std::vector<std::byte> outgoing_;
  std::size_t sent_ = 0;
  std::vector<std::byte> incoming_;
  std::size_t taken_ = 0;
};

/// Payload of kError, and back; a payload that is none becomes kInternal.
[[nodiscard]] std::vector<std::byte> encode_error(const Status& status);
[[nodiscard]] Status decode_error(std::span<const std::byte> payload);

}  // namespace crossdock::fabric
