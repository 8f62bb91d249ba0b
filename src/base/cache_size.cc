// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cstddef>
#include <fstream>
#include <string>

#include "base/copy.h"
#include "base/parse.h"

namespace crossdock {
namespace {

constexpr std::size_t kAssumedBytes = std::size_t{32} << 20;

/// "32768K" of one cache level of processor 0; 0 when it is not there.
std::size_t level_bytes_from_kernel(int level) {
  std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(level) + "/size");
  std::string text;
  if (!(file >> text) || !text.ends_with('K')) {
    return 0;
  }
  text.pop_back();
  const auto kibibytes = parse_uint64(text, {1, std::uint64_t{1} << 32});
  return kibibytes.ok() ? static_cast<std::size_t>(*kibibytes * 1024) : 0;
}

std::size_t largest_cache_bytes() {
  // The kernel first: glibc computes AMD's sizes itself and differs between its versions.
  for (int index = 3; index >= 2; --index) {
    if (const std::size_t found = level_bytes_from_kernel(index); found != 0) {
      return found;
    }
  }
#if defined(_SC_LEVEL3_CACHE_SIZE)
  for (const int name : {_SC_LEVEL3_CACHE_SIZE, _SC_LEVEL2_CACHE_SIZE}) {
    if (const long found = sysconf(name); found > 0) {
      return static_cast<std::size_t>(found);
    }
  }
#endif
  return kAssumedBytes;
}

}  // namespace

std::size_t last_level_cache_bytes() {
  static const std::size_t found = largest_cache_bytes();
  return found;
}

}  // namespace crossdock
