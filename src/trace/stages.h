// SPDX-License-Identifier: Apache-2.0
// The stages of a round, with ids that never change: traces, benches, reports and the explorer all
// name time by them. A plane says what kind of work it is: moving payload (data), deciding where it
// goes (control), or finding out that somebody is done (sync).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace crossdock::trace {

enum class Plane : std::uint8_t { kData, kControl, kSync };

struct Stage {
  std::uint16_t id;
  std::string_view name;
  Plane plane;
  std::string_view what;  // for people, one clause
};

inline constexpr Stage kValidate{1, "validate", Plane::kControl,
                                 "check ids and sizes, count routes"};
inline constexpr Stage kAnnounce{2, "announce", Plane::kControl, "publish this rank's counts"};
inline constexpr Stage kReconcile{3, "reconcile", Plane::kSync,
                                  "wait for the counts or flags of all"};
inline constexpr Stage kLocate{4, "locate", Plane::kControl, "prefix sums: where each row goes"};
inline constexpr Stage kPack{5, "pack", Plane::kData, "gather rows into send order"};
inline constexpr Stage kPost{6, "post", Plane::kData, "write rows into the peers' windows"};
inline constexpr Stage kDoorbell{7, "doorbell", Plane::kSync, "close the round: fence and tails"};
inline constexpr Stage kArrive{8, "arrive", Plane::kSync,
                               "wait until every source's rows are proven"};
inline constexpr Stage kReorder{9, "reorder", Plane::kData,
                                "move landed rows to their final place"};
inline constexpr Stage kPad{10, "pad", Plane::kData, "zero the alignment gaps"};
inline constexpr Stage kStageOutput{11, "stage", Plane::kData,
                                    "copy expert output into the window"};
inline constexpr Stage kReady{12, "ready", Plane::kSync, "say and wait: expert rows may be read"};
inline constexpr Stage kReduce{13, "reduce", Plane::kData,
                               "read expert rows in place and sum them"};
inline constexpr Stage kCredit{14, "credit", Plane::kSync, "wait until readers are done"};
inline constexpr Stage kCompute{15, "compute", Plane::kData, "the caller's own work between calls"};

inline constexpr std::array kStages{kValidate,    kAnnounce, kReconcile, kLocate,  kPack,
                                    kPost,        kDoorbell, kArrive,    kReorder, kPad,
                                    kStageOutput, kReady,    kReduce,    kCredit,  kCompute};

/// One more than the largest id: tables indexed by stage id have this many entries; 0 is no stage.
inline constexpr std::size_t kStageIdEnd = 16;
inline constexpr std::size_t kPlaneCount = 3;

/// Null for an id that this version does not know.
[[nodiscard]] constexpr const Stage* find_stage(std::uint16_t id) {
  for (const Stage& stage : kStages) {
    if (stage.id == id) {
      return &stage;
    }
  }
  return nullptr;
}

[[nodiscard]] constexpr std::string_view to_string(Plane plane) {
  switch (plane) {
    case Plane::kData:
      return "data";
    case Plane::kControl:
      return "control";
    case Plane::kSync:
      return "sync";
  }
  return "?";
}

}  // namespace crossdock::trace
