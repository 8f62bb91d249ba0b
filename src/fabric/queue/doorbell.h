// SPDX-License-Identifier: Apache-2.0
// Whoever carries out the requests of a send ring: a copy engine, a network library, a simulator.
#pragma once

#include <cstdint>

namespace crossdock::fabric {

class DoorbellTarget {
 public:
  virtual ~DoorbellTarget() = default;
  /// The requests at [begin, end) are whole, and so is the memory that they name. Ranges follow
  /// each other without gap or overlap and are never empty; one call at a time. The target reads
  /// the requests in order and tells the ring by complete() when their slots may be reused. It may
  /// do both before it returns.
  virtual void submit(std::uint64_t begin, std::uint64_t end) = 0;
};

}  // namespace crossdock::fabric
