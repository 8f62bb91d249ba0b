// SPDX-License-Identifier: Apache-2.0
#include "trace/serialise.h"

#include <fmt/format.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/status_macros.h"
#include "trace/recorder.h"
#include "trace/stages.h"

namespace crossdock::trace {
namespace {

constexpr std::uint32_t kMagic = 0x31544458;  // "XDT1"
constexpr std::size_t kHeaderBytes = 56;
constexpr std::size_t kSpanBytes = 32;
constexpr std::size_t kMovedBytes = 24;
constexpr std::size_t kWaitBytes = 32;

template <std::unsigned_integral T>
void put(std::vector<std::byte>& out, T value) {
  for (std::size_t at = 0; at < sizeof(T); ++at) {
    out.push_back(static_cast<std::byte>((std::uint64_t{value} >> (8 * at)) & 0xff));
  }
}

void put_signed(std::vector<std::byte>& out, std::int64_t value) {
  put(out, static_cast<std::uint64_t>(value));
}

Status refuse(std::string message) {
  return {StatusKind::kInvalidArgument, Scope::kOperation, "trace bytes: " + std::move(message)};
}

// Reads fields in order. The caller has made sure that the bytes are there.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <std::unsigned_integral T>
  T get() {
    CROSSDOCK_CHECK(bytes_.size() >= sizeof(T), "{} bytes left", bytes_.size());
    std::uint64_t value = 0;
    for (std::size_t at = 0; at < sizeof(T); ++at) {
      value |= std::to_integer<std::uint64_t>(bytes_[at]) << (8 * at);
    }
    bytes_ = bytes_.subspan(sizeof(T));
    return static_cast<T>(value);
  }
  std::int64_t get_signed() { return static_cast<std::int64_t>(get<std::uint64_t>()); }
  [[nodiscard]] std::size_t left() const { return bytes_.size(); }

