// SPDX-License-Identifier: Apache-2.0
// Dispatch, racing mode: rows and their counts come from different producers and are not ordered
// with each other. A row is a block with a flag, in a landing area per local expert and source; a
// count is a word per pair. protocol/counts_and_blocks.h reconciles them; rows are put into their
// final places as soon as all counts are known and their own flags are seen.
//
// The announcement goes first and proves nothing about rows; it says that everybody is in this
// operation. Two halves alternate by its epoch, for the same reason as in landing.cc; flags and
// counts carry it.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/status_macros.h"
#include "ep/engine.h"

namespace crossdock::ep {
namespace {

// Head of a block; the scale follows.
struct BlockHead {
  std::uint64_t flag;
  std::uint32_t token;
  std::uint32_t lane;
  float weight;
  std::uint32_t reserved;
};
static_assert(sizeof(BlockHead) == 24);

using Seen = protocol::CountsAndBlocks::Seen;

}  // namespace

// --- send ----------------------------------------------------------------------------------------

// Neither order is relied on, so half of the ranks take the one and half the other.
void Engine::race_rows(const DispatchInput& input, Call& call) {
  const trace::Span span(recorder_, trace::kPost, call.operation, call.round);
  Round& round = *call.slot_round;
  const bool counts_go_first = rank_ % 2 == 1;
  if (counts_go_first) {
    race_counts(round);
  }
  round.landed_of_route.assign(round.experts.size(), -1);
  race_heads_.resize(round.experts.size() * layout_.race_row);
  std::fill(next_block_.begin(), next_block_.end(), 0);
  for (std::size_t route = 0; route < round.experts.size(); ++route) {
    if (round.experts[route] >= 0) {
      round.landed_of_route[route] = next_block_[static_cast<std::size_t>(round.experts[route])]++;
      race_route(input, route, round);
    }
  }
  if (!counts_go_first) {
    race_counts(round);
  }
}

void Engine::race_counts(const Round& round) {
  const std::uint64_t epoch = announce_->epoch();
  for (int step = 0; step < rank_count_; ++step) {
    const int peer = (rank_ + step) % rank_count_;
    fabric::Queue& queue = *queues_[static_cast<std::size_t>(peer)];
    for (int local = 0; local < split_.count(peer); ++local) {
      const auto expert = static_cast<std::size_t>(split_.first_expert(peer) + local);
      queue.post_value({window_.get(), layout_.race_count(epoch, rank_, local)},
                       protocol::CountsAndBlocks::count_word(epoch, round.expert_rows[expert]),
                       fabric::Order::kNone);
    }
    queue.ring_doorbell();
  }
}

// The row and what is beside it, then the flag, a strong write of its own behind them.
void Engine::race_route(const DispatchInput& input, std::size_t route, const Round& round) {
  const std::uint64_t epoch = announce_->epoch();
  const auto lanes = static_cast<std::size_t>(options_.topk);
  const std::size_t token = route / lanes;
  const int owner = round.owners[route];
  const int local = round.experts[route] - split_.first_expert(owner);
  const std::uint64_t place =
      layout_.race_block(epoch, rank_, local) +
      static_cast<std::uint64_t>(round.landed_of_route[route]) * layout_.race_block_bytes;
  const BlockHead head{.flag = 0,
                       .token = static_cast<std::uint32_t>(token),
                       .lane = static_cast<std::uint32_t>(route % lanes),
                       .weight = input.topk_weights.empty() ? 0.0F : input.topk_weights[route],
                       .reserved = 0};
  // What was posted stays as it is until it is settled: each route has a head of its own.
  const auto head_at = std::span(race_heads_).subspan(route * layout_.race_row, layout_.race_row);
  std::memcpy(head_at.data(), &head, sizeof head);
  copy_plain(head_at.data() + sizeof head,
             static_cast<const std::byte*>(input.scales) + token * layout_.scale_bytes,
             layout_.scale_bytes);
  // All but the flag, which may still hold an older round's.
  put(owner, place + sizeof head.flag, head_at.subspan(sizeof head.flag));
  put(owner, place + layout_.race_row,
      {static_cast<const std::byte*>(input.tokens) + token * layout_.row_bytes, layout_.row_bytes});
  fabric::Queue& queue = *queues_[static_cast<std::size_t>(owner)];
  queue.post_value({window_.get(), place}, epoch, fabric::Order::kStrong);
  queue.ring_doorbell();
  recorder_.moved(trace::kPost, owner, layout_.row_bytes, 1);
}

// --- reconcile -----------------------------------------------------------------------------------

Status Engine::settle_race(Call& call) {
  {
    const trace::Span span(recorder_, trace::kArrive, call.operation, call.round);
    race_->open_round(announce_->epoch());
    race_is_located_ = false;
    Status fault;
    fabric::WaitSession session(
        {.phase = "racing rows", .round = call.round, .expected = announce_->epoch()},
        call.deadline);
    CROSSDOCK_RETURN_IF_ERROR(
        fabric::wait(*fabric_, session, [&] { return poll_race(call, fault, session.what); }));
    CROSSDOCK_RETURN_IF_ERROR(fault);
  }
  zero_gaps(call);
  define_suffix(*call.slot_round);
  return {};
}

// True when all rows are in their places, or at a fault.
bool Engine::poll_race(Call& call, Status& fault, fabric::WaitFor& what) {
  if (!race_->has_all_counts() && !look_for_counts(fault, what)) {
    return !fault.ok();
  }
  if (!race_is_located_) {
    race_is_located_ = true;
    fault = locate_raced(call);
  }
  return !fault.ok() || take_blocks(*call.slot_round, fault, what) || !fault.ok();
}

bool Engine::look_for_counts(Status& fault, fabric::WaitFor& what) {
  for (int source = 0; source < rank_count_; ++source) {
    for (int local = 0; local < split_.count(rank_); ++local) {
      if (!race_->awaits_count(local, source)) {
        continue;
      }
      const std::atomic_ref word(
          *local_array<std::uint64_t>(layout_.race_count(announce_->epoch(), source, local)));
      const std::uint64_t value = word.load(std::memory_order_acquire);
      const Seen seen = race_->observe_count(local, source, value);
      if (seen == Seen::kFault) {
        fault = {StatusKind::kInternal, Scope::kCommunicator,
                 fmt::format("rank {} says {:#x} for the rows of local expert {}; allowed: a count "
                             "of epoch {}",
                             source, value, local, announce_->epoch()),
                 source};
        return false;
      }
      what.peer = seen == Seen::kNothing ? source : what.peer;
    }
  }
  return race_->has_all_counts();
}

// All counts are known, so every row has its place; most rows are probably still on their way.
Status Engine::locate_raced(Call& call) {
  const trace::Span span(recorder_, trace::kLocate, call.operation, call.round);
  Round& round = *call.slot_round;
  const int local_count = split_.count(rank_);
  std::fill(round.rows_per_expert.begin(), round.rows_per_expert.end(), 0);
  std::fill(round.rows_per_source.begin(), round.rows_per_source.end(), 0);
  for (int source = 0; source < rank_count_; ++source) {
    for (int local = 0; local < local_count; ++local) {
      const std::uint32_t count = race_->count(local, source);
      round.rows_per_expert[static_cast<std::size_t>(local)] += count;
      round.rows_per_source[static_cast<std::size_t>(source)] += count;
    }
  }
  round.filled_rows = routing::align_groups(round.expert_alignment, groups_of(round));
  round.row_count = round.filled_rows;
  if (round.filled_rows > layout_.row_capacity) {
    return {StatusKind::kInternal, Scope::kCommunicator,
            fmt::format("announced rows need {} places; allowed: {}", round.filled_rows,
                        layout_.row_capacity)};
  }
  auto* row_of_pair = local_array<std::int64_t>(slot_of(round).row_of_pair);
  for (int local = 0; local < local_count; ++local) {
    std::int64_t row = round.expert_begin[static_cast<std::size_t>(local)];
    for (int source = 0; source < rank_count_; ++source) {
      row_of_pair[source * layout_.local_expert_max + local] = row;
      row += race_->count(local, source);
    }
  }
  return {};
}

bool Engine::take_blocks(Round& round, Status& fault, fabric::WaitFor& what) {
  for (int source = 0; source < rank_count_; ++source) {
    for (int local = 0; local < split_.count(rank_); ++local) {
      while (race_->awaits_block(local, source)) {
        const std::uint64_t place = layout_.race_block(announce_->epoch(), source, local) +
                                    race_->next_block(local, source) * layout_.race_block_bytes;
        const std::atomic_ref flag(*local_array<std::uint64_t>(place));
        // Pairs with the strong post_value in race_route().
        const std::uint64_t value = flag.load(std::memory_order_acquire);
        const Status taken = take_block(source, local, round, value);
        if (!taken.ok()) {
          fault = taken;
          return false;
        }
        if (value < announce_->epoch()) {
          what.peer = source;
          what.observed = value;
          break;
        }
      }
    }
  }
  return race_->is_round_proven();
}

// The pair's next block, if its flag says that it is here.
Status Engine::take_block(int source, int local, Round& round, std::uint64_t flag) {
  const std::uint32_t index = race_->next_block(local, source);
  const Seen seen = race_->observe_flag(local, source, flag);
  if (seen == Seen::kNothing) {
    return {};
  }
  const std::byte* block = local_at(layout_.race_block(announce_->epoch(), source, local) +
                                    index * layout_.race_block_bytes);
  BlockHead head;
  std::memcpy(&head, block, sizeof head);
  if (seen == Seen::kFault || head.token >= round.max_tokens ||
      head.lane >= static_cast<std::uint32_t>(options_.topk)) {
    return {StatusKind::kInternal, Scope::kCommunicator,
            fmt::format("block {} of rank {} for local expert {} has flag {}, token {}, lane {}; "
                        "allowed: flag {}, tokens below {}, lanes below {}",
                        index, source, local, flag, head.token, head.lane, announce_->epoch(),
                        round.max_tokens, options_.topk),
            source};
  }
  const RoundSlotLayout& slot = slot_of(round);
  const std::int64_t row =
      local_array<std::int64_t>(slot.row_of_pair)[source * layout_.local_expert_max + local] +
      index;
  const auto place = static_cast<std::uint64_t>(row);
  local_array<std::int32_t>(slot.source_rank)[row] = source;
  local_array<std::int32_t>(slot.source_token)[row] = static_cast<std::int32_t>(head.token);
  local_array<float>(slot.weight)[row] = head.weight;
  if (layout_.has_push) {
    local_array<std::int32_t>(slot.lane)[row] = static_cast<std::int32_t>(head.lane);
  }
  copy_plain(local_at(slot.scale + place * layout_.scale_bytes), block + sizeof head,
             layout_.scale_bytes);
  copy_plain(local_at(slot.rows + place * layout_.row_bytes), block + layout_.race_row,
             layout_.row_bytes);
  return {};
}

// Where the owner put one of this rank's routes; its table says where the pair begins.
std::int64_t Engine::raced_row(std::size_t route, const Round& round) {
  const int owner = round.owners[route];
  const int local = round.experts[route] - split_.first_expert(owner);
  const auto* table = reinterpret_cast<const std::int64_t*>(window_->peer(RankId{owner}).data() +
                                                            slot_of(round).row_of_pair);
  return table[rank_ * layout_.local_expert_max + local] + round.landed_of_route[route];
}

}  // namespace crossdock::ep
