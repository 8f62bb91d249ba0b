// SPDX-License-Identifier: Apache-2.0
// What the ranks of a demonstration saw, gathered at rank 0, and the verdict.
// Thread rule: plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/console.h"
#include "crossdock/elastic_buffer.h"
#include "crossdock/status.h"
#include "trace/recorder.h"

namespace crossdock::demo {

/// Begin and end of one call on one rank, host's monotonic clock.
struct CallTime {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};

struct RoundFacts {
  std::uint64_t round = 0;  // the library's number: the epoch of its proofs
  CallTime dispatch;
  CallTime experts;
  CallTime combine;
  std::int64_t row_count = 0;
  std::vector<std::int64_t> rows_per_expert;  // [local expert]
};

/// The followed token as its own rank saw it.
struct FollowedToken {
  int rank = 0;
  std::int64_t token = 0;
  std::string origin;  // "byte 273 of the text, 'e' after 'GNU G'"
  std::vector<std::int32_t> topk_ids;
  std::vector<float> topk_weights;
  std::vector<RouteStep> routes;  // used lanes, as the handle has them after combine
};

struct RankFacts {
  int rank = 0;
  std::int64_t token_count = 0;
  std::uint64_t rows_address = 0;  // of received row 0 in the first round, in that rank's memory
  int first_expert = 0;
  std::string mode;
  std::string protocol;
  std::string schedule;
  std::uint64_t reserved_bytes = 0;
  std::vector<std::int64_t> routes_to_expert;  // [E], first round: this rank's tokens' choices
  std::vector<RoundFacts> rounds;
  std::optional<FollowedToken> followed;
};

struct Verdict {
  std::uint64_t bits_compared = 0;
  std::uint64_t tokens_compared = 0;
  std::uint64_t tokens_wrong = 0;
  std::string first_wrong;  // "round 1, rank 3, token 17, element 5"

  [[nodiscard]] bool ok() const { return tokens_wrong == 0; }
};

struct DemoFacts {
  std::vector<RankFacts> ranks;
  std::vector<trace::RankTrace> traces;
  Verdict verdict;
  std::string workload;             // one line
  std::vector<float> followed_row;  // its combined row in the first round, fp32
};

[[nodiscard]] cli::Json to_json(const RankFacts& facts);
Result<RankFacts> rank_facts_from_json(const std::string& text);

}  // namespace crossdock::demo
