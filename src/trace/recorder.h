// SPDX-License-Identifier: Apache-2.0
// What one rank did and when: spans per stage, bytes and messages per stage and peer, and how long
// it waited for whom. Off by default; off costs one predictable branch per span. Ticks are
// nanoseconds of the host's monotonic clock: comparable between ranks of one host only (one clock
// domain), which `clock_domain` records. The build option CROSSDOCK_NO_TRACE removes even that
// branch; it exists to measure what the branch costs (tools/trace_cost). Thread rule: one recorder
// per rank, used by that rank's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "trace/stages.h"

namespace crossdock::trace {

enum class Operation : std::uint8_t { kNone, kDispatch, kCombine, kCollective };
inline constexpr std::size_t kOperationCount = 4;

[[nodiscard]] std::string_view to_string(Operation operation);

struct SpanRecord {
  std::uint16_t stage = 0;
  Operation operation = Operation::kNone;
  std::uint64_t round = 0;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};

struct PeerCounter {
  std::uint64_t bytes = 0;
  std::uint64_t messages = 0;
};

struct PeerWait {
  std::int64_t sum_ns = 0;
  std::int64_t max_ns = 0;
  std::uint64_t count = 0;
};

/// Everything one rank recorded; plain data, can be serialised, gathered and merged.
struct RankTrace {
  int rank = 0;
  int rank_count = 0;
  std::uint64_t clock_domain = 0;        // equal on ranks whose ticks may be compared
  std::vector<SpanRecord> spans;         // by end time: a span is written when it ends
  std::uint64_t dropped_span_count = 0;  // spans beyond the recorder's fixed room
  /// [stage id][peer]. Either level may be empty, which means zeros; moved_at() reads it so.
  std::vector<std::vector<PeerCounter>> moved;
  /// [peer]: this rank waited for peer. May be empty, which means zeros; waited_for() reads it so.
  std::vector<PeerWait> waited;

  [[nodiscard]] PeerCounter moved_at(std::uint16_t stage, int peer) const;
  [[nodiscard]] PeerWait waited_for(int peer) const;
};

class Recorder {
 public:
  Recorder(int rank, int rank_count);
  /// Allocates room for `span_capacity` spans once; nothing is allocated while recording. Keeps
  /// what was recorded before. In a CROSSDOCK_NO_TRACE build it does nothing.
  void enable(std::size_t span_capacity = std::size_t{1} << 16);
  void disable() { enabled_ = false; }
#ifdef CROSSDOCK_NO_TRACE
  [[nodiscard]] static constexpr bool enabled() { return false; }
#else
  [[nodiscard]] bool enabled() const { return enabled_; }
#endif

  /// `peer` must be a rank; bytes and messages that this rank moved to (or read from) it.
  void moved(const Stage& stage, int peer, std::uint64_t bytes, std::uint64_t messages) {
    if (enabled()) {
      add_moved(stage, peer, bytes, messages);
    }
  }
  /// One wait of this rank that ended because `peer` came.
  void waited(int peer, Duration duration) {
    if (enabled()) {
      add_waited(peer, duration);
    }
  }
  /// Records nothing when off. `begin` must not be after `end`.
  void add_span(const Stage& stage, Operation operation, std::uint64_t round, Instant begin,
                Instant end);
  [[nodiscard]] const RankTrace& trace() const { return trace_; }
  /// Forgets what was recorded; stays on or off and keeps its room.
  void clear();

 private:
  void add_moved(const Stage& stage, int peer, std::uint64_t bytes, std::uint64_t messages);
  void add_waited(int peer, Duration duration);

  bool enabled_ = false;
  std::size_t span_capacity_ = 0;
  RankTrace trace_;
};

/// Times the enclosing block as one stage.
class Span {
 public:
  Span(Recorder& recorder, const Stage& stage, Operation operation, std::uint64_t round)
      : recorder_(recorder.enabled() ? &recorder : nullptr),
        stage_(stage),
        operation_(operation),
        round_(round) {
    if (recorder_ != nullptr) {
      begin_ = monotonic_clock().now();
    }
  }
  ~Span() {
    if (recorder_ != nullptr) {
      recorder_->add_span(stage_, operation_, round_, begin_, monotonic_clock().now());
    }
  }
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

 private:
  Recorder* recorder_;
  const Stage& stage_;
  Operation operation_;
  std::uint64_t round_;
  Instant begin_{};
};

}  // namespace crossdock::trace
