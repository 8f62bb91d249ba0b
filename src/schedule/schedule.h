// SPDX-License-Identifier: Apache-2.0
// Who sends to whom in which step: pure functions with their inverse from the same table, declared
// over a domain and refused outside it. A schedule orders sends; it says nothing about completion
// or flow control. Peers of one step are served at the same time (a *group*). Self pairs are local
// and never appear. Thread rule: immutable after it was made.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "crossdock/status.h"
#include "crossdock/types.h"

namespace crossdock::schedule {

class Schedule {
 public:
  virtual ~Schedule() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual int rank_count() const = 0;
  [[nodiscard]] virtual int step_count() const = 0;
  /// Lanes of a step: how many peers a rank may serve at the same time.
  [[nodiscard]] virtual int lane_count(int step) const = 0;
  /// The rank that `rank` sends to in (step, lane), or -1 when that lane is idle.
  [[nodiscard]] virtual int target(int rank, int step, int lane) const = 0;
  /// The rank that sends to `rank` in (step, lane): the inverse of target, -1 when idle.
  [[nodiscard]] virtual int source(int rank, int step, int lane) const = 0;
};

/// "direct" (one step, lane l serves rank + 1 + l) | "rotation" (R-1 steps, step s serves
/// rank + 1 + s). Unknown names and sizes outside the domain are refused, naming what is allowed.
Result<std::unique_ptr<Schedule>> make_schedule(std::string_view name, int rank_count);
std::span<const std::string_view> schedule_names();

}  // namespace crossdock::schedule
