// SPDX-License-Identifier: Apache-2.0
// What every fabric must do, whatever moves its bytes. A backend is done when it passes: it calls
// run_conformance() with a function that runs one function on every rank of a fresh fabric.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "fabric/fabric.h"

namespace crossdock::fabric::testing {

/// Runs `on_rank` on every rank (threads or processes) and returns when all are through.
/// Expectations that fail there must fail the test.
using Team = std::function<void(int rank_count, const std::function<void(Fabric&)>& on_rank)>;

struct ConformanceCase {
  std::string name;  // a sentence
  std::function<void(const Team&)> run;
};
/// The suite; each case makes teams of its own.
std::vector<ConformanceCase> conformance_cases();

}  // namespace crossdock::fabric::testing
