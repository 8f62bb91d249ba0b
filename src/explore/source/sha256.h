// SPDX-License-Identifier: Apache-2.0
// Thread rule: pure function.
#pragma once

#include <string>
#include <string_view>

namespace crossdock::explore {

/// 64 hexadecimal digits.
[[nodiscard]] std::string sha256_hex(std::string_view bytes);

}  // namespace crossdock::explore
