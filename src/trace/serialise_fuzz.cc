// SPDX-License-Identifier: Apache-2.0
// Whatever the bytes: parsing ends with a trace or an error, and a trace is written back as the
// very same bytes, so that there is one encoding per trace.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/check.h"
#include "trace/serialise.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t byte_count) {
  const auto input = std::as_bytes(std::span(bytes, byte_count));
  const auto trace = crossdock::trace::parse_rank_trace(input);
  if (trace.ok()) {
    const std::vector<std::byte> again = crossdock::trace::serialise(trace.value());
    CROSSDOCK_CHECK(std::ranges::equal(again, input), "{} bytes became {}", byte_count,
                    again.size());
  }
  return 0;
}
