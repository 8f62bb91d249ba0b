// SPDX-License-Identifier: Apache-2.0
// What every rank tells every other at the start of each operation: which operation it is in, with
// which collective options, whether it refuses its part, and (throughput mode) how many rows it
// will send where. One exchange decides equally on all ranks whether the operation goes on, so a
// bad argument on one rank ends the operation everywhere and leaves the buffer usable.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "crossdock/status.h"

namespace crossdock::ep {

/// Announcements are always closed by this protocol, so that ranks that disagree about the data
/// protocol still hear each other.
inline constexpr std::string_view kAnnounceProtocol = "tail_fence";

enum class OperationCode : std::uint8_t { kDispatch = 1, kCombine = 2 };

/// Options that must be equal on all ranks in one operation; compared field by field.
struct CollectiveOptions {
  std::uint8_t operation = 0;  // OperationCode
  std::uint8_t layout = 0;
  std::uint8_t mode = 0;
  std::uint8_t padding = 0;
  std::uint8_t protocol = 0;      // index in protocol_names()
  std::uint8_t schedule = 0;      // index in schedule_names()
  std::uint8_t plan = 0;          // combine: ReductionPlan
  std::uint8_t topk_weights = 0;  // combine: TopkWeights
  std::uint32_t repeated = 0;     // dispatch along a plan: its round mod 2^32 - 1, plus 1; else 0
  std::uint32_t expert_alignment = 0;
  std::uint32_t max_tokens = 0;
  std::uint8_t path = 0;       // combine: CombinePath, kPull or kPush
  std::uint8_t row_count = 0;  // dispatch: RowCount
  std::uint8_t arrival = 0;    // dispatch: Arrival
  std::uint8_t reserved = 0;
  std::uint64_t round = 0;  // combine: the handle's; dispatch: the new one
  friend bool operator==(const CollectiveOptions&, const CollectiveOptions&) = default;
};
static_assert(sizeof(CollectiveOptions) == 32);

/// Whether the tokens bring gate weights; a rank without tokens does not care.
enum class Weights : std::uint32_t { kAny = 0, kNone = 1, kGiven = 2 };

enum class Verdict : std::uint32_t { kGo = 0, kRefused = 1 };

struct AnnouncementHead {
  std::uint64_t ordinal = 0;  // operations of this buffer so far
  CollectiveOptions options;
  std::uint32_t verdict = 0;       // Verdict
  std::uint32_t refusal_kind = 0;  // StatusKind
  std::uint32_t landed_count = 0;  // latency dispatch: rows in the landing area of this target
  std::uint32_t region = 0;        // combine: which region holds the expert rows
  std::uint32_t text_bytes = 0;    // refusal text behind this head
  std::uint32_t weights = 0;       // Weights; kAny is equal to everything
};
static_assert(sizeof(AnnouncementHead) == 64);

/// Ok, or what ends the operation: another rank's refusal, or an option that differs (naming it,
/// both ranks and both values).
Status compare_announcements(const AnnouncementHead& own, int own_rank,
                             const AnnouncementHead& peer, int peer_rank,
                             std::string_view peer_text);

}  // namespace crossdock::ep
