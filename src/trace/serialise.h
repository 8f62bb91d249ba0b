// SPDX-License-Identifier: Apache-2.0
// RankTrace as bytes, for gathering over ranks. Little-endian, fixed sizes, one encoding per trace:
//
//   trace   := magic:u32 = 'XDT1'  rank:u32  rank_count:u32  zero:u32
//              clock_domain:u64  dropped_span_count:u64
//              span_count:u64  moved_count:u64  wait_count:u64
//              span{span_count}  moved{moved_count}  wait{wait_count}
//   span    := stage:u16  operation:u8  zero:u8  zero:u32  round:u64  begin_ns:i64  end_ns:i64
//   moved   := stage:u16  zero:u16  peer:u32  bytes:u64  messages:u64
//              in ascending (stage, peer); not both counters zero
//   wait    := peer:u32  zero:u32  sum_ns:i64  max_ns:i64  count:u64
//              in ascending peer; count > 0, 0 <= max_ns <= sum_ns
//
// Nothing follows the last wait. Thread rule: pure functions.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "crossdock/status.h"
#include "trace/recorder.h"

namespace crossdock::trace {

/// Traces of larger groups are neither written nor read: it bounds what hostile bytes can allocate.
inline constexpr int kRankCountMax = 1 << 16;

[[nodiscard]] std::vector<std::byte> serialise(const RankTrace& trace);

/// Strict: kInvalidArgument, naming the field and its value, for any byte sequence that serialise()
/// cannot have written. A span's stage may be unknown (below 65536), a moved one must be known.
/// Allocates at most a small multiple of the input, plus one row of peers per stage that moved.
Result<RankTrace> parse_rank_trace(std::span<const std::byte> bytes);

}  // namespace crossdock::trace
