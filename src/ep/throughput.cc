// SPDX-License-Identifier: Apache-2.0
// Dispatch, throughput mode: every rank has the counts of all, so each computes where its rows
// belong at every destination and writes them straight to that final place.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/bytes.h"
#include "base/status_macros.h"
#include "ep/engine.h"
#include "routing/placement.h"

namespace crossdock::ep {

// --- locate --------------------------------------------------------------------------------------

Status Engine::locate_rows(Call& call) {
  const trace::Span span(recorder_, trace::kLocate, call.operation, call.round);
  Round& round = *call.slot_round;
  CROSSDOCK_RETURN_IF_ERROR(check_counts(call));
  if (round.layout == RowLayout::kExpanded) {
    locate_expanded(round);
  } else {
    locate_plain(round);
  }
  count_sources(round);
  round.rows_are_known = true;
  // Every rank sees every rank's need, so all refuse or none.
  return routing::check_row_capacity(needed_rows_, layout_.row_capacity);
}

// Counts come from peers' memory: a number that no honest rank can have would send rows astray.
Status Engine::check_counts(const Call& call) const {
  const auto bound = static_cast<std::uint64_t>(call.options.max_tokens);
  for (std::size_t source = 0; source < rank_tokens_.size(); ++source) {
    for (const auto counts : {expert_matrix().row(source), token_matrix().row(source)}) {
      const auto worst = std::max_element(counts.begin(), counts.end());
      if (worst != counts.end() && *worst > bound) {
        return {StatusKind::kInternal, Scope::kCommunicator,
                fmt::format("rank {} announced {} rows for one place; allowed: 0 .. {}", source,
                            *worst, bound),
                static_cast<int>(source)};
      }
    }
  }
  return {};
}

void Engine::locate_expanded(Round& round) {
  const routing::ExpandedCounts counts{expert_matrix(), split_, round.expert_alignment};
  routing::plan_expanded(counts, rank_, {my_start_, all_rows_, needed_rows_});
  next_start_ = my_start_;
  routing::place_expanded(round.experts, next_start_, round.row_of_route);
  round.row_count = routing::layout_expanded(counts, rank_, groups_of(round));
}

void Engine::locate_plain(Round& round) {
  const routing::CountMatrix tokens = token_matrix();
  const std::span starts = std::span(my_start_).first(rank_tokens_.size());
  routing::plan_plain(tokens, rank_, {starts, needed_rows_});
  next_start_ = my_start_;
  routing::place_plain(routes_of(round), std::span(next_start_).first(starts.size()),
                       round.row_of_route);
  // Plain rows have no groups; experts' counts are told all the same.
  const routing::ExpandedCounts counts{expert_matrix(), split_, round.expert_alignment};
  routing::layout_expanded(counts, rank_, groups_of(round));
  round.row_count = needed_rows_[static_cast<std::size_t>(rank_)];
}

void Engine::count_sources(Round& round) const {
  const auto own = static_cast<std::size_t>(rank_);
  const auto first = static_cast<std::size_t>(split_.first_expert(rank_));
  for (std::size_t source = 0; source < round.rows_per_source.size(); ++source) {
    const auto expert_rows = expert_matrix().row(source).subspan(first, next_row_.size());
    round.rows_per_source[source] =
        round.layout == RowLayout::kPlain
            ? std::int64_t{token_matrix().row(source)[own]}
            : std::accumulate(expert_rows.begin(), expert_rows.end(), std::int64_t{0});
  }
}

// --- post ----------------------------------------------------------------------------------------

// Streaming stores win once the host's ranks together write more than the cache holds.
StoreHint Engine::choose_hint(std::uint64_t row_count) const {
  return row_count * layout_.row_bytes > last_level_cache_bytes() / 2 ? StoreHint::kStream
                                                                      : StoreHint::kKeep;
}

// One step of the schedule after the other; the peers of a step are served in token order, so that
// a token is read once for all of them.
void Engine::post_rows(const DispatchInput& input, Call& call, StoreHint hint) {
  const Round& round = *call.slot_round;
  {
    const trace::Span span(recorder_, trace::kPack, call.operation, call.round);
    pack_metadata(input, round);
  }
  const schedule::Schedule& schedule = *schedules_[call.options.schedule];
  collective::ProofChannel& proof = *row_proofs_[call.options.protocol];
  std::fill(in_group_.begin(), in_group_.end(), std::uint8_t{0});
  in_group_[static_cast<std::size_t>(rank_)] = 1;  // Own rows go with the first step.
  const int step_count = std::max(1, schedule.step_count());
  for (int step = 0; step < step_count; ++step) {
    const int lane_count = schedule.step_count() == 0 ? 0 : schedule.lane_count(step);
    for (int lane = 0; lane < lane_count; ++lane) {
      if (const int peer = schedule.target(rank_, step, lane); peer >= 0) {
        in_group_[static_cast<std::size_t>(peer)] = 1;
      }
    }
    {
      const trace::Span span(recorder_, trace::kPost, call.operation, call.round);
      post_step(input, round, hint);
    }
    const trace::Span span(recorder_, trace::kDoorbell, call.operation, call.round);
    for (int peer = 0; peer < rank_count_; ++peer) {
      if (in_group_[static_cast<std::size_t>(peer)] != 0) {
        close_peer(peer, round, proof);
      }
    }
    std::fill(in_group_.begin(), in_group_.end(), std::uint8_t{0});
  }
}

void Engine::post_step(const DispatchInput& input, const Round& round, StoreHint hint) {
  const auto* tokens = static_cast<const std::byte*>(input.tokens);
  const std::uint64_t rows_at = slot_of(round).rows;
  const auto post_row = [&](std::size_t token, std::int32_t owner, std::int64_t row) {
    if (in_group_[static_cast<std::size_t>(owner)] != 0) {
      put(owner, rows_at + static_cast<std::uint64_t>(row) * layout_.row_bytes,
          {tokens + token * layout_.row_bytes, layout_.row_bytes}, hint);
    }
  };
  if (round.layout == RowLayout::kPlain) {
    routing::for_each_plain_row(
        routes_of(round), round.row_of_route,
        [&](const routing::PlainRow& plain) { post_row(plain.token, plain.rank, plain.row); });
    return;
  }
  const auto lanes = static_cast<std::size_t>(options_.topk);
  for (std::size_t first = 0, token = 0; first < round.owners.size(); first += lanes, ++token) {
    for (std::size_t route = first; route < first + lanes; ++route) {
      if (round.owners[route] >= 0) {
        post_row(token, round.owners[route], round.row_of_route[route]);
      }
    }
  }
}

void Engine::close_peer(int peer, const Round& round, collective::ProofChannel& proof) {
  post_metadata(peer, round);
  const std::uint64_t row_count = round.layout == RowLayout::kPlain
                                      ? rank_tokens_[static_cast<std::size_t>(peer)]
                                      : rows_for(peer);
  recorder_.moved(trace::kPost, peer, row_count * layout_.row_bytes, row_count);
  if (peer != rank_) {
    // A fault of the channel is reported by the wait that follows.
    [[maybe_unused]] const Status status = proof.posted(RankId{peer});
  }
}

std::uint64_t Engine::rows_for(int peer) const {
  const auto* first = expert_rows_.data() + split_.first_expert(peer);
  return std::accumulate(first, first + split_.count(peer), std::uint64_t{0});
}

// --- metadata ------------------------------------------------------------------------------------

// Rows of one (source, expert) or, plain, of one source are neighbours at their destination: their
// metadata is packed in that order here and written with one put per array.
void Engine::pack_metadata(const DispatchInput& input, const Round& round) {
  const auto lanes = static_cast<std::size_t>(options_.topk);
  const bool is_plain = round.layout == RowLayout::kPlain;
  const std::span<const std::uint32_t> counts = is_plain ? rank_tokens_ : expert_rows_;
  std::uint64_t begin = 0;
  for (std::size_t group = 0; group < counts.size(); ++group) {
    packed_begin_[group] = begin;
    begin += counts[group];
  }
  packed_begin_[counts.size()] = begin;
  packed_token_.resize(begin);
  packed_weight_.resize(is_plain ? begin * lanes : begin);
  packed_expert_.resize(is_plain ? begin * lanes : 0);
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
    const std::uint64_t place =
        packed_place(static_cast<std::size_t>(round.experts[route]), round.row_of_route[route]);
    packed_token_[place] = static_cast<std::int32_t>(route / lanes);
    packed_weight_[place] = input.topk_weights.empty() ? 0.0F : input.topk_weights[route];
  }
}