 private:
  std::span<const std::byte> bytes_;
};

struct Counts {
  std::uint64_t spans = 0;
  std::uint64_t moved = 0;
  std::uint64_t waits = 0;
};

Result<Counts> read_header(Reader& reader, RankTrace& trace) {
  if (reader.left() < kHeaderBytes) {
    return refuse(
        fmt::format("{} bytes are less than a header of {}", reader.left(), kHeaderBytes));
  }
  const auto magic = reader.get<std::uint32_t>();
  const auto rank = reader.get<std::uint32_t>();
  const auto rank_count = reader.get<std::uint32_t>();
  const auto zero = reader.get<std::uint32_t>();
  trace.clock_domain = reader.get<std::uint64_t>();
  trace.dropped_span_count = reader.get<std::uint64_t>();
  Counts counts;
  counts.spans = reader.get<std::uint64_t>();
  counts.moved = reader.get<std::uint64_t>();
  counts.waits = reader.get<std::uint64_t>();
  if (magic != kMagic || zero != 0) {
    return refuse(fmt::format("begin with {:08x}, not with a trace of this version", magic));
  }
  if (rank_count == 0 || rank_count > static_cast<std::uint32_t>(kRankCountMax) ||
      rank >= rank_count) {
    return refuse(fmt::format("rank {} of {}: at most {} ranks", rank, rank_count, kRankCountMax));
  }
  trace.rank = static_cast<int>(rank);
  trace.rank_count = static_cast<int>(rank_count);
  // Each count is bounded before the sum, so that nothing wraps.
  const std::uint64_t left = reader.left();
  if (counts.spans > left / kSpanBytes || counts.moved > left / kMovedBytes ||
      counts.waits > left / kWaitBytes ||
      counts.spans * kSpanBytes + counts.moved * kMovedBytes + counts.waits * kWaitBytes != left) {
    return refuse(fmt::format("{} spans, {} counters and {} waits do not fill {} bytes",
                              counts.spans, counts.moved, counts.waits, left));
  }
  return counts;
}

Status read_spans(Reader& reader, std::uint64_t count, RankTrace& trace) {
  trace.spans.reserve(count);
  for (std::uint64_t at = 0; at < count; ++at) {
    SpanRecord span;
    span.stage = reader.get<std::uint16_t>();
    const auto operation = reader.get<std::uint8_t>();
    const auto zero_byte = reader.get<std::uint8_t>();
    const auto zero_word = reader.get<std::uint32_t>();
    span.round = reader.get<std::uint64_t>();
    span.begin_ns = reader.get_signed();
    span.end_ns = reader.get_signed();
    if (operation >= kOperationCount || zero_byte != 0 || zero_word != 0) {
      return refuse(fmt::format("span {}: operation {}", at, operation));
    }
    if (span.end_ns < span.begin_ns) {
      return refuse(fmt::format("span {}: {} .. {} ns ends before it begins", at, span.begin_ns,
                                span.end_ns));
    }
    span.operation = static_cast<Operation>(operation);
    trace.spans.push_back(span);
  }
  return {};
}

Status read_moved(Reader& reader, std::uint64_t count, RankTrace& trace) {
  const auto rank_count = static_cast<std::uint32_t>(trace.rank_count);
  std::uint64_t place_min = 0;
  for (std::uint64_t at = 0; at < count; ++at) {
    const auto stage = reader.get<std::uint16_t>();
    const auto zero = reader.get<std::uint16_t>();
    const auto peer = reader.get<std::uint32_t>();
    const PeerCounter counter{.bytes = reader.get<std::uint64_t>(),
                              .messages = reader.get<std::uint64_t>()};
    const std::uint64_t place = (std::uint64_t{stage} << 32) + peer;
    if (zero != 0 || peer >= rank_count || place < place_min || find_stage(stage) == nullptr ||
        (counter.bytes == 0 && counter.messages == 0)) {
      return refuse(fmt::format("counter {}: stage {}, peer {}, {} bytes, {} messages", at, stage,
                                peer, counter.bytes, counter.messages));
    }
    place_min = place + 1;
    trace.moved.resize(kStageIdEnd);
    trace.moved[stage].resize(rank_count);
    trace.moved[stage][peer] = counter;
  }
  return {};
}

Status read_waits(Reader& reader, std::uint64_t count, RankTrace& trace) {
  const auto rank_count = static_cast<std::uint32_t>(trace.rank_count);
  std::uint64_t peer_min = 0;
  for (std::uint64_t at = 0; at < count; ++at) {
    const auto peer = reader.get<std::uint32_t>();
    const auto zero = reader.get<std::uint32_t>();
    PeerWait wait;
    wait.sum_ns = reader.get_signed();
    wait.max_ns = reader.get_signed();
    wait.count = reader.get<std::uint64_t>();
    if (zero != 0 || peer >= rank_count || peer < peer_min || wait.count == 0 || wait.max_ns < 0 ||
        wait.max_ns > wait.sum_ns) {
      return refuse(fmt::format("wait {}: peer {}, sum {} ns, max {} ns, {} times", at, peer,
                                wait.sum_ns, wait.max_ns, wait.count));
    }
    peer_min = std::uint64_t{peer} + 1;
    trace.waited.resize(rank_count);
    trace.waited[peer] = wait;
  }
  return {};
}

void put_spans(std::vector<std::byte>& out, const RankTrace& trace) {
  for (const SpanRecord& span : trace.spans) {
    put(out, span.stage);
    put(out, static_cast<std::uint8_t>(span.operation));
    put(out, std::uint8_t{0});
    put(out, std::uint32_t{0});
    put(out, span.round);
    put_signed(out, span.begin_ns);
    put_signed(out, span.end_ns);
  }
}

std::uint64_t put_moved(std::vector<std::byte>& out, const RankTrace& trace) {
  std::uint64_t count = 0;
  for (std::size_t stage = 0; stage < trace.moved.size(); ++stage) {
    for (std::size_t peer = 0; peer < trace.moved[stage].size(); ++peer) {
      const PeerCounter& counter = trace.moved[stage][peer];
      if (counter.bytes == 0 && counter.messages == 0) {
        continue;
      }
      put(out, static_cast<std::uint16_t>(stage));
      put(out, std::uint16_t{0});
      put(out, static_cast<std::uint32_t>(peer));
      put(out, counter.bytes);
      put(out, counter.messages);
      ++count;
    }
  }
  return count;
}

std::uint64_t put_waits(std::vector<std::byte>& out, const RankTrace& trace) {
  std::uint64_t count = 0;
  for (std::size_t peer = 0; peer < trace.waited.size(); ++peer) {
    const PeerWait& wait = trace.waited[peer];
    if (wait.count == 0) {
      continue;
    }
    put(out, static_cast<std::uint32_t>(peer));
    put(out, std::uint32_t{0});
    put_signed(out, wait.sum_ns);
    put_signed(out, wait.max_ns);
    put(out, wait.count);
    ++count;
  }
  return count;
}

}  // namespace

std::vector<std::byte> serialise(const RankTrace& trace) {
  CROSSDOCK_CHECK(
      trace.rank >= 0 && trace.rank < trace.rank_count && trace.rank_count <= kRankCountMax,
      "rank {} of {}", trace.rank, trace.rank_count);
  std::vector<std::byte> body;
  body.reserve(trace.spans.size() * kSpanBytes);
  put_spans(body, trace);
  const std::uint64_t moved_count = put_moved(body, trace);
  const std::uint64_t wait_count = put_waits(body, trace);

  std::vector<std::byte> out;
  out.reserve(kHeaderBytes + body.size());
  put(out, kMagic);
  put(out, static_cast<std::uint32_t>(trace.rank));
  put(out, static_cast<std::uint32_t>(trace.rank_count));
  put(out, std::uint32_t{0});
  put(out, trace.clock_domain);
  put(out, trace.dropped_span_count);
  put(out, std::uint64_t{trace.spans.size()});
  put(out, moved_count);
  put(out, wait_count);
  out.insert(out.end(), body.begin(), body.end());
  return out;
}

Result<RankTrace> parse_rank_trace(std::span<const std::byte> bytes) {
  Reader reader(bytes);
  RankTrace trace;
  CROSSDOCK_ASSIGN_OR_RETURN(const Counts counts, read_header(reader, trace));
  CROSSDOCK_RETURN_IF_ERROR(read_spans(reader, counts.spans, trace));
  CROSSDOCK_RETURN_IF_ERROR(read_moved(reader, counts.moved, trace));
  CROSSDOCK_RETURN_IF_ERROR(read_waits(reader, counts.waits, trace));
  return trace;
}

}  // namespace crossdock::trace
