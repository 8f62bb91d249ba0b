// SPDX-License-Identifier: Apache-2.0
// Dispatch, latency mode: one round. Each source writes its rows, once per destination rank, into
// its own landing area there; the announcement that closes them has their number; the receiver
// duplicates rows to their final places. Two halves of landing areas alternate by the
// announcement's epoch: a source reaches epoch n+2 only after this rank announced n+1, that is
// after it emptied half n.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/bytes.h"
#include "base/status_macros.h"
#include "ep/engine.h"

namespace crossdock::ep {
namespace {

// Head of a landed row; expert:i32[K], weight:f32[K] and the scale follow.
struct LandedHead {
  std::uint32_t token;
  std::uint32_t reserved;
};
static_assert(sizeof(LandedHead) == 8);

}  // namespace

void Engine::land_rows(const DispatchInput& input, Call& call) {
  const trace::Span span(recorder_, trace::kPost, call.operation, call.round);
  Round& round = *call.slot_round;
  const auto lanes = static_cast<std::size_t>(options_.topk);
  const std::uint64_t base = layout_.landing(announce_->epoch(), rank_);
  const auto* tokens = static_cast<const std::byte*>(input.tokens);
  round.landed_of_route.assign(round.experts.size(), -1);
  for (std::int64_t token = 0; token < round.token_count; ++token) {
    const std::size_t first = static_cast<std::size_t>(token) * lanes;
    const LandedHead head{static_cast<std::uint32_t>(token), 0};
    std::byte* const head_at = &landed_heads_[static_cast<std::size_t>(token) * layout_.landed_row];
    std::memcpy(head_at, &head, sizeof head);
    std::memcpy(head_at + sizeof head, &round.experts[first], lanes * sizeof(std::int32_t));
    if (!input.topk_weights.empty()) {
      std::memcpy(head_at + sizeof head + lanes * sizeof(std::int32_t), &input.topk_weights[first],
                  lanes * sizeof(float));
    }
    copy_plain(head_at + landed_scale_at(),
               static_cast<const std::byte*>(input.scales) +
                   static_cast<std::uint64_t>(token) * layout_.scale_bytes,
               layout_.scale_bytes);
    const std::span row(tokens + static_cast<std::uint64_t>(token) * layout_.row_bytes,
                        layout_.row_bytes);
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const std::int32_t owner = round.owners[first + lane];
      if (owner < 0 || round.landed_of_route[first + lane] >= 0) {
        continue;
      }
      const std::uint32_t index = landed_count_[static_cast<std::size_t>(owner)]++;
      for (std::size_t other = lane; other < lanes; ++other) {
        if (round.owners[first + other] == owner) {
          round.landed_of_route[first + other] = static_cast<std::int32_t>(index);
        }
      }
      const std::uint64_t place = base + index * layout_.landed_bytes;
      put(owner, place, {head_at, layout_.landed_row});
      put(owner, place + layout_.landed_row, row);
    }
  }
  for (int peer = 0; peer < rank_count_ && recorder_.enabled(); ++peer) {
    const std::uint64_t count = landed_count_[static_cast<std::size_t>(peer)];
    recorder_.moved(trace::kPost, peer, count * layout_.row_bytes, count);
  }
}

// After reconcile: everything that the announcements closed is here.
Status Engine::place_landed(Call& call) {
  Round& round = *call.slot_round;
  CROSSDOCK_RETURN_IF_ERROR(prove_announced(call, trace::kArrive, "dispatch rows"));
  CROSSDOCK_RETURN_IF_ERROR(count_landed(call));
  {
    const trace::Span span(recorder_, trace::kReorder, call.operation, call.round);
    plain_row_ = 0;
    for (int source = 0; source < rank_count_; ++source) {
      place_source(source, round);
    }
  }
  zero_gaps(call);
  define_suffix(round);
  return {};
}

routing::LandedSource Engine::landed_source(int source) const {
  const std::byte* first = local_at(layout_.landing(announce_->epoch(), source));
  const std::byte* experts = first + sizeof(LandedHead);
  const std::byte* weights =
      experts + static_cast<std::size_t>(options_.topk) * sizeof(std::int32_t);
  return {.rank = source,
          .slot_count = read_head(source).landed_count,
          .token = {reinterpret_cast<const std::int32_t*>(first), layout_.landed_bytes},
          .experts = {reinterpret_cast<const std::int32_t*>(experts), layout_.landed_bytes},
          .weights = {reinterpret_cast<const float*>(weights), layout_.landed_bytes}};
}

