// SPDX-License-Identifier: Apache-2.0
// What `crossdock demo` was asked to show.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/parse.h"
#include "cli/demo/moe_layer.h"
#include "cli/demo/workload.h"
#include "crossdock/types.h"

namespace crossdock::demo {

struct DemoOptions {
  int ranks = 8;
  int rounds = 3;
  std::optional<RecordedOptions> recorded;  // else a text
  TextOptions text;
  RowLayout layout = RowLayout::kExpanded;
  Mode mode = Mode::kAuto;
  std::string protocol = "auto";
  std::string schedule = "auto";
  std::optional<RankToken> follow;  // rank 0's first token unless another one was asked for
  bool prints_journey = false;
  std::string out;  // .npy of the combined tokens of the last round, or empty
  std::string report = "./crossdock-report.html";
  std::string json;
  std::string command;  // the line that makes this again, for the report
};

Result<std::unique_ptr<Workload>> make_workload(const DemoOptions& options);

}  // namespace crossdock::demo