void Engine::pack_plain(const DispatchInput& input, const Round& round) {
  const auto lanes = static_cast<std::size_t>(options_.topk);
  const auto pack_row = [&](const routing::PlainRow& plain) {
    const std::uint64_t place = packed_place(static_cast<std::size_t>(plain.rank), plain.row);
    const routing::LocalExperts local = split_.local_experts(plain.rank);
    packed_token_[place] = static_cast<std::int32_t>(plain.token);
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const std::size_t route = plain.token * lanes + lane;
      packed_expert_[place * lanes + lane] = local.local_id(round.experts[route]);
      packed_weight_[place * lanes + lane] =
          input.topk_weights.empty() ? 0.0F : input.topk_weights[route];
    }
  };
  routing::for_each_plain_row(routes_of(round), round.row_of_route, pack_row);
}

void Engine::post_metadata(int peer, const Round& round) {
  const RoundSlotLayout& slot = slot_of(round);
  const bool is_plain = round.layout == RowLayout::kPlain;
  const auto lanes = static_cast<std::uint64_t>(options_.topk);
  const int first = is_plain ? peer : split_.first_expert(peer);
  const int last = is_plain ? peer + 1 : first + split_.count(peer);
  for (int index = first; index < last; ++index) {
    const auto group = static_cast<std::size_t>(index);
    const std::uint64_t begin = packed_begin_[group];
    const std::uint64_t count = packed_begin_[group + 1] - begin;
    if (count == 0) {
      continue;
    }
    const auto row = static_cast<std::uint64_t>(my_start_[group]);
    const std::uint64_t weights_per_row = is_plain ? lanes : 1;
    put(peer, slot.source_token + row * sizeof(std::int32_t),
        std::as_bytes(std::span(packed_token_).subspan(begin, count)));
    if (round.has_weights) {
      put(peer, slot.weight + row * weights_per_row * sizeof(float),
          std::as_bytes(
              std::span(packed_weight_).subspan(begin * weights_per_row, count * weights_per_row)));
    }
    if (is_plain) {
      put(peer, slot.expert + row * lanes * sizeof(std::int32_t),
          std::as_bytes(std::span(packed_expert_).subspan(begin * lanes, count * lanes)));
    }
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
  const auto first = static_cast<std::size_t>(split_.first_expert(rank_));
  for (std::size_t local = 0; local < round.expert_begin.size(); ++local) {
    auto* row = source_rank + round.expert_begin[local];
    for (int source = 0; source < rank_count_; ++source) {
      row = std::fill_n(row, expert_matrix().row(static_cast<std::size_t>(source))[first + local],
                        source);
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
    }
  }
}

}  // namespace crossdock::ep