// Per local expert: how many rows, and where they begin.
Status Engine::count_landed(Call& call) {
  const trace::Span span(recorder_, trace::kLocate, call.operation, call.round);
  Round& round = *call.slot_round;
  const bool is_plain = round.layout == RowLayout::kPlain;
  const routing::LandedShape shape{split_.local_experts(rank_), options_.topk};
  std::fill(round.rows_per_expert.begin(), round.rows_per_expert.end(), 0);
  std::int64_t landed_total = 0;
  for (int source = 0; source < rank_count_; ++source) {
    const routing::LandedSource landed = landed_source(source);
    if (landed.slot_count > static_cast<std::uint64_t>(call.options.max_tokens)) {
      return {StatusKind::kInternal, Scope::kCommunicator,
              fmt::format("rank {} announced {} landed rows; allowed: 0 .. {}", source,
                          landed.slot_count, call.options.max_tokens),
              source};
    }
    const auto slot_count = static_cast<std::int64_t>(landed.slot_count);
    const std::int64_t routes = routing::count_landed(landed, shape, round.rows_per_expert);
    round.rows_per_source[static_cast<std::size_t>(source)] = is_plain ? slot_count : routes;
    landed_total += slot_count;
  }
  const std::int64_t grouped_total =
      routing::align_groups(round.expert_alignment, groups_of(round));
  round.filled_rows = is_plain ? landed_total : grouped_total;
  round.row_count = round.filled_rows;
  std::copy(round.expert_begin.begin(), round.expert_begin.end(), next_row_.begin());
  return {};
}

// Rows of one source, in the order in which it sent them: token order.
void Engine::place_source(int source, Round& round) {
  const RoundSlotLayout& slot = slot_of(round);
  const routing::LandedShape shape{split_.local_experts(rank_), options_.topk};
  const routing::LandedSource landed = landed_source(source);
  const auto lanes = static_cast<std::size_t>(options_.topk);
  const auto row_count = static_cast<std::size_t>(round.row_count);
  const std::span row_of_lane(
      local_array<std::int64_t>(slot.row_of_landed) +
          static_cast<std::uint64_t>(source * layout_.latency_tokens) * lanes,
      landed.slot_count * lanes);
  const std::span source_rank(local_array<std::int32_t>(slot.source_rank), row_count);
  const std::span source_token(local_array<std::int32_t>(slot.source_token), row_count);
  const std::byte* from =
      local_at(layout_.landing(announce_->epoch(), source) + layout_.landed_row);
  if (round.layout == RowLayout::kPlain) {
    std::int64_t row = plain_row_;
    plain_row_ =
        routing::place_landed_plain(landed, shape, plain_row_,
                                    {source_rank,
                                     source_token,
                                     {local_array<std::int32_t>(slot.expert), row_count * lanes},
                                     {local_array<float>(slot.weight), row_count * lanes},
                                     row_of_lane});
    for (; row < plain_row_; ++row, from += layout_.landed_bytes) {
      place_row(row, from, slot);
    }
    return;
  }
  routing::place_landed_expanded(landed, shape,
                                 {next_row_,
                                  source_rank,
                                  source_token,
                                  {local_array<float>(slot.weight), row_count},
                                  row_of_lane});
  auto* lane_of_row = layout_.has_push ? local_array<std::int32_t>(slot.lane) : nullptr;
  for (std::size_t index = 0; index < row_of_lane.size(); index += lanes) {
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const std::int64_t row = row_of_lane[index + lane];
      if (row < 0) {
        continue;
      }
      place_row(row, from, slot);
      if (lane_of_row != nullptr) {
        lane_of_row[row] = static_cast<std::int32_t>(lane);
      }
    }
    from += layout_.landed_bytes;
  }
}

void Engine::place_row(std::int64_t row, const std::byte* from, const RoundSlotLayout& slot) {
  copy_plain(local_at(slot.rows + static_cast<std::uint64_t>(row) * layout_.row_bytes), from,
             layout_.row_bytes);
  copy_plain(local_at(slot.scale + static_cast<std::uint64_t>(row) * layout_.scale_bytes),
             from - layout_.landed_row + landed_scale_at(), layout_.scale_bytes);
}

std::uint64_t Engine::landed_scale_at() const {
  return sizeof(LandedHead) + 8 * static_cast<std::uint64_t>(options_.topk);
}

}  // namespace crossdock::ep
