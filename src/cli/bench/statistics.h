// SPDX-License-Identifier: Apache-2.0
// Order statistics of a few measured times.
// Thread rule: pure functions.
#pragma once

#include <vector>

namespace crossdock::bench {

/// The value below which `fraction` of the values lie, nearest rank; 0 without values.
[[nodiscard]] double quantile(std::vector<double> values, double fraction);

/// Mean of the two middle ones for an even count; 0 without values.
[[nodiscard]] double median(std::vector<double> values);

}  // namespace crossdock::bench
