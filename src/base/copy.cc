// SPDX-License-Identifier: Apache-2.0
#include "base/copy.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

// Everything between here and HWY_ONCE is compiled once for each instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "base/copy.cc"
#include "base/bytes.h"
#include "base/sanitizers.h"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace crossdock::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t kLineBytes = 64;
// At most one line, so that a loop over a line is right for every vector length.
using Bytes = hn::CappedTag<std::uint8_t, kLineBytes>;

/// How many of the first `byte_count` bytes are before the first whole line.
inline std::size_t head_bytes(const void* to, std::size_t byte_count) {
  const auto misalignment = reinterpret_cast<std::uintptr_t>(to) % kLineBytes;
  return misalignment == 0 ? 0 : std::min(byte_count, kLineBytes - misalignment);
}

inline void stream_row(std::uint8_t* to, const std::uint8_t* from, std::size_t byte_count) {
  const Bytes bytes;
  const std::size_t vector_bytes = hn::Lanes(bytes);
  const std::size_t head = head_bytes(to, byte_count);
  std::memcpy(to, from, head);
  std::size_t at = head;
  for (; at + kLineBytes <= byte_count; at += kLineBytes) {
    for (std::size_t i = 0; i < kLineBytes; i += vector_bytes) {
      hn::Stream(hn::LoadU(bytes, from + at + i), bytes, to + at + i);
    }
  }
  std::memcpy(to + at, from + at, byte_count - at);
}

void StreamRows(const RowCopy* rows, std::size_t row_count, std::size_t row_bytes) {
  for (std::size_t row = 0; row < row_count; ++row) {
    if (row + 1 < row_count) {
      // The hardware prefetcher starts anew in every page; two lines wake it up early.
      const auto* const next = static_cast<const std::uint8_t*>(rows[row + 1].from);
      hwy::Prefetch(next);
      hwy::Prefetch(next + std::min(kLineBytes, row_bytes));
    }
    stream_row(static_cast<std::uint8_t*>(rows[row].to),
               static_cast<const std::uint8_t*>(rows[row].from), row_bytes);
  }
}

void StreamRow(void* to, const void* from, std::size_t byte_count) {
  stream_row(static_cast<std::uint8_t*>(to), static_cast<const std::uint8_t*>(from), byte_count);
}

void StreamZeros(void* to, std::size_t byte_count) {
  const Bytes bytes;
  auto* const target = static_cast<std::uint8_t*>(to);
  std::size_t at = head_bytes(to, byte_count);
  std::memset(target, 0, at);
  for (; at + kLineBytes <= byte_count; at += kLineBytes) {
    for (std::size_t i = 0; i < kLineBytes; i += hn::Lanes(bytes)) {
      hn::Stream(hn::Zero(bytes), bytes, target + at + i);
    }
  }
  std::memset(target + at, 0, byte_count - at);
}

}  // namespace crossdock::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace crossdock {
HWY_EXPORT(StreamRows);
HWY_EXPORT(StreamRow);
HWY_EXPORT(StreamZeros);

void copy_plain(void* to, const void* from, std::size_t byte_count) {
  if (byte_count != 0) {  // memcpy wants valid pointers even for nothing.
    std::memcpy(to, from, byte_count);
  }
}

void copy_streaming(void* to, const void* from, std::size_t byte_count) {
  // ThreadSanitizer of g++ does not see non-temporal stores; memcpy it always sees.
  if (kThreadSanitizer || byte_count < 2 * kCacheLineBytes) {
    copy_plain(to, from, byte_count);
    return;
  }
  HWY_DYNAMIC_DISPATCH(StreamRow)(to, from, byte_count);
}

void copy_bytes(void* to, const void* from, std::size_t byte_count, StoreHint hint) {
  if (hint == StoreHint::kStream) {
    copy_streaming(to, from, byte_count);
  } else {
    copy_plain(to, from, byte_count);
  }
}

void copy_rows_streaming(std::span<const RowCopy> rows, std::size_t row_bytes) {
  if (kThreadSanitizer || row_bytes < 2 * kCacheLineBytes) {
    for (const RowCopy& row : rows) {
      copy_plain(row.to, row.from, row_bytes);
    }
    return;
  }
  HWY_DYNAMIC_DISPATCH(StreamRows)(rows.data(), rows.size(), row_bytes);
}

void fill_zero(void* to, std::size_t byte_count, StoreHint hint) {
  if (byte_count == 0) {
    return;
  }
  if (kThreadSanitizer || hint == StoreHint::kKeep) {
    std::memset(to, 0, byte_count);
    return;
  }
  HWY_DYNAMIC_DISPATCH(StreamZeros)(to, byte_count);
}

void store_fence() {
#if defined(__x86_64__)
  __builtin_ia32_sfence();
#elif !defined(__SANITIZE_THREAD__)
  std::atomic_thread_fence(std::memory_order_release);
#endif
}

}  // namespace crossdock
#endif  // HWY_ONCE
