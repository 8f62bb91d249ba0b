// SPDX-License-Identifier: Apache-2.0
#include "schedule/schedule.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <memory>
#include <span>
#include <string_view>

#include "base/check.h"
#include "crossdock/status.h"

namespace crossdock::schedule {
namespace {

constexpr std::array<std::string_view, 2> kNames = {"direct", "rotation"};

/// Schedules in which every rank sends to the rank a fixed distance ahead. Target and source read
/// the same distance, so one is the inverse of the other by construction.
class ShiftSchedule : public Schedule {
 public:
  explicit ShiftSchedule(int rank_count) : rank_count_(rank_count) {}
  [[nodiscard]] int rank_count() const final { return rank_count_; }
  [[nodiscard]] int target(int rank, int step, int lane) const final {
    return wrap(rank - rank_count_ + distance_at(rank, step, lane));
  }
  [[nodiscard]] int source(int rank, int step, int lane) const final {
    return wrap(rank - distance_at(rank, step, lane));
  }

 protected:
  /// 1 .. rank_count - 1.
  [[nodiscard]] virtual int distance(int step, int lane) const = 0;

 private:
  [[nodiscard]] int distance_at(int rank, int step, int lane) const {
    CROSSDOCK_CHECK(rank >= 0 && rank < rank_count_, "rank {} of {}", rank, rank_count_);
    CROSSDOCK_CHECK(step >= 0 && step < step_count(), "step {} of {}", step, step_count());
    CROSSDOCK_CHECK(lane >= 0 && lane < lane_count(step), "lane {} of {}", lane, lane_count(step));
    return distance(step, lane);
  }
  // For -rank_count .. rank_count - 1. Sums are formed below zero so that no rank count overflows.
  [[nodiscard]] int wrap(int rank) const { return rank < 0 ? rank + rank_count_ : rank; }

  int rank_count_;
};

class Direct final : public ShiftSchedule {
 public:
  using ShiftSchedule::ShiftSchedule;
  [[nodiscard]] std::string_view name() const override { return kNames[0]; }
  [[nodiscard]] int step_count() const override { return rank_count() > 1 ? 1 : 0; }
  [[nodiscard]] int lane_count(int /*step*/) const override { return rank_count() - 1; }

 protected:
  [[nodiscard]] int distance(int /*step*/, int lane) const override { return 1 + lane; }
};

class Rotation final : public ShiftSchedule {
 public:
  using ShiftSchedule::ShiftSchedule;
  [[nodiscard]] std::string_view name() const override { return kNames[1]; }
  [[nodiscard]] int step_count() const override { return rank_count() - 1; }
  [[nodiscard]] int lane_count(int /*step*/) const override { return 1; }

 protected:
  [[nodiscard]] int distance(int step, int /*lane*/) const override { return 1 + step; }
};

}  // namespace

Result<std::unique_ptr<Schedule>> make_schedule(std::string_view name, int rank_count) {
  if (rank_count < 1) {
    return Status(
        StatusKind::kInvalidArgument, Scope::kOperation,
        fmt::format("schedule '{}' cannot serve {} ranks; allowed: 1 or more", name, rank_count));
  }
  if (name == kNames[0]) {
    return std::unique_ptr<Schedule>(std::make_unique<Direct>(rank_count));
  }
  if (name == kNames[1]) {
    return std::unique_ptr<Schedule>(std::make_unique<Rotation>(rank_count));
  }
  return Status(StatusKind::kInvalidArgument, Scope::kOperation,
                fmt::format("unknown schedule '{}'; allowed: {}", name, fmt::join(kNames, ", ")));
}

std::span<const std::string_view> schedule_names() { return kNames; }

}  // namespace crossdock::schedule
