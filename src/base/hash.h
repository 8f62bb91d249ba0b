// SPDX-License-Identifier: Apache-2.0
// 64-bit hashes (XXH3) for comparing what ranks must agree on and for checksums. Equal on every
// machine and in every release of xxHash; no protection against an adversary.
// Thread rule: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace crossdock {

[[nodiscard]] std::uint64_t hash_bytes(std::span<const std::byte> bytes, std::uint64_t seed = 0);
[[nodiscard]] std::uint64_t hash_text(std::string_view text, std::uint64_t seed = 0);

/// The hash of a sequence from the hash so far and the next value; the order matters.
[[nodiscard]] std::uint64_t hash_combine(std::uint64_t so_far, std::uint64_t next);

}  // namespace crossdock
