// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

// Inlined, so that the installed library needs no other.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace crossdock {

std::uint64_t hash_bytes(std::span<const std::byte> bytes, std::uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

std::uint64_t hash_text(std::string_view text, std::uint64_t seed) {
  return hash_bytes(std::as_bytes(std::span(text)), seed);
}

std::uint64_t hash_combine(std::uint64_t so_far, std::uint64_t next) {
  // Byte by byte, so that big-endian machines agree.
  std::array<std::byte, sizeof(next)> bytes;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::byte>(next >> (8 * i));
  }
  return hash_bytes(bytes, so_far);
}

}  // namespace crossdock
