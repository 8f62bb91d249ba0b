// SPDX-License-Identifier: Apache-2.0
#include "fabric/bootstrap/frame.h"

#include <sodium.h>

#include <algorithm>

#include "base/check.h"

namespace crossdock::fabric {
namespace {

static_assert(sizeof(Key) == crypto_auth_KEYBYTES && kFrameTagBytes == crypto_auth_BYTES);
static_assert(sizeof(Key) == crypto_generichash_BYTES);

constexpr std::string_view kJobContext = "crossdock bootstrap job 1";
constexpr std::string_view kToRootContext = "crossdock bootstrap to root 1";
constexpr std::string_view kToLeafContext = "crossdock bootstrap to leaf 1";

template <typename Integer>
void append_integer(std::vector<std::byte>& out, Integer value) {
  for (std::size_t i = 0; i < sizeof(Integer); ++i) {
    out.push_back(static_cast<std::byte>((value >> (8 * i)) & 0xff));
  }
}

template <typename Integer>
Integer read_integer(std::span<const std::byte> bytes, std::size_t offset) {
  Integer value = 0;
  for (std::size_t i = 0; i < sizeof(Integer); ++i) {
    const auto shifted = std::to_integer<Integer>(bytes[offset + i]) << (8 * i);
    value = static_cast<Integer>(value | static_cast<Integer>(shifted));
  }
  return value;
}

const unsigned char* raw(std::span<const std::byte> bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

Key derive(const Key& key, std::string_view context, std::span<const std::byte> input) {
  std::vector<std::byte> message;
  const auto context_bytes = std::as_bytes(std::span(context));
  message.insert(message.end(), context_bytes.begin(), context_bytes.end());
  message.insert(message.end(), input.begin(), input.end());
  Key derived{};
  crypto_generichash(derived.data(), derived.size(), raw(message), message.size(), key.data(),
                     key.size());
  sodium_memzero(message.data(), message.size());
  return derived;
}

ParsedFrame malformed(std::string_view problem) {
  return {.outcome = ParseOutcome::kMalformed, .frame = {}, .problem = problem};
}

bool is_known(std::uint16_t kind) {
  return kind >= static_cast<std::uint16_t>(FrameKind::kChallenge) &&
         kind <= static_cast<std::uint16_t>(FrameKind::kError);
}

}  // namespace

ParsedFrame parse_frame(std::span<const std::byte> bytes, std::size_t payload_bytes_max) {
  if (bytes.size() < 4) {
    return {};
  }
  if (read_integer<std::uint32_t>(bytes, 0) != kFrameMagic) {
    return malformed("not a crossdock bootstrap frame");
  }
  if (bytes.size() < kFrameHeaderBytes) {
    return {};
  }
  if (read_integer<std::uint16_t>(bytes, 4) != kFrameVersion) {
    return malformed("another version of the bootstrap protocol");
  }
  const auto kind = read_integer<std::uint16_t>(bytes, 6);
  if (!is_known(kind)) {
    return malformed("a frame of unknown kind");
  }
  const std::size_t payload_bytes = read_integer<std::uint32_t>(bytes, 12);
  if (payload_bytes > payload_bytes_max) {
    return malformed("a frame larger than allowed here");
  }
  const std::size_t signed_byte_count = kFrameHeaderBytes + payload_bytes;
  if (bytes.size() < signed_byte_count + kFrameTagBytes) {
    return {};
  }
  return {.outcome = ParseOutcome::kComplete,
          .frame = {.head = {.kind = static_cast<FrameKind>(kind),
                             .rank = read_integer<std::uint32_t>(bytes, 8),
                             .sequence = read_integer<std::uint64_t>(bytes, 16)},
                    .payload = bytes.subspan(kFrameHeaderBytes, payload_bytes),
                    .signed_bytes = bytes.first(signed_byte_count),
                    .tag = bytes.subspan(signed_byte_count, kFrameTagBytes)}};
}

void append_frame(std::vector<std::byte>& out, const FrameHead& head,
                  std::span<const std::byte> payload, const Key& key) {
  const std::size_t start = out.size();
  append_integer(out, kFrameMagic);
  append_integer(out, kFrameVersion);
  append_integer(out, static_cast<std::uint16_t>(head.kind));
  append_integer(out, head.rank);
  append_integer(out, static_cast<std::uint32_t>(payload.size()));
  append_integer(out, head.sequence);
  CROSSDOCK_CHECK(out.size() - start == kFrameHeaderBytes);
  out.insert(out.end(), payload.begin(), payload.end());
  const auto signed_byte_count = out.size() - start;
  out.resize(out.size() + kFrameTagBytes);
  auto* frame = reinterpret_cast<unsigned char*>(out.data() + start);
  crypto_auth(frame + signed_byte_count, frame, signed_byte_count, key.data());
}

bool verify_frame(const FrameView& frame, const Key& key) {
  return crypto_auth_verify(raw(frame.tag), raw(frame.signed_bytes), frame.signed_bytes.size(),
                            key.data()) == 0;
}

bool start_cryptography() { return sodium_init() >= 0; }

Nonce make_nonce() {
  Nonce nonce{};
  randombytes_buf(nonce.data(), nonce.size());
  return nonce;
}

Key derive_job_key(std::string_view secret) {
  return derive(Key{}, kJobContext, std::as_bytes(std::span(secret)));
}

SessionKeys derive_session_keys(const Key& job_key, const Nonce& root_nonce,
                                const Nonce& leaf_nonce) {
  std::array<std::byte, 2 * sizeof(Nonce)> nonces{};
  std::copy(leaf_nonce.begin(), leaf_nonce.end(),
            std::copy(root_nonce.begin(), root_nonce.end(), nonces.begin()));
  return {.to_root = derive(job_key, kToRootContext, nonces),
          .to_leaf = derive(job_key, kToLeafContext, nonces)};
}

void append_u32(std::vector<std::byte>& out, std::uint32_t value) { append_integer(out, value); }

std::uint32_t read_u32(std::span<const std::byte, 4> bytes) {
  return read_integer<std::uint32_t>(bytes, 0);
}

}  // namespace crossdock::fabric
