// SPDX-License-Identifier: Apache-2.0
#include "cli/provenance.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <string>

#include "cli/host.h"
#include "crossdock/version.h"

namespace crossdock::cli {

report::Provenance make_provenance(const std::string& command) {
  const HostInfo host = read_host();
  return {.command = command,
          .host = host.processor,
          .core_count = host.processor_count,
          .date = fmt::format("{:%Y-%m-%d %H:%M} UTC", fmt::gmtime(std::time(nullptr))),
          .version = version()};
}

}  // namespace crossdock::cli
