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
  round.row_count = round.filled_rows;
  count_sources(round);
  round.rows_are_known = true;
  round.total_rows = std::accumulate(needed_rows_.begin(), needed_rows_.end(), std::int64_t{0});
  // Every rank sees every rank's need, so all refuse or none.
  return routing::check_row_capacity(needed_rows_, layout_.row_capacity);
}

// Counts come from peers' memory: a number that no honest rank can have would send rows astray.
Status Engine::check_counts(const Call& call) const {
  const auto bound = static_cast<std::uint64_t>(call.options.max_tokens);
  for (std::size_t source = 0; source < needed_rows_.size(); ++source) {
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
  routing::plan_expanded(counts, rank_, {round.first_row, all_rows_, needed_rows_});
  next_start_ = round.first_row;
  routing::place_expanded(round.experts, next_start_, round.row_of_route);
  round.filled_rows = routing::layout_expanded(counts, rank_, groups_of(round));
}

void Engine::locate_plain(Round& round) {
  const routing::CountMatrix tokens = token_matrix();
  const std::span starts = std::span(round.first_row).first(needed_rows_.size());
  routing::plan_plain(tokens, rank_, {starts, needed_rows_});
  next_start_ = round.first_row;
  routing::place_plain(routes_of(round), std::span(next_start_).first(starts.size()),
                       round.row_of_route);
  // Plain rows have no groups; experts' counts are told all the same.
  const routing::ExpandedCounts counts{expert_matrix(), split_, round.expert_alignment};
  routing::layout_expanded(counts, rank_, groups_of(round));
  round.filled_rows = needed_rows_[static_cast<std::size_t>(rank_)];
}

void Engine::count_sources(Round& round) const {
  const auto own = static_cast<std::size_t>(rank_);
  const auto first = static_cast<std::size_t>(split_.first_expert(rank_));
  for (std::size_t source = 0; source < round.rows_per_source.size(); ++source) {
    const auto expert_rows = expert_matrix().row(source).subspan(first, next_row_.size());
    std::copy(
        expert_rows.begin(), expert_rows.end(),
        round.source_expert_rows.begin() + static_cast<std::ptrdiff_t>(source * next_row_.size()));
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

// post_row(token, owner, row) for the rows of this step, in token order.
template <typename PostRow>
void Engine::for_each_row(const Round& round, std::size_t first_token, std::size_t end_token,
                          const PostRow& post_row) const {
  const auto lanes = static_cast<std::size_t>(options_.topk);
  const auto is_now = [&](std::int32_t owner) {
    return owner >= 0 && in_group_[static_cast<std::size_t>(owner)] != 0;
  };
  for (std::size_t token = first_token; token < end_token; ++token) {
    const auto owners = routes_of(round).owners_of(token);
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      if (is_now(owners[lane]) &&
          (round.layout == RowLayout::kExpanded || routing::is_master_lane(owners, lane))) {
        post_row(token, owners[lane], round.row_of_route[token * lanes + lane]);
      }
    }
  }
}

void Engine::post_step(const DispatchInput& input, const Round& round, StoreHint hint) {
  if (post_step_shared(input, round, hint)) {
    return;
  }
  const auto* tokens = static_cast<const std::byte*>(input.tokens);
  const std::uint64_t rows_at = slot_of(round).rows;
  collective::ProofChannel& proof = *row_proofs_[round.protocol_index];
  for_each_row(round, 0, static_cast<std::size_t>(round.token_count),
               [&](std::size_t token, std::int32_t owner, std::int64_t row) {
                 proof.post_put(RankId{owner},
                                rows_at + static_cast<std::uint64_t>(row) * layout_.row_bytes,
                                {tokens + token * layout_.row_bytes, layout_.row_bytes}, hint);
               });
}

// Several threads store into the peers' windows at once, each the rows of its own tokens: where the
// fabric reaches them by store and the protocol wants nothing of single puts. The proof that this
// thread posts afterwards covers all, for what the others did happens before.
bool Engine::post_step_shared(const DispatchInput& input, const Round& round, StoreHint hint) {
  const auto token_count = static_cast<std::size_t>(round.token_count);
  const std::uint64_t byte_count = round.owners.size() * layout_.row_bytes;
  if (!workers_.is_worth(byte_count) || !fabric_->guarantees().load_store_reach ||
      row_proofs_[round.protocol_index]->protocol().notify_word() >= 0) {
    return false;
  }
  const auto* tokens = static_cast<const std::byte*>(input.tokens);
  const std::uint64_t rows_at = slot_of(round).rows;
  workers_.run(token_count, byte_count, [&](std::size_t first, std::size_t end) {
    for_each_row(round, first, end, [&](std::size_t token, std::int32_t owner, std::int64_t row) {
      copy_bytes(window_->peer(RankId{owner}).data() + rows_at +
                     static_cast<std::uint64_t>(row) * layout_.row_bytes,
                 tokens + token * layout_.row_bytes, layout_.row_bytes, hint);
    });
    store_fence();  // Streaming stores are drained by the thread that made them.
  });
  return true;
}

void Engine::close_peer(int peer, const Round& round, collective::ProofChannel& proof) {
  post_metadata(peer, round);
  const std::uint64_t row_count = round.layout == RowLayout::kPlain
                                      ? round.rank_tokens[static_cast<std::size_t>(peer)]
                                      : rows_for(peer, round);
  recorder_.moved(trace::kPost, peer, row_count * layout_.row_bytes, row_count);
  if (peer != rank_) {
    // A fault of the channel is reported by the wait that follows.
    [[maybe_unused]] const Status status = proof.posted(RankId{peer});
  }
}

std::uint64_t Engine::rows_for(int peer, const Round& round) const {
  const auto* first = round.expert_rows.data() + split_.first_expert(peer);
  return std::accumulate(first, first + split_.count(peer), std::uint64_t{0});
}

}  // namespace crossdock::ep
