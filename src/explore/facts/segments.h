// SPDX-License-Identifier: Apache-2.0
// The body of every function, cut where its logic changes. Thread rule: one thread.
#pragma once

#include <vector>

#include "explore/facts/mechanisms.h"
#include "explore/graph/symbols.h"
#include "explore/model.h"

namespace crossdock::explore {

/// [file][...], as find_mechanisms() gives them.
using FileMechanisms = std::vector<std::vector<MechanismAt>>;

/// Fills segments of all functions; they cover the body's lines without gap or overlap.
void cut_segments(Project& project, const Symbols& symbols, const FileMechanisms& mechanisms);

/// The position in function.segments of the one with that line, or kNone.
[[nodiscard]] int segment_at(const Function& function, int line);

}  // namespace crossdock::explore
