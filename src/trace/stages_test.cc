// SPDX-License-Identifier: Apache-2.0
#include "trace/stages.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <set>
#include <string_view>

namespace crossdock::trace {
namespace {

struct Pinned {
  std::uint16_t id;
  std::string_view name;
  Plane plane;
};

// Traces on disk, published tables and the explorer name stages by these: append, never change.
constexpr std::array kPinned{
    Pinned{1, "validate", Plane::kControl}, Pinned{2, "announce", Plane::kControl},
    Pinned{3, "reconcile", Plane::kSync},   Pinned{4, "locate", Plane::kControl},
    Pinned{5, "pack", Plane::kData},        Pinned{6, "post", Plane::kData},
    Pinned{7, "doorbell", Plane::kSync},    Pinned{8, "arrive", Plane::kSync},
    Pinned{9, "reorder", Plane::kData},     Pinned{10, "pad", Plane::kData},
    Pinned{11, "stage", Plane::kData},      Pinned{12, "ready", Plane::kSync},
    Pinned{13, "reduce", Plane::kData},     Pinned{14, "credit", Plane::kSync},
    Pinned{15, "compute", Plane::kData},
};

TEST(Stages, IdsNamesAndPlanesNeverChange) {
  ASSERT_EQ(kStages.size(), kPinned.size());
  for (const Pinned& pinned : kPinned) {
    const Stage* stage = find_stage(pinned.id);
    ASSERT_NE(stage, nullptr) << pinned.id;
    EXPECT_EQ(stage->name, pinned.name);
    EXPECT_EQ(stage->plane, pinned.plane) << pinned.name;
  }
}

TEST(Stages, EveryStageHasItsOwnNameAndAnExplanation) {
  std::set<std::string_view> names;
  for (const Stage& stage : kStages) {
    EXPECT_TRUE(names.insert(stage.name).second) << stage.name;
    EXPECT_FALSE(stage.what.empty()) << stage.name;
  }
}

TEST(Stages, TablesByStageIdHaveRoomForEveryId) {
  for (const Stage& stage : kStages) {
    EXPECT_LT(stage.id, kStageIdEnd) << stage.name;
  }
  EXPECT_EQ(find_stage(0), nullptr);
  EXPECT_EQ(find_stage(kStageIdEnd), nullptr);
}

TEST(Stages, PlanesHaveNames) {
  EXPECT_EQ(to_string(Plane::kData), "data");
  EXPECT_EQ(to_string(Plane::kControl), "control");
  EXPECT_EQ(to_string(Plane::kSync), "sync");
}

}  // namespace
}  // namespace crossdock::trace
