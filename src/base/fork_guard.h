// SPDX-License-Identifier: Apache-2.0
// Tells a forked child that what it inherited is its parent's: sockets, shared windows, threads.
// A look costs one load. A child made by a bare clone() is not noticed.
// Thread rule: any thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "crossdock/status.h"

namespace crossdock {

class ForkGuard {
 public:
  ForkGuard();
  /// Whether this process was forked after the guard was made.
  [[nodiscard]] bool is_child() const;
  /// kUnsupported in such a child: "WHAT: used after fork; the child must make its own".
  [[nodiscard]] Status check(std::string_view what) const;

 private:
  std::uint64_t generation_;
};

}  // namespace crossdock
