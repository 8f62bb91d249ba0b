// SPDX-License-Identifier: Apache-2.0
// A server of the explorer's page for this machine alone. Thread rule: serve() blocks; requests are
// answered one at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "crossdock/status.h"
#include "explore/explore.h"

namespace crossdock::cli {

/// Reads the source anew.
using Analyse = std::function<Result<std::unique_ptr<explore::Project>>()>;

/// Serves on 127.0.0.1 until the process ends; port 0 is any free one. Analyses again when a file
/// of the source changed, came or went. kIo when the port cannot be had.
Status serve(const Analyse& analyse, const std::string& page_template, std::uint16_t port);

}  // namespace crossdock::cli
