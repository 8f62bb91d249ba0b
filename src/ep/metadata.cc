// SPDX-License-Identifier: Apache-2.0
// Dispatch: what lies beside the rows - origins, ids, weights, scales - and what lies where no row
// came: alignment gaps and the suffix of the worst case.
#include <algorithm>

#include "base/copy.h"
#include "ep/engine.h"
#include "routing/placement.h"

namespace crossdock::ep {

// --- metadata ------------------------------------------------------------------------------------

// Rows of one (source, expert) or, plain, of one source are neighbours at their destination: their
// metadata is packed in that order here and written with one put per array.
void Engine::pack_metadata(const DispatchInput& input, const Round& round) {
  const auto lanes = static_cast<std::size_t>(options_.topk);
  const bool is_plain = round.layout == RowLayout::kPlain;
  const std::span<const std::uint32_t> counts = is_plain ? round.rank_tokens : round.expert_rows;
  std::uint64_t begin = 0;
  for (std::size_t group = 0; group < counts.size(); ++group) {
    packed_begin_[group] = begin;
    begin += counts[group];
  }
  packed_begin_[counts.size()] = begin;
  packed_token_.resize(begin);
  packed_weight_.resize(is_plain ? begin * lanes : begin);
  packed_expert_.resize(is_plain ? begin * lanes : 0);
  packed_scale_.resize(begin * layout_.scale_bytes);
  packed_lane_.resize(layout_.has_push && !is_plain ? begin : 0);
  if (is_plain) {
    pack_plain(input, round);
  } else {
    pack_expanded(input, round);
  }
}

void Engine::pack_expanded(const DispatchInput& input, const Round& round) {
  const auto lanes = static_cast<std::size_t>(options_.topk);
  for (std::size_t route = 0; route < round.experts.size(); ++route) {
    if (round.experts[route] < 0) {
      continue;
    }
    const std::uint64_t place = packed_place(round, static_cast<std::size_t>(round.experts[route]),
                                             round.row_of_route[route]);
    packed_token_[place] = static_cast<std::int32_t>(route / lanes);
    pack_scale(input, route / lanes, place);
    if (!packed_lane_.empty()) {
      packed_lane_[place] = static_cast<std::int32_t>(route % lanes);
    }
    packed_weight_[place] = input.topk_weights.empty() ? 0.0F : input.topk_weights[route];
  }
}

void Engine::pack_plain(const DispatchInput& input, const Round& round) {
  const auto lanes = static_cast<std::size_t>(options_.topk);
  const auto pack_row = [&](const routing::PlainRow& plain) {
    const std::uint64_t place =
        packed_place(round, static_cast<std::size_t>(plain.rank), plain.row);
    const routing::LocalExperts local = split_.local_experts(plain.rank);
    packed_token_[place] = static_cast<std::int32_t>(plain.token);
    pack_scale(input, plain.token, place);
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const std::size_t route = plain.token * lanes + lane;
      packed_expert_[place * lanes + lane] = local.local_id(round.experts[route]);
      packed_weight_[place * lanes + lane] =
          input.topk_weights.empty() ? 0.0F : input.topk_weights[route];
    }
  };
  routing::for_each_plain_row(routes_of(round), round.row_of_route, pack_row);
}

void Engine::pack_scale(const DispatchInput& input, std::size_t token, std::uint64_t place) {
  copy_plain(packed_scale_.data() + place * layout_.scale_bytes,
             static_cast<const std::byte*>(input.scales) + token * layout_.scale_bytes,
             layout_.scale_bytes);
}

void Engine::post_metadata(int peer, const Round& round) {
  if (round.layout == RowLayout::kPlain) {
    post_group_metadata(peer, static_cast<std::size_t>(peer), round);
    return;
  }
  const int first = split_.first_expert(peer);
  for (int expert = first; expert < first + split_.count(peer); ++expert) {
    post_group_metadata(peer, static_cast<std::size_t>(expert), round);
  }
}

