// SPDX-License-Identifier: Apache-2.0
// Dispatch and combine as somebody writes them without this library.
// Thread rule: one thread per rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "cli/bench/verify_rows.h"

namespace crossdock::bench {

/// Where a rank's time went.
struct PartTimes {
  Duration counts{0};    // histogram, and the exchange of counts
  Duration permute{0};   // all row copies and sums
  Duration exchange{0};  // the library's call that moves rows
};

/// Adds the life of this object to a part.
class PartTimer {
 public:
  explicit PartTimer(Duration& part) : part_(part), begin_(monotonic_clock().now()) {}
  ~PartTimer() { part_ += monotonic_clock().now() - begin_; }
  PartTimer(const PartTimer&) = delete;
  PartTimer& operator=(const PartTimer&) = delete;

 private:
  Duration& part_;
  Instant begin_;
};

class PeerExchange {
 public:
  virtual ~PeerExchange() = default;
  /// routes [T, K] with -1 for unused lanes, tokens [T, H] -> rows() [N, H] by expert, source,
  /// token.
  virtual void dispatch(const std::vector<std::int32_t>& routes, const std::byte* tokens) = 0;
  /// rows() as the experts left them -> tokens [T, H].
  virtual void combine(const std::vector<std::int32_t>& routes, std::byte* tokens) = 0;
  [[nodiscard]] virtual std::byte* rows() = 0;
  /// kExact: fp32 sums in lane order, rounded once.
  [[nodiscard]] virtual Sums sums() const { return Sums::kExact; }

  [[nodiscard]] const PartTimes& times() const { return times_; }
  void reset_times() { times_ = {}; }

 protected:
  PartTimes times_;
};

}  // namespace crossdock::bench
