// SPDX-License-Identifier: Apache-2.0
// Comparing what must be equal on all ranks: pure, over the blobs of one all-gather.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "crossdock/status.h"

namespace crossdock::fabric {

using NamedValues = std::vector<std::pair<std::string, std::string>>;

/// Bytes for one all-gather; read back by compare_agreement.
std::vector<std::byte> encode_agreement(const NamedValues& values);
/// kMismatch (scope communicator, culprit = the rank that differs from the majority, or the higher
/// rank of two) naming the value, two ranks and both values; the same on every rank.
Status compare_agreement(const std::vector<std::vector<std::byte>>& blobs);

}  // namespace crossdock::fabric
