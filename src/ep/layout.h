// SPDX-License-Identifier: Apache-2.0
// Where everything lies in every rank's window, stated once: hint, allocator and engine use it, and
// all ranks have the same. 64-bit throughout.
//
// Grammar of a window (R ranks, E experts, K lanes, P protocols, S round slots, C row_capacity):
//   window        := words(announce) words(rows)[P] credits announcement[2][R] landing[2][R]
//                    round_slot[S]
//   announcement  := AnnouncementHead text[192] expert_rows:u32[E] rank_tokens:u32[R]
//   landing       := landed[latency_tokens]            one source's rows of one round
//   landed        := token:u32 zero:u32 expert:i32[K] weight:f32[K] pad row[row_bytes] pad
//   round_slot    := rows[C] outputs[C] source_token:i32[C] source_rank:i32[C] expert:i32[C][K]
//                    weight:f32[C][K] row_of_landed:i64[R][latency_tokens][K]
// The halves [2] alternate by the announcement's epoch.
#pragma once

#include <cstdint>
#include <vector>

#include "crossdock/elastic_buffer.h"
#include "crossdock/status.h"

namespace crossdock::ep {

inline constexpr std::uint64_t kRefusalTextBytes = 192;

struct RoundSlotLayout {
  std::uint64_t rows = 0;
  std::uint64_t outputs = 0;
  std::uint64_t source_token = 0;
  std::uint64_t source_rank = 0;
  std::uint64_t expert = 0;
  std::uint64_t weight = 0;
  std::uint64_t row_of_landed = 0;
};

struct WindowLayout {
  std::uint64_t row_bytes = 0;
  std::int64_t row_capacity = 0;
  std::int64_t latency_tokens = 0;  // 0: no landing area

  std::uint64_t announce_words = 0;
  std::vector<std::uint64_t> row_words;  // [protocol]
  std::uint64_t credits = 0;
  std::uint64_t announcements = 0;
  std::uint64_t announcement_bytes = 0;
  std::uint64_t landings = 0;
  std::uint64_t landing_bytes = 0;  // of one source in one half
  std::uint64_t landed_bytes = 0;   // of one row with its head
  std::uint64_t landed_row = 0;     // where the row begins in it
  std::vector<RoundSlotLayout> slots;
  std::uint64_t byte_count = 0;

  int rank_count = 0;

  [[nodiscard]] std::uint64_t announcement(std::uint64_t epoch, int source) const {
    return announcements + ((epoch & 1) * static_cast<std::uint64_t>(rank_count) +
                            static_cast<std::uint64_t>(source)) *
                               announcement_bytes;
  }
  [[nodiscard]] std::uint64_t landing(std::uint64_t epoch, int source) const {
    return landings + ((epoch & 1) * static_cast<std::uint64_t>(rank_count) +
                       static_cast<std::uint64_t>(source)) *
                          landing_bytes;
  }
};

/// What can be said of the options without peers: every out-of-range value is kInvalidArgument with
/// what is allowed.
Status check_options(const BufferOptions& options, int rank_count);

/// Rows that a rank receives at most, whatever the routing, when every rank brings `token_count`
/// tokens and experts' groups start at multiples of `alignment`.
std::int64_t worst_case_rows(const BufferOptions& options, int rank_count, std::int64_t token_count,
                             std::int64_t alignment);

struct PlannedWindow {
  WindowLayout layout;
  MemoryPlan memory;
};
/// REQUIRES: check_options(options, rank_count) is ok.
Result<PlannedWindow> plan_window(const BufferOptions& options, int rank_count);

}  // namespace crossdock::ep
