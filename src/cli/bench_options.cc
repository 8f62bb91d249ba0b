// SPDX-License-Identifier: Apache-2.0
#include "cli/bench_options.h"

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "crossdock/types.h"

namespace crossdock::cli {

std::string_view to_string(BenchOperation operation) {
  switch (operation) {
    case BenchOperation::kDispatch:
      return "dispatch";
    case BenchOperation::kCombine:
      return "combine";
    case BenchOperation::kRoundtrip:
      return "roundtrip";
  }
  return "?";
}

int automatic_iterations(const bench::Shape& shape) {
  const std::int64_t byte_count =
      shape.ranks * shape.routes_per_rank() * static_cast<std::int64_t>(shape.row_bytes());
  if (byte_count > (std::int64_t{64} << 20)) {
    return 7;  // Making and checking the rows takes far longer than moving them.
  }
  return byte_count > (std::int64_t{8} << 20) ? 20 : 200;
}

std::vector<std::string> rank_arguments(const BenchOptions& options) {
  const bench::Shape& shape = options.shape;
  const auto number = [](auto value) { return fmt::format("{}", value); };
  return {"bench",        std::string(to_string(options.operation)),
          "--ranks",      number(shape.ranks),
          "--tokens",     number(shape.tokens),
          "--hidden",     number(shape.hidden),
          "--experts",    number(shape.experts),
          "--topk",       number(shape.topk),
          "--dtype",      std::string(to_string(shape.element)),
          "--seed",       number(shape.seed),
          "--routing",    shape.routing.text,
          "--layout",     std::string(to_string(options.layout)),
          "--mode",       std::string(to_string(options.mode)),
          "--protocol",   options.protocol,
          "--schedule",   options.schedule,
          "--iterations", number(options.rounds.timed),
          "--warmup",     number(options.rounds.warmup)};
}

}  // namespace crossdock::cli
