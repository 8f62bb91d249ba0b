// SPDX-License-Identifier: Apache-2.0
// The two sides of the TCP provider. Rank 0 is the root; the others are leaves and talk to it only.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/settings.h"
#include "crossdock/status.h"
#include "fabric/bootstrap/bootstrap.h"
#include "fabric/bootstrap/socket.h"

namespace crossdock::fabric {

/// Options that passed validation, and the addresses that their host stands for.
struct TcpPlan {
  TcpOptions options;
  std::vector<SocketAddress> addresses;
};

/// How long a leaf waits beyond its deadline for the root to say which rank is missing, so that
/// every rank names the culprit and not only the root.
inline constexpr Duration kVerdictSlack = std::chrono::seconds(1);

Result<std::unique_ptr<Bootstrap>> make_tcp_root(TcpPlan plan, Deadline deadline);
Result<std::unique_ptr<Bootstrap>> make_tcp_leaf(TcpPlan plan, Deadline deadline);

/// tcp_options_from_environment() on a given environment; pure.
Result<TcpOptions> tcp_options_from(const Environment& environment);

/// "rank 3 of 8" or "ranks 2, 3 of 8"; at most 16 are listed.
[[nodiscard]] std::string list_ranks(std::span<const int> ranks, int size);

/// The "still waiting" lines of one wait: at most one per CROSSDOCK_STILL_WAITING.
class StillWaiting {
 public:
  StillWaiting();
  /// `deadline`, or the moment of the next line if that is sooner.
  [[nodiscard]] Deadline wake_up(Deadline deadline) const;
  /// Prints when it is time; `describe` says for whom.
  void report(const std::function<std::string()>& describe);

 private:
  Duration interval_;
  Instant started_;
  Instant next_;
};

}  // namespace crossdock::fabric
