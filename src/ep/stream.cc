// SPDX-License-Identifier: Apache-2.0
// Dispatch, streamed: it returns when everybody knows where rows go, and the waits that follow send
// and await them. Step l sends every peer the rows of its local expert l and then, behind them on
// the same queue, a word that holds the round: a receiver has an expert's rows when the words of
// all sources that have rows for it hold the round. The round as a whole is still closed and proven
// by the data protocol, so whatever comes later finds it as if it had never been streamed.
//
// One half of words is enough: a source writes those of the next round once it has this rank's
// announcement of it, made after this round was proven. A word is written only where rows are.
#include <atomic>

#include "base/check.h"
#include "base/status_macros.h"
#include "ep/engine.h"

namespace crossdock::ep {

Status Engine::begin_stream(const DispatchInput& input, Call& call) {
  Round& round = *call.slot_round;
  const StoreHint hint = choose_hint(static_cast<std::uint64_t>(round.total_rows));
  finish_metadata(round);
  zero_gaps(call);
  define_suffix(round);
  stream_ = {.round = call.slot_round,
             .tokens = static_cast<const std::byte*>(input.tokens),
             .hint = hint};
  // Rows of the plain layout are not grouped by expert: all are sent at once.
  if (round.layout == RowLayout::kPlain) {
    stream_.next_step = split_.max_count();
    post_rows(input, call, hint);
    return row_proofs_[round.protocol_index]->all_posted();
  }
  pack_metadata(input, round);
  return {};
}

bool Engine::all_sent() const { return stream_.next_step >= split_.max_count(); }

// The rows of every peer's local expert number next_step.
Status Engine::send_step() {
  const Round& round = *stream_.round;
  const trace::Span span(recorder_, trace::kPost, trace::Operation::kDispatch, round.round);
  const int local = stream_.next_step++;
  for (int step = 0; step < rank_count_; ++step) {
    const int peer = (rank_ + step) % rank_count_;
    if (local < split_.count(peer)) {
      send_group(peer, local);
    }
  }
  if (!all_sent()) {
    return {};
  }
  collective::ProofChannel& proof = *row_proofs_[round.protocol_index];
  for (int step = 1; step < rank_count_; ++step) {
    CROSSDOCK_RETURN_IF_ERROR(proof.posted(RankId{(rank_ + step) % rank_count_}));
  }
  return proof.all_posted();
}

void Engine::send_group(int peer, int local) {
  const Round& round = *stream_.round;
  const auto expert = static_cast<std::size_t>(split_.first_expert(peer) + local);
  const std::uint64_t begin = packed_begin_[expert];
  const std::uint64_t count = packed_begin_[expert + 1] - begin;
  if (count == 0) {
    return;
  }
  collective::ProofChannel& proof = *row_proofs_[round.protocol_index];
  std::uint64_t place =
      slot_of(round).rows + static_cast<std::uint64_t>(round.first_row[expert]) * layout_.row_bytes;
  for (std::uint64_t index = begin; index < begin + count; ++index) {
    const auto token = static_cast<std::uint64_t>(packed_token_[index]);
    proof.post_put(RankId{peer}, place,
                   {stream_.tokens + token * layout_.row_bytes, layout_.row_bytes}, stream_.hint);
    place += layout_.row_bytes;
  }
  post_group_metadata(peer, expert, round);
  recorder_.moved(trace::kPost, peer, count * layout_.row_bytes, count);
  fabric::Queue& queue = *queues_[static_cast<std::size_t>(peer)];
  queue.post_value({window_.get(), layout_.expert_word(rank_, local)}, round.round,
                   fabric::Order::kStrong);
  queue.ring_doorbell();
}

// Whether all rows of the expert are here; if not, `what` names a source that is missing.
bool Engine::expert_arrived(int local, fabric::WaitFor& what) const {
  const Round& round = *stream_.round;
  const std::size_t local_count = round.rows_per_expert.size();
  for (int source = 0; source < rank_count_; ++source) {
    const auto pair =
        static_cast<std::size_t>(source) * local_count + static_cast<std::size_t>(local);
    if (round.source_expert_rows[pair] == 0) {
      continue;
    }
    const std::atomic_ref word(*local_array<std::uint64_t>(layout_.expert_word(source, local)));
    // Pairs with the strong post_value in send_group().
    const std::uint64_t arrived = word.load(std::memory_order_acquire);
    if (arrived != round.round) {
      what.peer = source;
      what.observed = arrived;
      return false;
    }
  }
  return true;
}

Status Engine::wait_expert(const Round& round, int local) {
  CROSSDOCK_CHECK(local >= 0 && local < split_.count(rank_), "local expert {} of {}", local,
                  split_.count(rank_));
  if (stream_.round.get() != &round) {
    return {};
  }
  // Where rows are not grouped, or queues keep no order, an expert has its rows with its sources.
  if (round.layout == RowLayout::kPlain ||
      fabric_->guarantees().queue_order == fabric::QueueOrder::kNone) {
    return wait_sources_of(round, local);
  }
  fabric::WaitSession session(
      {.phase = "rows of an expert", .round = round.round, .expected = round.round},
      fabric_->make_deadline());
  while (!expert_arrived(local, session.what) && !all_sent()) {
    CROSSDOCK_RETURN_IF_ERROR(send_step());
    if (ranks_share_cores_) {
      CROSSDOCK_RETURN_IF_ERROR(fabric_->idle(session));  // The others have steps to send too.
    }
  }
  const trace::Span span(recorder_, trace::kArrive, trace::Operation::kDispatch, round.round);
  return fabric::wait(*fabric_, session, [&] { return expert_arrived(local, session.what); });
}

Status Engine::wait_sources_of(const Round& round, int local) {
  const std::size_t local_count = round.rows_per_expert.size();
  for (int source = 0; source < rank_count_; ++source) {
    const auto pair =
        static_cast<std::size_t>(source) * local_count + static_cast<std::size_t>(local);
    if (round.source_expert_rows[pair] != 0) {
      CROSSDOCK_RETURN_IF_ERROR(wait_source(round, source));
    }
  }
  return {};
}

Status Engine::wait_source(const Round& round, int source) {
  CROSSDOCK_CHECK(source >= 0 && source < rank_count_, "source rank {} of {}", source, rank_count_);
  if (stream_.round.get() != &round) {
    return {};
  }
  CROSSDOCK_RETURN_IF_ERROR(send_rest());
  if (source == rank_) {
    return settle(fabric_->make_deadline());  // No proof covers them.
  }
  const trace::Span span(recorder_, trace::kArrive, trace::Operation::kDispatch, round.round);
  return row_proofs_[round.protocol_index]->wait_source(RankId{source}, "rows of a source",
                                                        round.round, fabric_->make_deadline());
}

Status Engine::wait_rows(const Round& round) {
  return stream_.round.get() == &round ? finish_stream() : Status();
}

Status Engine::send_rest() {
  while (!all_sent()) {
    CROSSDOCK_RETURN_IF_ERROR(send_step());
  }
  return {};
}

// Every operation begins with it: a round that is under way is completed first.
Status Engine::finish_stream() {
  if (stream_.round == nullptr) {
    return {};
  }
  CROSSDOCK_RETURN_IF_ERROR(send_rest());
  const std::shared_ptr<Round> round = std::move(stream_.round);
  const trace::Span span(recorder_, trace::kArrive, trace::Operation::kDispatch, round->round);
  CROSSDOCK_RETURN_IF_ERROR(row_proofs_[round->protocol_index]->wait_round(
      "dispatch rows", round->round, fabric_->make_deadline()));
  return settle(fabric_->make_deadline());
}

}  // namespace crossdock::ep
