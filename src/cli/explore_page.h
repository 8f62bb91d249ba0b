// SPDX-License-Identifier: Apache-2.0
// Files that `crossdock explore` reads and writes beside the source. Thread rule: the main thread.
#pragma once

#include <string>
#include <string_view>

#include "crossdock/status.h"

namespace crossdock::cli {

/// The page's template: beside an installed program, else in the source tree it was built from.
/// kUnsupported says what to install when there is none.
Result<std::string> read_page_template();

Result<std::string> read_whole_file(const std::string& path);

/// Whole or not at all; kIo with the path.
Status write_whole_file(const std::string& path, std::string_view content);

}  // namespace crossdock::cli
