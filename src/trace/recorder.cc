// SPDX-License-Identifier: Apache-2.0
#include "trace/recorder.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "trace/clock_domain.h"
#include "trace/stages.h"

namespace crossdock::trace {

std::string_view to_string(Operation operation) {
  switch (operation) {
    case Operation::kNone:
      return "none";
    case Operation::kDispatch:
      return "dispatch";
    case Operation::kCombine:
      return "combine";
    case Operation::kCollective:
      return "collective";
  }
  return "?";
}

PeerCounter RankTrace::moved_at(std::uint16_t stage, int peer) const {
  const auto at = static_cast<std::size_t>(peer);
  if (stage >= moved.size() || peer < 0 || at >= moved[stage].size()) {
    return {};
  }
  return moved[stage][at];
}

PeerWait RankTrace::waited_for(int peer) const {
  const auto at = static_cast<std::size_t>(peer);
  return peer < 0 || at >= waited.size() ? PeerWait{} : waited[at];
}

Recorder::Recorder(int rank, int rank_count) {
  CROSSDOCK_CHECK(rank >= 0 && rank < rank_count, "rank {} of {}", rank, rank_count);
  trace_.rank = rank;
  trace_.rank_count = rank_count;
  trace_.clock_domain = host_clock_domain();
}

#ifdef CROSSDOCK_NO_TRACE
void Recorder::enable(std::size_t /*span_capacity*/) {}
#else
void Recorder::enable(std::size_t span_capacity) {
  span_capacity_ = std::max(span_capacity, trace_.spans.size());
  trace_.spans.reserve(span_capacity_);
  const auto rank_count = static_cast<std::size_t>(trace_.rank_count);
  trace_.moved.resize(kStageIdEnd);
  for (std::vector<PeerCounter>& peers : trace_.moved) {
    peers.resize(rank_count);
  }
  trace_.waited.resize(rank_count);
  enabled_ = true;
}
#endif

void Recorder::add_span(const Stage& stage, Operation operation, std::uint64_t round, Instant begin,
                        Instant end) {
  if (!enabled()) {
    return;
  }
  CROSSDOCK_CHECK(begin <= end, "stage {} begins at {} and ends at {}", stage.name, begin.ns,
                  end.ns);
  if (trace_.spans.size() >= span_capacity_) {
    ++trace_.dropped_span_count;
    return;
  }
  trace_.spans.push_back({.stage = stage.id,
                          .operation = operation,
                          .round = round,
                          .begin_ns = begin.ns,
                          .end_ns = end.ns});
}

void Recorder::clear() {
  trace_.spans.clear();
  trace_.dropped_span_count = 0;
  for (std::vector<PeerCounter>& peers : trace_.moved) {
    std::fill(peers.begin(), peers.end(), PeerCounter{});
  }
  std::fill(trace_.waited.begin(), trace_.waited.end(), PeerWait{});
}

void Recorder::add_moved(const Stage& stage, int peer, std::uint64_t bytes,
                         std::uint64_t messages) {
  CROSSDOCK_CHECK(stage.id < kStageIdEnd, "stage {} has id {}", stage.name, stage.id);
  CROSSDOCK_CHECK(peer >= 0 && peer < trace_.rank_count, "peer {} of {}", peer, trace_.rank_count);
  PeerCounter& counter = trace_.moved[stage.id][static_cast<std::size_t>(peer)];
  counter.bytes += bytes;
  counter.messages += messages;
}

void Recorder::add_waited(int peer, Duration duration) {
  CROSSDOCK_CHECK(peer >= 0 && peer < trace_.rank_count, "peer {} of {}", peer, trace_.rank_count);
  PeerWait& wait = trace_.waited[static_cast<std::size_t>(peer)];
  const std::int64_t ns = std::max<std::int64_t>(duration.count(), 0);
  if (__builtin_add_overflow(wait.sum_ns, ns, &wait.sum_ns)) {
    wait.sum_ns = std::numeric_limits<std::int64_t>::max();
  }
  wait.max_ns = std::max(wait.max_ns, ns);
  ++wait.count;
}

}  // namespace crossdock::trace
