// SPDX-License-Identifier: Apache-2.0
// Small shared vocabulary: ranks, element types, layouts, modes.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace crossdock {

/// A rank of a communicator, 0 .. size-1. A type of its own so that it cannot be swapped with a
/// count or an expert.
struct RankId {
  int value = 0;
  friend auto operator<=>(const RankId&, const RankId&) = default;
};

/// What one element of a row is. Only bf16, fp32 and fp16 can be summed; rows of the others are
/// moved by dispatch, and their combine takes outputs of a type that can
/// (BufferOptions::output_element).
enum class ElementType : std::uint8_t { kBf16, kFp32, kBytes, kFp16, kFp8E4m3, kInt8 };

[[nodiscard]] constexpr std::size_t element_bytes(ElementType element) {
  switch (element) {
    case ElementType::kBf16:
    case ElementType::kFp16:
      return 2;
    case ElementType::kFp32:
      return 4;
    case ElementType::kBytes:
    case ElementType::kFp8E4m3:
    case ElementType::kInt8:
      return 1;
  }
  return 0;
}

[[nodiscard]] constexpr bool is_summable(ElementType element) {
  return element == ElementType::kBf16 || element == ElementType::kFp32 ||
         element == ElementType::kFp16;
}

/// kPlain: one row per (token, destination rank), by source rank, then token order.
/// kExpanded: one row per route, grouped by local expert (each group starts at a multiple of the
/// expert alignment), inside a group by source rank, then token order.
enum class RowLayout : std::uint8_t { kPlain, kExpanded };

/// kThroughput: counts first, then every row straight to its final place.
/// kLatency: one round into a fixed landing area per source, unpacked by the receiver.
/// kRacing: one round, expanded layout only; rows go into a landing area per local expert and
/// source, each with a flag, while their counts go in words of their own; nothing orders the two,
/// and the receiver reconciles them. By name only. kAuto: by the declared largest token count of
/// the call and whether ranks share cores (equal on all ranks).
enum class Mode : std::uint8_t { kAuto, kThroughput, kLatency, kRacing };

/// What the alignment gaps of the expanded layout hold after dispatch.
enum class Padding : std::uint8_t { kUndefined, kZero };

/// How combine rounds. kSingle: one fp32 sum in ascending lane order, rounded once; the same bits
/// in every mode, layout permitting. kDeepEp: as DeepEP's multiple reduction: in the expanded
/// layout the rows of one rank are summed and rounded there first, then the ranks' sums as in the
/// plain layout.
enum class ReductionPlan : std::uint8_t { kSingle, kDeepEp };

/// How expert rows get back. kPull: every rank reads the rows of its tokens in place, in its peers'
/// windows. kPush: the experts' ranks put the rows into a landing area of the tokens' rank. kAuto:
/// pull where the fabric reaches all windows by load and store, else push. The sums are the same
/// bits.
enum class CombinePath : std::uint8_t { kAuto, kPull, kPush };

/// How many rows a dispatch shows. kExact: those that came (expanded: with alignment gaps).
/// kWorstCase: as many as the worst routing would need, so that shapes do not depend on counts;
/// what lies behind the rows that came is defined: ids and origins -1, weights, rows and scales 0.
enum class RowCount : std::uint8_t { kExact, kWorstCase };

/// When dispatch returns. kComplete: all rows are here. kStreamed (throughput mode): their places
/// are known; ElasticBuffer::wait_expert, wait_source and wait_rows send and await them, expert by
/// expert.
enum class Arrival : std::uint8_t { kComplete, kStreamed };

/// Who moves bytes inside a host. kDirect: the caller, by its own stores into the peer's window.
/// kQueued: a copy engine, a thread beside the caller, from work requests that the caller posts.
/// kAuto: kDirect today.
enum class Way : std::uint8_t { kAuto, kDirect, kQueued };

/// Who moves posted operations on. kThread: a communication thread of the communicator, started by
/// the first post. kCaller: the communicator's own thread, while it polls or waits for a ticket.
enum class Progress : std::uint8_t { kThread, kCaller };

[[nodiscard]] std::string_view to_string(ElementType element);
[[nodiscard]] std::string_view to_string(RowLayout layout);
[[nodiscard]] std::string_view to_string(Mode mode);
[[nodiscard]] std::string_view to_string(ReductionPlan plan);
[[nodiscard]] std::string_view to_string(CombinePath path);
[[nodiscard]] std::string_view to_string(Way way);
[[nodiscard]] std::string_view to_string(Progress progress);

}  // namespace crossdock
