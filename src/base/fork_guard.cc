// SPDX-License-Identifier: Apache-2.0
#include "base/fork_guard.h"

#include <fmt/format.h>
#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <string_view>

#include "crossdock/status.h"

namespace crossdock {
namespace {

/// How many forks lie between this process and the first guard's.
std::atomic<std::uint64_t>& generation() {
  static std::atomic<std::uint64_t> forks{0};
  [[maybe_unused]] static const int registered =
      ::pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
  return forks;
}

}  // namespace

ForkGuard::ForkGuard() : generation_(generation().load(std::memory_order_relaxed)) {}

bool ForkGuard::is_child() const {
  return generation().load(std::memory_order_relaxed) != generation_;
}

Status ForkGuard::check(std::string_view what) const {
  if (!is_child()) {
    return {};
  }
  return {StatusKind::kUnsupported, Scope::kProcess,
          fmt::format("{}: used after fork; the child must make its own", what)};
}

}  // namespace crossdock
