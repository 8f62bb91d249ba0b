// SPDX-License-Identifier: Apache-2.0
// Test-only: the properties that every schedule must have, judged through its public functions.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <vector>

#include "schedule/schedule.h"

namespace crossdock::schedule::testing {

/// Counts from targets alone, so that it also holds where the inverse is broken.
inline std::string check_fan_in(const Schedule& schedule, int step) {
  const int rank_count = schedule.rank_count();
  const int lane_count = schedule.lane_count(step);
  std::vector<int> fan_in(static_cast<std::size_t>(rank_count), 0);
  for (int lane = 0; lane < lane_count; ++lane) {
    for (int rank = 0; rank < rank_count; ++rank) {
      const int target = schedule.target(rank, step, lane);
      if (target < -1 || target >= rank_count) {
        return fmt::format("rank {}, step {}, lane {}: target {} is no rank", rank, step, lane,
                           target);
      }
      if (target >= 0 && ++fan_in[static_cast<std::size_t>(target)] > lane_count) {
        return fmt::format("step {}: more than {} ranks send to {}", step, lane_count, target);
      }
    }
  }
  return {};
}

/// One (step, lane) of the table; adds to what was `seen` ([rank][rank]). Returns what is wrong.
inline std::string check_lane(const Schedule& schedule, int step, int lane,
                              std::vector<char>& seen) {
  const int rank_count = schedule.rank_count();
  for (int rank = 0; rank < rank_count; ++rank) {
    const int target = schedule.target(rank, step, lane);
    const int source = schedule.source(rank, step, lane);
    const std::string where = fmt::format("rank {}, step {}, lane {}", rank, step, lane);
    if (source < -1 || source >= rank_count) {
      return fmt::format("{}: source {} is no rank", where, source);
    }
    if (target == rank || source == rank) {
      return fmt::format("{}: sends to itself", where);
    }
    if (target >= 0 && schedule.source(target, step, lane) != rank) {
      return fmt::format("{}: source({}) is {}, so it is not the inverse", where, target,
                         schedule.source(target, step, lane));
    }
    if (source >= 0 && schedule.target(source, step, lane) != rank) {
      return fmt::format("{}: target({}) is {}, so it is not the inverse", where, source,
                         schedule.target(source, step, lane));
    }
    if (target < 0) {
      continue;
    }
    char& pair = seen[static_cast<std::size_t>(rank) * static_cast<std::size_t>(rank_count) +
                      static_cast<std::size_t>(target)];
    if (pair != 0) {
      return fmt::format("{}: pair {} -> {} occurs twice", where, rank, target);
    }
    pair = 1;
  }
  return {};
}

/// The first property that does not hold, as a line for people; empty when all hold.
inline std::string check_schedule(const Schedule& schedule) {
  const int rank_count = schedule.rank_count();
  const auto count = static_cast<std::size_t>(rank_count);
  std::vector<char> seen(count * count, 0);
  for (int step = 0; step < schedule.step_count(); ++step) {
    if (schedule.lane_count(step) < 1) {
      return fmt::format("step {} has {} lanes", step, schedule.lane_count(step));
    }
    if (std::string wrong = check_fan_in(schedule, step); !wrong.empty()) {
      return wrong;
    }
    for (int lane = 0; lane < schedule.lane_count(step); ++lane) {
      if (std::string wrong = check_lane(schedule, step, lane, seen); !wrong.empty()) {
        return wrong;
      }
    }
  }
  for (int source = 0; source < rank_count; ++source) {
    for (int target = 0; target < rank_count; ++target) {
      if (source != target &&
          seen[static_cast<std::size_t>(source) * count + static_cast<std::size_t>(target)] == 0) {
        return fmt::format("pair {} -> {} never occurs", source, target);
      }
    }
  }
  return {};
}

}  // namespace crossdock::schedule::testing