// `group`: an expert of the peer, or, plain, the peer itself.
void Engine::post_group_metadata(int peer, std::size_t group, const Round& round) {
  const RoundSlotLayout& slot = slot_of(round);
  collective::ProofChannel& proof = *row_proofs_[round.protocol_index];
  const auto row = static_cast<std::uint64_t>(round.first_row[group]);
  const std::uint64_t begin = packed_begin_[group];
  const std::uint64_t count = packed_begin_[group + 1] - begin;
  if (count == 0) {
    return;
  }
  // An array with `width` elements per row, from a packed array of the same shape.
  const auto put = [&](std::uint64_t array, const auto& packed, std::uint64_t width) {
    const auto elements = std::span(packed).subspan(begin * width, count * width);
    proof.post_put(RankId{peer}, array + row * width * sizeof(elements[0]), std::as_bytes(elements),
                   StoreHint::kKeep);
  };
  const bool is_plain = round.layout == RowLayout::kPlain;
  const auto lanes = static_cast<std::uint64_t>(options_.topk);
  put(slot.source_token, packed_token_, 1);
  if (round.has_weights) {
    put(slot.weight, packed_weight_, is_plain ? lanes : 1);
  }
  if (!packed_lane_.empty()) {
    put(slot.lane, packed_lane_, 1);
  }
  if (layout_.scale_bytes != 0) {
    put(slot.scale, packed_scale_, layout_.scale_bytes);
  }
  if (is_plain) {
    put(slot.expert, packed_expert_, lanes);
  }
}

// The receiver's own part while rows arrive: which source each row is from follows from the counts.
void Engine::finish_metadata(const Round& round) {
  const RoundSlotLayout& slot = slot_of(round);
  auto* source_rank = local_array<std::int32_t>(slot.source_rank);
  if (round.layout == RowLayout::kPlain) {
    for (int source = 0; source < rank_count_; ++source) {
      source_rank =
          std::fill_n(source_rank, round.rows_per_source[static_cast<std::size_t>(source)], source);
    }
    return;
  }
  const std::size_t local_count = round.expert_begin.size();
  for (std::size_t local = 0; local < local_count; ++local) {
    auto* row = source_rank + round.expert_begin[local];
    for (int source = 0; source < rank_count_; ++source) {
      const std::size_t pair = static_cast<std::size_t>(source) * local_count + local;
      row = std::fill_n(row, round.source_expert_rows[pair], source);
    }
  }
}

// --- alignment gaps ------------------------------------------------------------------------------

void Engine::zero_gaps(Call& call) {
  const Round& round = *call.slot_round;
  if (round.layout == RowLayout::kPlain || round.expert_alignment == 1) {
    return;
  }
  const trace::Span span(recorder_, trace::kPad, call.operation, call.round);
  const RoundSlotLayout& slot = slot_of(round);
  const bool zero_rows = call.options.padding == static_cast<std::uint8_t>(Padding::kZero);
  for (std::size_t local = 0; local < round.expert_begin.size(); ++local) {
    const std::int64_t begin = round.expert_begin[local] + round.rows_per_expert[local];
    const std::int64_t count = round.aligned_rows_per_expert[local] - round.rows_per_expert[local];
    std::fill_n(local_array<std::int32_t>(slot.source_token) + begin, count, -1);
    std::fill_n(local_array<std::int32_t>(slot.source_rank) + begin, count, -1);
    std::fill_n(local_array<float>(slot.weight) + begin, count, 0.0F);
    if (zero_rows) {
      fill_zero(local_at(slot.rows + static_cast<std::uint64_t>(begin) * layout_.row_bytes),
                static_cast<std::uint64_t>(count) * layout_.row_bytes, StoreHint::kKeep);
      fill_zero(local_at(slot.scale + static_cast<std::uint64_t>(begin) * layout_.scale_bytes),
                static_cast<std::uint64_t>(count) * layout_.scale_bytes, StoreHint::kKeep);
    }
  }
}

// --- worst case ----------------------------------------------------------------------------------

// The rows behind those that came, where the caller asked for a fixed number of rows.
void Engine::define_suffix(Round& round) {
  if (round.shape == RowCount::kExact) {
    return;
  }
  round.row_count = worst_case_shape(options_, rank_count_, round.layout, round.max_tokens,
                                     round.expert_alignment);
  const RoundSlotLayout& slot = slot_of(round);
  const auto begin = static_cast<std::uint64_t>(round.filled_rows);
  const auto count = static_cast<std::uint64_t>(round.row_count - round.filled_rows);
  const std::uint64_t width =
      round.layout == RowLayout::kPlain ? static_cast<std::uint64_t>(options_.topk) : 1;
  std::fill_n(local_array<std::int32_t>(slot.source_token) + begin, count, -1);
  std::fill_n(local_array<std::int32_t>(slot.source_rank) + begin, count, -1);
  std::fill_n(local_array<std::int32_t>(slot.expert) + begin * width, count * width, -1);
  std::fill_n(local_array<float>(slot.weight) + begin * width, count * width, 0.0F);
  fill_zero(local_at(slot.scale + begin * layout_.scale_bytes), count * layout_.scale_bytes,
            StoreHint::kKeep);
  fill_zero(local_at(slot.rows + begin * layout_.row_bytes), count * layout_.row_bytes,
            choose_hint(count));
  store_fence();  // The caller may hand the rows to another thread.
}

}  // namespace crossdock::ep
