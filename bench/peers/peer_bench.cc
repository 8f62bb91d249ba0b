// SPDX-License-Identifier: Apache-2.0
#include "bench/peers/peer_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "bench/peers/peer_exchange.h"
#include "bench/peers/peer_options.h"
#include "bench/peers/wire.h"
#include "cli/bench/placement.h"
#include "cli/bench/verify_rows.h"
#include "cli/bench/workload.h"
#include "crossdock/types.h"

namespace crossdock::bench {
namespace {

/// The ranks' values, one after the other; on rank 0.
template <typename Value>
std::vector<Value> gather_all(Wire& wire, std::span<const Value> mine) {
  const std::vector<std::byte> bytes = wire.gather(std::as_bytes(mine));
  std::vector<Value> all(bytes.size() / sizeof(Value));
  std::memcpy(all.data(), bytes.data(), all.size() * sizeof(Value));
  return all;
}

}  // namespace

PeerBench::PeerBench(const PeerOptions& options, Wire& wire, PeerExchange& exchange)
    : options_(options),
      wire_(wire),
      exchange_(exchange),
      placement_(options.shape, RowLayout::kExpanded),
      tokens_(static_cast<std::size_t>(options.shape.tokens) * options.shape.row_bytes()),
      combined_(tokens_.size()) {}

void PeerBench::run() {
  for (int iteration = 0; iteration < options_.warmup + options_.iterations; ++iteration) {
    const Sample sample = run_round(static_cast<std::uint64_t>(iteration) + 1);
    if (iteration >= options_.warmup) {
      samples_.push_back(sample);
    }
  }
}

PeerBench::Sample PeerBench::run_round(std::uint64_t round) {
  const Shape& shape = options_.shape;
  const int rank = wire_.rank();
  const RankRound part{.shape = shape, .placement = placement_, .round = round, .rank = rank};
  const Clock& clock = monotonic_clock();
  const bool dispatches = options_.operation != "combine";
  const bool combines = options_.operation != "dispatch";
  if (dispatches) {
    fill_tokens(shape, round, rank, tokens_);
  } else {
    exchange_.dispatch(placement_.routes(rank), tokens_.data());  // Only for its counts.
    fill_outputs(part, exchange_.rows());
  }
  exchange_.reset_times();
  wire_.barrier();
  Sample sample;
  sample.start_ns = clock.now().ns;
  if (dispatches) {
    exchange_.dispatch(placement_.routes(rank), tokens_.data());
  }
  if (combines) {
    exchange_.combine(placement_.routes(rank), combined_.data());
  }
  sample.end_ns = clock.now().ns;
  sample.counts_ns = exchange_.times().counts.count();
  sample.permute_ns = exchange_.times().permute.count();
  sample.exchange_ns = exchange_.times().exchange.count();
  wire_.barrier();
  if (dispatches) {
    verdict_ += verify_received(part, exchange_.rows());
  }
  if (combines) {
    const RowContent content = dispatches ? RowContent::kToken : RowContent::kExpertOutput;
    verdict_ += verify_combined(part, content, combined_.data(), exchange_.sums());
  }
  return sample;
}

bool PeerBench::report(std::string_view name) {
  const std::vector<Sample> all = gather_all(wire_, std::span<const Sample>(samples_));
  const std::array<std::uint64_t, 2> mine = {verdict_.checked, verdict_.wrong};
  const auto verdicts = gather_all(wire_, std::span<const std::uint64_t>(mine));
  if (wire_.rank() != 0) {
    return verdict_.wrong == 0;
  }
  Verdict verdict;
  for (std::size_t rank = 0; rank < verdicts.size(); rank += 2) {
    verdict += {.checked = verdicts[rank], .wrong = verdicts[rank + 1]};
  }
  const bool verified = verdict.checked > 0 && verdict.wrong == 0;
  std::string rounds;
  for (std::size_t round = 0; round < samples_.size(); ++round) {
    rounds += (round == 0 ? "" : ",") + round_json(all, round);
  }
  fmt::print(R"({{"peer":"{}","operation":"{}","ranks":{},"rows_checked":{},"verified":{},)"
             R"("rounds":[{}]}})"
             "\n",
             name, options_.operation, options_.shape.ranks, verdict.checked, verified, rounds);
  return verified;
}

/// The parts are means over the ranks.
std::string PeerBench::round_json(const std::vector<Sample>& all, std::size_t round) const {
  Sample whole = all[round];
  whole.counts_ns = whole.permute_ns = whole.exchange_ns = 0;
  const std::size_t rank_count = all.size() / samples_.size();
  for (std::size_t rank = 0; rank < rank_count; ++rank) {
    const Sample& sample = all[rank * samples_.size() + round];
    whole.start_ns = std::min(whole.start_ns, sample.start_ns);
    whole.end_ns = std::max(whole.end_ns, sample.end_ns);
    whole.counts_ns += sample.counts_ns;
    whole.permute_ns += sample.permute_ns;
    whole.exchange_ns += sample.exchange_ns;
  }
  const auto mean_us = [&](std::int64_t sum_ns) {
    return static_cast<double>(sum_ns) / (1e3 * static_cast<double>(rank_count));
  };
  return fmt::format(
      R"({{"start_ns":{},"end_ns":{},"counts_us":{:.3f},"permute_us":{:.3f},"exchange_us":{:.3f}}})",
      whole.start_ns, whole.end_ns, mean_us(whole.counts_ns), mean_us(whole.permute_ns),
      mean_us(whole.exchange_ns));
}

int refuse_usage(std::string_view program, std::string_view message) {
  fmt::print(stderr, "{}: {}\n", program, message);
  return 2;
}

}  // namespace crossdock::bench
