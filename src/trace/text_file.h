// SPDX-License-Identifier: Apache-2.0
// Writing an output file. Thread rule: any thread, one writer per path.
#pragma once

#include <string>
#include <string_view>

#include "crossdock/status.h"

namespace crossdock::trace {

/// The file holds all of `text` or is as it was: a regular file is written beside its place and
/// renamed; what is not a regular file (/dev/stdout, a pipe) is written directly. kIo with the path
/// and the system's reason.
Status write_text_file(const std::string& path, std::string_view text);

}  // namespace crossdock::trace
