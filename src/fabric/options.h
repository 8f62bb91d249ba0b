// SPDX-License-Identifier: Apache-2.0
// What every fabric is opened with.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "base/settings.h"
#include "crossdock/types.h"

namespace crossdock::fabric {

struct FabricOptions {
  Duration timeout = std::chrono::seconds(100);      // of every wait
  Duration still_waiting = std::chrono::seconds(5);  // between progress lines; zero: none
  int spin_count = -1;                               // -1: by ranks per core
  HugePages huge_pages = HugePages::kAuto;
  Way way = Way::kAuto;
  std::int64_t queue_depth = 1024;  // queued way: requests of one queue, 2 .. 65536
};

}  // namespace crossdock::fabric
