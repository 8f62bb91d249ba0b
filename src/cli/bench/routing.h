// SPDX-License-Identifier: Apache-2.0
// Who sends to whom in a benchmark: seeded routings of several kinds, or a recorded one, and how
// uneven they are. Nothing here calls the library: peers use it too.
// Thread rule: plain values and pure functions.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "crossdock/status.h"

namespace crossdock::bench {

struct Shape;

enum class RoutingKind : std::uint8_t {
  kUniform,   // K distinct experts, all equally likely
  kZipf,      // the i-th favourite with weight 1 / i^s; which experts are favourites: by seed
  kHot,       // uniform over `hot_experts` of them
  kOne,       // every token of every rank to the same K experts, of one rank while it has them
  kLocal,     // the sender's own experts, then those of the ranks after it
  kRecorded,  // from a file
};

struct Recording;

struct Routing {
  RoutingKind kind = RoutingKind::kUniform;
  double exponent = 0;                         // kZipf
  int hot_experts = 0;                         // kHot
  std::shared_ptr<const Recording> recording;  // kRecorded
  std::string text = "uniform";                // as it was asked for
};

/// Top-k ids of all ranks, as recorded.
struct Recording {
  std::int64_t ranks = 0;
  std::int64_t tokens = 0;  // of each rank
  std::int64_t topk = 0;
  std::vector<std::int32_t> ids;  // [R, T, K]
};

inline constexpr std::string_view kRoutingsAllowed =
    "uniform, zipf:S (0 < S <= 8), khot:N, one, local, recorded:FILE.npy ([R, T, K] int32 or "
    "int64)";

/// Errors (kInvalidArgument): not one of kRoutingsAllowed, an unreadable file, an id below -1.
Result<Routing> parse_routing(std::string_view text);

/// kInvalidArgument when the routing cannot have that shape: too few hot experts, a recording of
/// other ranks, tokens or top-k, an id that is no expert, an expert twice in a token.
Status check_routing(const Shape& shape);

/// [T, K] of one rank, equal for equal seeds; lanes in random order, -1 only as recorded.
[[nodiscard]] std::vector<std::int32_t> make_routes(const Shape& shape, int rank);

/// How uneven counts are. All zero: {0, 0}.
struct Skew {
  double max_over_mean = 0;  // 1: even
  double gini = 0;           // 0: even; near 1: all in one place
};
[[nodiscard]] Skew skew_of(std::span<const std::int64_t> counts);

/// Routes that each expert and each rank receives.
struct RoutingSkew {
  Skew experts;
  Skew ranks;
};
[[nodiscard]] RoutingSkew routing_skew(const Shape& shape);

}  // namespace crossdock::bench
