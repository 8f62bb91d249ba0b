// SPDX-License-Identifier: Apache-2.0
// The one size rule that all providers share.
#pragma once

#include <cstddef>

#include "crossdock/status.h"

namespace crossdock::fabric {

/// kInvalidArgument naming the rank when a blob is larger than Bootstrap::kBlobBytesMax.
[[nodiscard]] Status check_blob_bytes(int rank, std::size_t byte_count);

}  // namespace crossdock::fabric
