// SPDX-License-Identifier: Apache-2.0
// Combine, push path: the experts' ranks put their rows into the landing area of the tokens' rank,
// one place per route, which sums them there. Nothing is read remotely, so it runs on any fabric
// and with any protocol. Its contract is in combine_path.h.
#include <fmt/format.h>

#include "base/status_macros.h"
#include "ep/engine.h"

namespace crossdock::ep {

// push rows -> wait until all have landed -> reduce.
Status Engine::push_combine(const CombineInput& input, Round& round, const CombineOutput& output,
                            const Call& call) {
  CROSSDOCK_RETURN_IF_ERROR(push_rows(input, round, call));
  CROSSDOCK_RETURN_IF_ERROR(await_pushed(call));
  const trace::Span span(recorder_, trace::kReduce, call.operation, call.round);
  reduce_tokens(input, round, output.tokens, call, local_at(layout_.push_rows));
  if (wants_weights(call.options)) {
    take_pushed_weights(round, output.topk_weights);
  }
  return {};
}

Status Engine::await_pushed(const Call& call) {
  const trace::Span span(recorder_, trace::kArrive, call.operation, call.round);
  CROSSDOCK_RETURN_IF_ERROR(
      row_proofs_[call.options.protocol]->wait_round("combine rows", call.round, call.deadline));
  return settle(call.deadline);  // Own rows, which no proof covers; and the caller's are free.
}

Status Engine::push_rows(const CombineInput& input, const Round& round, const Call& call) {
  const trace::Span span(recorder_, trace::kPost, call.operation, call.round);
  collective::ProofChannel& proof = *row_proofs_[call.options.protocol];
  proof.open_round();
  const RoundSlotLayout& slot = slot_of(round);
  const auto* source_rank = local_array<const std::int32_t>(slot.source_rank);
  const auto* source_token = local_array<const std::int32_t>(slot.source_token);
  for (std::int64_t row = 0; row < round.filled_rows; ++row) {
    if (source_rank[row] < 0) {
      continue;  // an alignment gap
    }
    if (source_rank[row] >= rank_count_ || source_token[row] < 0 ||
        source_token[row] >= options_.max_tokens_per_rank) {
      return {StatusKind::kInternal, Scope::kCommunicator,
              fmt::format("row {} is of rank {} token {}; allowed: ranks 0 .. {}, tokens 0 .. {}",
                          row, source_rank[row], source_token[row], rank_count_ - 1,
                          options_.max_tokens_per_rank - 1)};
    }
    push_row(row, input, round, call);
  }
  for (int step = 1; step < rank_count_; ++step) {
    CROSSDOCK_RETURN_IF_ERROR(proof.posted(RankId{(rank_ + step) % rank_count_}));
  }
  return proof.all_posted();
}

// Expanded: to the row's own lane. Plain: to the token's highest lane here, where the sum takes it.
void Engine::push_row(std::int64_t row, const CombineInput& input, const Round& round,
                      const Call& call) {
  const RoundSlotLayout& slot = slot_of(round);
  const auto index = static_cast<std::size_t>(row);
  const auto lanes = static_cast<std::size_t>(options_.topk);
  const RankId source{local_array<const std::int32_t>(slot.source_rank)[row]};
  const auto first_route =
      static_cast<std::size_t>(local_array<const std::int32_t>(slot.source_token)[row]) * lanes;
  collective::ProofChannel& proof = *row_proofs_[call.options.protocol];
  const auto push_weight = [&](std::size_t lane, const float& weight) {
    proof.post_put(source, layout_.push_weights + (first_route + lane) * sizeof weight,
                   std::as_bytes(std::span(&weight, 1)), StoreHint::kKeep);
  };
  std::size_t target_lane = 0;
  if (round.layout == RowLayout::kExpanded) {
    target_lane = static_cast<std::size_t>(local_array<const std::int32_t>(slot.lane)[row]) % lanes;
    if (wants_weights(call.options)) {
      push_weight(target_lane, input.topk_weights[index]);
    }
  } else {
    const auto* experts = local_array<const std::int32_t>(slot.expert) + index * lanes;
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      if (experts[lane] < 0) {
        continue;
      }
      target_lane = lane;
      if (wants_weights(call.options)) {
        push_weight(lane, input.topk_weights[index * lanes + lane]);
      }
    }
  }
  const auto* rows = static_cast<const std::byte*>(input.rows);
  proof.post_put(source, layout_.push_rows + (first_route + target_lane) * layout_.output_row_bytes,
                 {rows + index * layout_.output_row_bytes, layout_.output_row_bytes},
                 StoreHint::kKeep);
  recorder_.moved(trace::kPost, source.value, layout_.output_row_bytes, 1);
}

void Engine::take_pushed_weights(const Round& round, std::span<float> weights) const {
  const auto* pushed = local_array<const float>(layout_.push_weights);
  for (std::size_t route = 0; route < round.owners.size(); ++route) {
    weights[route] = round.owners[route] < 0 ? 0.0F : pushed[route];
  }
}

}  // namespace crossdock::ep
