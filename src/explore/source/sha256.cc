// SPDX-License-Identifier: Apache-2.0
#include "explore/source/sha256.h"

#include <fmt/format.h>
#include <sodium.h>

#include <array>
#include <string>
#include <string_view>

namespace crossdock::explore {

std::string sha256_hex(std::string_view bytes) {
  std::array<unsigned char, crypto_hash_sha256_BYTES> digest{};
  crypto_hash_sha256(digest.data(), reinterpret_cast<const unsigned char*>(bytes.data()),
                     bytes.size());
  std::string hex;
  for (const unsigned char byte : digest) {
    hex += fmt::format("{:02x}", byte);
  }
  return hex;
}

}  // namespace crossdock::explore
