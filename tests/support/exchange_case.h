// SPDX-License-Identifier: Apache-2.0
// One dispatch + expert + combine round over all ranks, with every byte checked against the slow
// reference: a case says the shape and the routing, run_case() does the rest on each rank.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "crossdock/elastic_buffer.h"
#include "routing/reference.h"

namespace crossdock::testing {

struct ExchangeCase {
  BufferOptions buffer;
  DispatchOptions dispatch;
  CombineOptions combine;
  std::string protocol = "auto";  // owners of the views in `dispatch`
  std::string schedule = "auto";
  int rank_count = 1;
  int round_count = 1;
  bool with_weights = true;
  bool output_in_place = true;     // experts write into the window; else into memory of their own
  bool wide_ids = false;           // 64-bit ids
  bool posts = false;              // by post_dispatch() and post_combine(); not drawn
  bool with_gate_weights = false;  // expanded only
  int bias_count = 0;              // 0 .. 2
  Arrival repeat_arrival = Arrival::kComplete;
  bool repeats = false;                     // a second dispatch along the first one's plan
  std::uint64_t seed = 0;                   // of tokens
  std::vector<routing::RankRoutes> routes;  // [rank], weights included when with_weights

  [[nodiscard]] std::string describe() const;
};

/// Draws everything from the seed: uneven ranks, tokens, experts, lanes, gaps, modes, names, types.
ExchangeCase draw_case(std::uint64_t seed, int rank_count);

/// Every rank calls it with the same case; expectations fail the test.
void run_case(const ExchangeCase& exchange_case, Communicator& communicator);
/// Likewise on a buffer that is open already and was made with exchange_case.buffer.
void run_rounds(const ExchangeCase& exchange_case, ElasticBuffer& buffer, int rank);

}  // namespace crossdock::testing
