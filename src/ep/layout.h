// SPDX-License-Identifier: Apache-2.0
// Where everything lies in every rank's window, stated once: hint, allocator and engine use it, and
// all ranks have the same. 64-bit throughout.
//
// Grammar of a window (R ranks, E experts, K lanes, P protocols, S round slots, C row_capacity):
//   window        := words(announce) words(rows)[P] credits expert_words announcement[2][R]
//                    landing[2][R] race_count[2][R] race_block[2][R][L][racing_tokens]
//                    push_weight:f32[M][K] push_row[M][K][output_row_bytes] round_slot[S]
//   expert_words  := round:u64[R][L] pad     the last round whose rows of that source for that
//   local
//                                            expert are all here (streamed dispatch)
//   announcement  := AnnouncementHead text[192] expert_rows:u32[E] rank_tokens:u32[R]
//   landing       := landed[latency_tokens]            one source's rows of one round
//   landed        := token:u32 zero:u32 expert:i32[K] weight:f32[K] scale[scale_bytes] pad
//                    row[row_bytes] pad
//   race_count    := count:u64[L] pad                   of one source's rows per local expert
//   race_block    := flag:u64 token:u32 lane:u32 weight:f32 zero:u32 scale[scale_bytes] pad
//                    row[row_bytes] pad
//   round_slot    := rows[C] outputs[C] source_token:i32[C] source_rank:i32[C] expert:i32[C][K]
//                    weight:f32[C][K] scale:u8[C][scale_bytes] output_weight:f32[C][K]
//                    row_of_landed:i64[R][latency_tokens][K] lane:i32[C]
//                    row_of_pair:i64[R][L]
// The halves [2] alternate by the announcement's epoch. M is max_tokens_per_rank; push_* and lane
// are there only for push combine (ep/combine_path.h).
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
  std::uint64_t scale = 0;
  std::uint64_t output_weight = 0;  // staged by combine for its readers
  std::uint64_t row_of_landed = 0;
  std::uint64_t row_of_pair = 0;  // racing: first row of each source and local expert
  std::uint64_t lane = 0;         // expanded: which lane of its token a row is
};

struct WindowLayout {
  std::uint64_t row_bytes = 0;
  std::uint64_t output_row_bytes = 0;
  std::uint64_t scale_bytes = 0;
  std::int64_t row_capacity = 0;
  std::int64_t latency_tokens = 0;  // 0: no landing area

  std::uint64_t announce_words = 0;
  std::vector<std::uint64_t> row_words;  // [protocol]
  std::uint64_t credits = 0;
  std::uint64_t expert_words = 0;
  std::uint64_t expert_words_stride = 0;  // bytes of one source's words
  std::uint64_t announcements = 0;
  std::uint64_t announcement_bytes = 0;
  std::uint64_t landings = 0;
  std::uint64_t landing_bytes = 0;  // of one source in one half
  std::uint64_t landed_bytes = 0;   // of one row with its head
  std::uint64_t landed_row = 0;     // where the row begins in it
  std::int64_t racing_tokens = 0;   // 0: no landing area for the racing mode
  int local_expert_max = 0;         // L of the grammar above: the most that a rank owns
  std::uint64_t race_counts = 0;
  std::uint64_t race_blocks = 0;
  std::uint64_t race_block_bytes = 0;
  std::uint64_t race_row = 0;  // where the row begins in a block
  bool has_push = false;
  std::uint64_t push_weights = 0;
  std::uint64_t push_rows = 0;
  std::vector<RoundSlotLayout> slots;
  std::uint64_t byte_count = 0;

  int rank_count = 0;

  [[nodiscard]] std::uint64_t announcement(std::uint64_t epoch, int source) const {
    return announcements + ((epoch & 1) * static_cast<std::uint64_t>(rank_count) +
                            static_cast<std::uint64_t>(source)) *
                               announcement_bytes;
  }
  [[nodiscard]] std::uint64_t expert_word(int source, int local_expert) const {
    return expert_words + static_cast<std::uint64_t>(source) * expert_words_stride +
           static_cast<std::uint64_t>(local_expert) * sizeof(std::uint64_t);
  }
  [[nodiscard]] std::uint64_t race_count(std::uint64_t epoch, int source, int local_expert) const {
    return race_counts +
           ((epoch & 1) * static_cast<std::uint64_t>(rank_count) +
            static_cast<std::uint64_t>(source)) *
               expert_words_stride +
           static_cast<std::uint64_t>(local_expert) * sizeof(std::uint64_t);
  }
  /// The first block of the pair; the others follow it.
  [[nodiscard]] std::uint64_t race_block(std::uint64_t epoch, int source, int local_expert) const {
    const std::uint64_t pair = ((epoch & 1) * static_cast<std::uint64_t>(rank_count) +
                                static_cast<std::uint64_t>(source)) *
                                   static_cast<std::uint64_t>(local_expert_max) +
                               static_cast<std::uint64_t>(local_expert);
    return race_blocks + pair * static_cast<std::uint64_t>(racing_tokens) * race_block_bytes;
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

/// Of expert outputs and combined tokens.
[[nodiscard]] inline ElementType output_element_of(const BufferOptions& options) {
  return options.output_element.value_or(options.element);
}

/// Rows that a rank receives at most, whatever the routing, when every rank brings `token_count`
/// tokens and experts' groups start at multiples of `alignment`.
std::int64_t worst_case_rows(const BufferOptions& options, int rank_count, std::int64_t token_count,
                             std::int64_t alignment);

/// Likewise for one layout, as RowCount::kWorstCase shows them; equal on all ranks.
std::int64_t worst_case_shape(const BufferOptions& options, int rank_count, RowLayout layout,
                              std::int64_t token_count, std::int64_t alignment);

struct PlannedWindow {
  WindowLayout layout;
  MemoryPlan memory;
};
/// REQUIRES: check_options(options, rank_count) is ok.
Result<PlannedWindow> plan_window(const BufferOptions& options, int rank_count);

}  // namespace crossdock::ep
