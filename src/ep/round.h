// SPDX-License-Identifier: Apache-2.0
// One dispatched round, from its dispatch to the drop of its handle: what went where, what came.
// Kept per round slot and reused, so that nothing is allocated once sizes have settled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "crossdock/types.h"

namespace crossdock::ep {
class Engine;
}

namespace crossdock::detail {

struct Round {
  const ep::Engine* owner = nullptr;  // null: nothing was dispatched here yet
  std::uint64_t round = 0;            // 1 for the first successful dispatch of the buffer
  int slot = 0;
  RowLayout layout = RowLayout::kPlain;
  Mode mode = Mode::kThroughput;
  std::string_view protocol;
  std::uint8_t protocol_index = 0;
  std::string_view schedule;
  std::int64_t expert_alignment = 1;
  bool has_weights = false;
  std::uint64_t rows_window_offset = 0;
  std::uint64_t row_bytes = 0;

  std::uint32_t max_tokens = 0;  // bound of its dispatch
  RowCount shape = RowCount::kExact;

  // What this rank sent. [t, k] is token * topk + lane.
  std::int64_t token_count = 0;
  int topk = 0;
  std::vector<std::int32_t> experts;          // [T, K]: global id or -1
  std::vector<std::int32_t> owners;           // [T, K]: rank of that expert, or -1
  std::vector<std::int64_t> row_of_route;     // [T, K]: row at the owner; -1: none or not known yet
  std::vector<std::int32_t> landed_of_route;  // latency, [T, K]: place in the owner's landing area
  bool rows_are_known = false;
  std::vector<std::uint32_t> expert_rows;  // [E]: rows of mine per expert
  std::vector<std::uint32_t> rank_tokens;  // [R]: tokens of mine per rank
  std::vector<std::int64_t> first_row;     // [E] expanded, [R] plain: where mine begin there
  std::int64_t total_rows = 0;             // of all ranks, gaps included

  // What it received.
  std::int64_t row_count = 0;    // as shown
  std::int64_t filled_rows = 0;  // rows and gaps; behind them is the worst case's suffix
  std::vector<std::int64_t> rows_per_expert;          // [L]
  std::vector<std::int64_t> aligned_rows_per_expert;  // [L]
  std::vector<std::int64_t> expert_begin;             // [L]
  std::vector<std::int64_t> rows_per_source;          // [R]
  std::vector<std::uint32_t> source_expert_rows;      // [R, L]

  std::uint64_t last_combine = 0;  // ordinal of the last combine that lets peers read this slot
};

}  // namespace crossdock::detail
