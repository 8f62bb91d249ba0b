// SPDX-License-Identifier: Apache-2.0
// Copies of rows. Plain ones leave the target in the cache; streaming ones go around it, which is
// faster once a round moves more than the last-level cache holds and slower below that.
// Vocabulary: a *line* is the 64 bytes that the processor writes to memory as one.
// Invariant: a streaming copy is not ordered before later stores of its own thread until
// store_fence(); every publisher calls it once before the store that announces the rows.
// Thread rule: any thread; the caller keeps source and target apart from other writers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace crossdock {

/// Whether the cache should keep what is written.
enum class StoreHint : std::uint8_t { kKeep, kStream };

/// Any sizes and alignments; the ranges do not overlap.
void copy_plain(void* to, const void* from, std::size_t byte_count);

/// Whole lines of the target by non-temporal stores, what is before and after them plainly. No
/// fence.
void copy_streaming(void* to, const void* from, std::size_t byte_count);

/// One of the two, by hint.
void copy_bytes(void* to, const void* from, std::size_t byte_count, StoreHint hint);

/// One row to move.
struct RowCopy {
  void* to;
  const void* from;
};
/// copy_streaming() for each row in order, with one dispatch; no fence. The start of the next row's
/// source is fetched while a row is copied.
void copy_rows_streaming(std::span<const RowCopy> rows, std::size_t row_bytes);

/// Zeros, by hint; no fence.
void fill_zero(void* to, std::size_t byte_count, StoreHint hint);

/// Streaming stores made before are visible before any store of this thread made after. A release
/// store that follows then publishes them like plain stores.
void store_fence();

/// Bytes of the largest cache; 32 MiB when the machine does not say. Never 0.
[[nodiscard]] std::size_t last_level_cache_bytes();

}  // namespace crossdock
