// SPDX-License-Identifier: Apache-2.0
#include "tests/support/exchange_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <random>

#include "protocol/protocol.h"
#include "schedule/schedule.h"
#include "tests/support/payload.h"

namespace crossdock::testing {
namespace {

using Random = std::mt19937_64;

std::int64_t draw(Random& random, std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(random);
}

// Types that cannot be summed mostly have outputs of one that can.
void draw_elements(Random& random, BufferOptions& buffer) {
  constexpr std::array kSummable = {ElementType::kBf16, ElementType::kFp32, ElementType::kFp16};
  buffer.element = static_cast<ElementType>(draw(random, 0, 5));
  if (draw(random, 0, 3) >= (is_summable(buffer.element) ? 3 : 1)) {
    buffer.output_element = kSummable[static_cast<std::size_t>(draw(random, 0, 2))];
  }
  if (draw(random, 0, 2) == 0) {
    buffer.scale_bytes = draw(random, 1, 80);
  }
}

void draw_delivery(Random& random, ExchangeCase& drawn) {
  DispatchOptions& dispatch = drawn.dispatch;
  dispatch.arrival = static_cast<Arrival>(draw(random, 0, 1));
  drawn.repeat_arrival = static_cast<Arrival>(draw(random, 0, 1));
  dispatch.row_count = draw(random, 0, 2) == 0 ? RowCount::kWorstCase : RowCount::kExact;
}

routing::RankRoutes draw_routes(Random& random, const ExchangeCase& which) {
  routing::RankRoutes routes;
  routes.topk = which.buffer.topk;
  const std::int64_t capacity = which.dispatch.max_tokens_per_rank;
  const std::int64_t token_count =
      draw(random, 0, 3) == 0 ? draw(random, 0, 1) * capacity : draw(random, 0, capacity);
  const bool one_hot_expert = draw(random, 0, 7) == 0;
  std::vector<std::int32_t> experts(static_cast<std::size_t>(which.buffer.experts));
  for (std::size_t expert = 0; expert < experts.size(); ++expert) {
    experts[expert] = static_cast<std::int32_t>(expert);
  }
  for (std::int64_t token = 0; token < token_count; ++token) {
    if (!one_hot_expert) {
      std::shuffle(experts.begin(), experts.end(), random);
    }
    const bool is_masked = draw(random, 0, 9) == 0;
    for (int lane = 0; lane < routes.topk; ++lane) {
      const bool is_unused = is_masked || draw(random, 0, 9) == 0;
      routes.experts.push_back(is_unused ? -1 : experts[static_cast<std::size_t>(lane)]);
      if (which.with_weights) {
        routes.weights.push_back(static_cast<float>(draw(random, 0, 1000)) / 1000.0F);
      }
    }
  }
  return routes;
}

}  // namespace

std::string ExchangeCase::describe() const {
  std::string tokens;
  for (const auto& rank : routes) {
    tokens += fmt::format("{} ", rank.token_count());
  }
  return fmt::format(
      "R={} T=[ {}] H={} E={} K={} {} -> {} scale={} {} mode={} protocol={} schedule={} "
      "alignment={} plan={} path={}/{} biases={} gate={} gather={} streamed={} worst={} repeats={} "
      "threads={} rounds={} seed={}",
      rank_count, tokens, buffer.hidden, buffer.experts, buffer.topk, to_string(buffer.element),
      to_string(output_element(*this)), buffer.scale_bytes, to_string(dispatch.layout),
      to_string(dispatch.mode), protocol, schedule, dispatch.expert_alignment,
      to_string(combine.plan), to_string(buffer.combine_path), to_string(combine.path), bias_count,
      with_gate_weights, combine.topk_weights == TopkWeights::kGather,
      dispatch.arrival == Arrival::kStreamed, dispatch.row_count == RowCount::kWorstCase, repeats,
      buffer.threads, round_count, seed);
}

ExchangeCase draw_case(std::uint64_t seed, int rank_count) {
  Random random(seed);
  ExchangeCase drawn;
  drawn.seed = seed;
  drawn.rank_count = rank_count;
  drawn.round_count = static_cast<int>(draw(random, 1, 3));
  drawn.with_weights = draw(random, 0, 1) == 1;
  drawn.output_in_place = draw(random, 0, 1) == 1;
  drawn.wide_ids = draw(random, 0, 2) == 0;
  BufferOptions& buffer = drawn.buffer;
  buffer.experts = static_cast<int>(draw(random, rank_count, rank_count * 4 + 3));
  buffer.topk = static_cast<int>(draw(random, 1, std::min(buffer.experts, 10)));
  buffer.hidden = draw(random, 0, 3) == 0 ? draw(random, 1, 40) : 8 * draw(random, 1, 24);
  draw_elements(random, buffer);
  buffer.max_tokens_per_rank = draw(random, 1, 24);
  buffer.latency_tokens = draw(random, 0, 30);
  buffer.max_expert_alignment = draw(random, 1, 9);
  buffer.threads = static_cast<int>(draw(random, 0, 1) * draw(random, 1, 3) + 1);
  buffer.thread_bytes_min = 1;
  buffer.open_rounds = static_cast<int>(draw(random, 1, 2));
  DispatchOptions& dispatch = drawn.dispatch;
  dispatch.layout = static_cast<RowLayout>(draw(random, 0, 1));
  dispatch.padding = static_cast<Padding>(draw(random, 0, 1));
  dispatch.expert_alignment = draw(random, 1, buffer.max_expert_alignment);
  dispatch.max_tokens_per_rank = draw(random, 1, buffer.max_tokens_per_rank);
  dispatch.mode = static_cast<Mode>(draw(random, 0, 3));
  buffer.racing_tokens = draw(random, 0, 2) == 0 ? 0 : draw(random, 1, 30);
  if (dispatch.mode == Mode::kRacing && (dispatch.max_tokens_per_rank > buffer.racing_tokens ||
                                         dispatch.layout == RowLayout::kPlain)) {
    dispatch.mode = Mode::kThroughput;
  }
  if (dispatch.mode == Mode::kLatency && dispatch.max_tokens_per_rank > buffer.latency_tokens) {
    dispatch.mode = Mode::kThroughput;
  }
  drawn.combine.plan = static_cast<ReductionPlan>(draw(random, 0, 1));
  drawn.combine.topk_weights = static_cast<TopkWeights>(draw(random, 0, 1));
  drawn.bias_count = static_cast<int>(draw(random, 0, 2));
  drawn.with_gate_weights = dispatch.layout == RowLayout::kExpanded && draw(random, 0, 1) == 1;
  buffer.combine_path = static_cast<CombinePath>(draw(random, 0, 2));
  if (buffer.combine_path == CombinePath::kPush) {
    drawn.combine.path = static_cast<CombinePath>(draw(random, 0, 2));
  }
  draw_delivery(random, drawn);
  drawn.repeats = draw(random, 0, 1) == 1;
  const auto protocols = protocol::protocol_names();
  const auto schedules = schedule::schedule_names();
  drawn.protocol = protocols[static_cast<std::size_t>(draw(random, 0, std::ssize(protocols) - 1))];
  drawn.schedule = schedules[static_cast<std::size_t>(draw(random, 0, std::ssize(schedules) - 1))];
  for (int rank = 0; rank < rank_count; ++rank) {
    drawn.routes.push_back(draw_routes(random, drawn));
  }
  return drawn;
}

}  // namespace crossdock::testing
