// SPDX-License-Identifier: Apache-2.0
// What travels between ranks while they find each other: pure functions over bytes, no sockets.
//
//   frame   = header payload tag
//   header  = magic:u32 version:u16 kind:u16 rank:u32 payload_bytes:u32 sequence:u64   little
//   endian payload = byte{payload_bytes} tag     = byte{32}                 HMAC-SHA-512-256 over
//   header and payload
//
// A challenge is signed with the job key; every later frame with a session key made from the job
// secret and a nonce of each side, one key per direction, sequence counting from 0. So a recorded
// frame is worth nothing: not on another connection, not later on the same one, not sent back.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace crossdock::fabric {

enum class FrameKind : std::uint16_t {
  kChallenge = 1,  // root -> leaf: the root's nonce
  kJoin = 2,       // leaf -> root: the leaf's nonce, rank, size, process id
  kAccepted = 3,   // root -> leaf: this rank is in; from here on a lost connection is an error
  kStart = 4,      // root -> leaf: every rank is in
  kBlob = 5,       // both ways: one rank's part of an all-gather
  kError = 6,      // both ways: why the job cannot go on
};

inline constexpr std::uint32_t kFrameMagic = 0x4b444358;  // "XCDK"
inline constexpr std::uint16_t kFrameVersion = 1;
inline constexpr std::size_t kFrameHeaderBytes = 24;
inline constexpr std::size_t kFrameTagBytes = 32;

using Key = std::array<unsigned char, 32>;
using Nonce = std::array<std::byte, 32>;

struct SessionKeys {
  Key to_root;
  Key to_leaf;
};

struct FrameHead {
  FrameKind kind = FrameKind::kError;
  std::uint32_t rank = 0;
  std::uint64_t sequence = 0;
};

/// A frame inside somebody's buffer; nothing about it is proven until verify_frame().
struct FrameView {
  FrameHead head;
  std::span<const std::byte> payload;
  std::span<const std::byte> signed_bytes;
  std::span<const std::byte> tag;
  [[nodiscard]] std::size_t byte_count() const { return signed_bytes.size() + tag.size(); }
};

enum class ParseOutcome : std::uint8_t { kComplete, kIncomplete, kMalformed };
struct ParsedFrame {
  ParseOutcome outcome = ParseOutcome::kIncomplete;
  FrameView frame;             // when complete
  std::string_view problem{};  // when malformed
};

/// The frame at the start of `bytes`. Malformed as soon as the bytes seen cannot become a frame of
/// this version with a payload of at most `payload_bytes_max`.
[[nodiscard]] ParsedFrame parse_frame(std::span<const std::byte> bytes,
                                      std::size_t payload_bytes_max);

/// Appends the signed frame to `out`.
void append_frame(std::vector<std::byte>& out, const FrameHead& head,
                  std::span<const std::byte> payload, const Key& key);

/// Whether the tag was made with `key`; takes the same time whatever the tag is.
[[nodiscard]] bool verify_frame(const FrameView& frame, const Key& key);

/// Ready for the functions below; false when the library for it cannot start. Idempotent.
[[nodiscard]] bool start_cryptography();
[[nodiscard]] Nonce make_nonce();
[[nodiscard]] Key derive_job_key(std::string_view secret);
[[nodiscard]] SessionKeys derive_session_keys(const Key& job_key, const Nonce& root_nonce,
                                              const Nonce& leaf_nonce);

/// Little-endian integers of payloads.
void append_u32(std::vector<std::byte>& out, std::uint32_t value);
[[nodiscard]] std::uint32_t read_u32(std::span<const std::byte, 4> bytes);

}  // namespace crossdock::fabric
