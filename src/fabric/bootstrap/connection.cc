// SPDX-License-Identifier: Apache-2.0
#include "fabric/bootstrap/connection.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <utility>

#include "fabric/bootstrap/socket.h"

namespace crossdock::fabric {
namespace {

constexpr std::size_t kReceivePieceBytes = std::size_t{64} << 10;

// kError payload = status_kind:u32 culprit:u32 (all ones: none) text:byte*, cut at this length.
constexpr std::size_t kErrorHeadBytes = 8;
constexpr std::size_t kErrorTextBytesMax = 1024;

Status gone(std::string message) {
  return Status(StatusKind::kClosed, Scope::kCommunicator, std::move(message));
}

Status broken(std::string_view problem) {
  return Status(StatusKind::kInternal, Scope::kCommunicator, std::string(problem));
}

}  // namespace

void Connection::start_session(const Key& send_key, const Key& receive_key) {
  send_key_ = send_key;
  receive_key_ = receive_key;
}

void Connection::post(FrameKind kind, std::uint32_t rank, std::span<const std::byte> payload) {
  append_frame(outgoing_, {.kind = kind, .rank = rank, .sequence = send_sequence_++}, payload,
               send_key_);
}

void Connection::post_signed_with(const Key& key, FrameKind kind,
                                  std::span<const std::byte> payload) {
  append_frame(outgoing_, {.kind = kind, .rank = 0, .sequence = 0}, payload, key);
}

Status Connection::flush_some() {
  while (has_unsent()) {
    const ssize_t count = ::send(socket_.get(), outgoing_.data() + sent_, outgoing_.size() - sent_,
                                 MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0) {
      if (errno == EINTR) {
        continue;
      }
      const bool full = errno == EAGAIN || errno == EWOULDBLOCK;
      return full ? Status() : gone(describe_errno(errno));
    }
    sent_ += static_cast<std::size_t>(count);
  }
  outgoing_.clear();
  sent_ = 0;
  return {};
}

Status Connection::receive_some() {
  incoming_.erase(incoming_.begin(), incoming_.begin() + static_cast<std::ptrdiff_t>(taken_));
  taken_ = 0;
  std::array<std::byte, kReceivePieceBytes> piece;  // Not initialised: recv() fills it.
  const ssize_t count = ::recv(socket_.get(), piece.data(), piece.size(), MSG_DONTWAIT);
  if (count > 0) {
    incoming_.insert(incoming_.end(), piece.begin(), piece.begin() + count);
    return {};
  }
  if (count == 0) {
    return gone("connection closed");
  }
  const bool nothing = errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
  return nothing ? Status() : gone(describe_errno(errno));
}

ParsedFrame Connection::peek(std::size_t payload_bytes_max) const {
  return parse_frame(std::span(incoming_).subspan(taken_), payload_bytes_max);
}

Result<std::optional<Message>> Connection::take(std::size_t payload_bytes_max) {
  const ParsedFrame parsed = peek(payload_bytes_max);
  if (parsed.outcome == ParseOutcome::kIncomplete) {
    return std::optional<Message>();
  }
  if (parsed.outcome == ParseOutcome::kMalformed) {
    return broken(parsed.problem);
  }
  const FrameView& frame = parsed.frame;
  if (!verify_frame(frame, receive_key_)) {
    return broken("a frame whose signature is wrong");
  }
  if (frame.head.sequence != receive_sequence_) {
    return broken("a frame out of sequence");
  }
  ++receive_sequence_;
  std::optional message(Message{.kind = frame.head.kind,
                                .rank = frame.head.rank,
                                .payload = {frame.payload.begin(), frame.payload.end()}});
  drop(frame.byte_count());
  return message;
}

std::vector<std::byte> encode_error(const Status& status) {
  std::vector<std::byte> payload;
  append_u32(payload, static_cast<std::uint32_t>(status.kind()));
  append_u32(payload, static_cast<std::uint32_t>(status.culprit()));
  const auto text = std::as_bytes(std::span(status.message().substr(0, kErrorTextBytesMax)));
  payload.insert(payload.end(), text.begin(), text.end());
  return payload;
}

Status decode_error(std::span<const std::byte> payload) {
  const auto kind = payload.size() >= kErrorHeadBytes ? read_u32(payload.first<4>()) : 0;
  if (kind == 0 || kind > static_cast<std::uint32_t>(StatusKind::kInternal)) {
    return broken("bootstrap: another rank failed and its reason is unreadable");
  }
  const auto culprit = static_cast<int>(read_u32(payload.subspan<4, 4>()));
  std::string text;
  for (const std::byte byte : payload.subspan(kErrorHeadBytes)) {
    const auto code = std::to_integer<unsigned char>(byte);
    text += code < 0x20 || code == 0x7f ? '?' : static_cast<char>(code);
  }
  return Status(static_cast<StatusKind>(kind), Scope::kCommunicator, std::move(text),
                std::max(culprit, -1));
}

}  // namespace crossdock::fabric
