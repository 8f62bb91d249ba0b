// SPDX-License-Identifier: Apache-2.0
#include "trace/clock_domain.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <random>
#include <string>

#include "base/hash.h"

namespace crossdock::trace {
namespace {

std::uint64_t read_clock_domain() {
  std::string boot_id;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot_id;
  struct stat time_namespace{};
  // A kernel before 5.6 has no time namespaces, hence no such file, and one clock for all.
  const bool has_namespaces = ::stat("/proc/self/ns/time", &time_namespace) == 0;
  if (boot_id.empty()) {
    std::random_device random;
    return (std::uint64_t{random()} << 32) | random();
  }
  const std::uint64_t inode = has_namespaces ? time_namespace.st_ino : 0;
  return hash_combine(hash_text(boot_id), inode);
}

}  // namespace

std::uint64_t host_clock_domain() {
  static const std::uint64_t kDomain = std::max<std::uint64_t>(read_clock_domain(), 1);
  return kDomain;
}

}  // namespace crossdock::trace
