// SPDX-License-Identifier: Apache-2.0
// The exchange that opens every operation.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/status_macros.h"
#include "ep/engine.h"
#include "protocol/protocol.h"

namespace crossdock::ep {

void Engine::write_announcement(const Call& call, const Status& own) {
  AnnouncementHead head;
  head.ordinal = call.ordinal;
  head.options = call.options;
  head.region = call.region;
  head.weights = static_cast<std::uint32_t>(call.weights);
  if (!own.ok()) {
    const std::string_view words = own.message();
    head.verdict = static_cast<std::uint32_t>(Verdict::kRefused);
    head.refusal_kind = static_cast<std::uint32_t>(own.kind());
    head.text_bytes =
        static_cast<std::uint32_t>(std::min<std::size_t>(words.size(), kRefusalTextBytes));
    std::memcpy(announcement_.data() + sizeof head, words.data(), head.text_bytes);
  }
  std::memcpy(announcement_.data(), &head, sizeof head);
}

// Counts travel only where they are not known: not in latency mode, not along a plan.
bool Engine::announces_counts(const Call& call) {
  return call.options.operation == static_cast<std::uint8_t>(OperationCode::kDispatch) &&
         call.options.mode == static_cast<std::uint8_t>(Mode::kThroughput) &&
         call.options.repeated == 0;
}

void Engine::write_counts(const Round& round) {
  std::byte* counts = announcement_.data() + sizeof(AnnouncementHead) + kRefusalTextBytes;
  const std::span experts = std::as_bytes(std::span(round.expert_rows));
  const std::span ranks = std::as_bytes(std::span(round.rank_tokens));
  std::memcpy(counts, experts.data(), experts.size());
  std::memcpy(counts + experts.size(), ranks.data(), ranks.size());
}

Status Engine::announce(Call& call, const Status& own) {
  const trace::Span span(recorder_, trace::kAnnounce, call.operation, call.round);
  write_announcement(call, own);
  std::size_t size = sizeof(AnnouncementHead);
  if (own.ok() && announces_counts(call)) {
    write_counts(*call.slot_round);
    size = announcement_.size();
  } else if (!own.ok()) {
    size += kRefusalTextBytes;
  }
  const std::uint64_t place = layout_.announcement(announce_->epoch(), rank_);
  AnnouncementHead head;
  std::memcpy(&head, announcement_.data(), sizeof head);
  for (int step = 0; step < rank_count_; ++step) {
    const int peer = (rank_ + step) % rank_count_;
    // Only the latency mode tells each peer a number of its own; a head that was posted may be
    // read later, so each peer has one.
    head.landed_count = landed_count_[static_cast<std::size_t>(peer)];
    heads_[static_cast<std::size_t>(peer)] = head;
    put(peer, place, std::as_bytes(std::span(heads_).subspan(static_cast<std::size_t>(peer), 1)));
    if (size > sizeof head) {
      put(peer, place + sizeof head,
          std::span(announcement_).subspan(sizeof head, size - sizeof head));
    }
    if (peer != rank_) {
      CROSSDOCK_RETURN_IF_ERROR(announce_->posted(RankId{peer}));
    }
    recorder_.moved(trace::kAnnounce, peer, size, 1);
  }
  return announce_->all_posted();
}

// Waits for all announcements and decides, equally on all ranks, whether the operation goes on.
Status Engine::reconcile(Call& call, const Status& own) {
  const trace::Span span(recorder_, trace::kReconcile, call.operation, call.round);
  CROSSDOCK_RETURN_IF_ERROR(announce_->wait_round(call.operation == trace::Operation::kCombine
                                                      ? "combine announcements"
                                                      : "dispatch announcements",
                                                  call.ordinal, call.deadline));
  CROSSDOCK_RETURN_IF_ERROR(settle(call.deadline));
  if (!own.ok()) {
    return own;
  }
  const AnnouncementHead mine = read_head(rank_);
  Status mismatch;
  for (int source = 0; source < rank_count_; ++source) {
    const AnnouncementHead head = read_head(source);
    Status status = compare_announcements(mine, rank_, head, source, read_refusal(source, head));
    if (static_cast<Verdict>(head.verdict) == Verdict::kRefused) {
      return status;
    }
    if (mismatch.ok()) {
      mismatch = status;
    }
    if (mismatch.ok()) {
      mismatch = merge_weights(static_cast<Weights>(head.weights), source, call);
    }
  }
  return mismatch;
}

// What was written before the announcements is covered by them when they are closed by the data
// protocol; otherwise that protocol says so once more, in a round without payload.
Status Engine::prove_announced(const Call& call, const trace::Stage& stage, const char* phase) {
  if (protocol::protocol_names()[call.options.protocol] == kAnnounceProtocol) {
    return {};
  }
  const trace::Span span(recorder_, stage, call.operation, call.round);
  collective::ProofChannel& proof = *row_proofs_[call.options.protocol];
  proof.open_round();
  for (int step = 1; step < rank_count_; ++step) {
    CROSSDOCK_RETURN_IF_ERROR(proof.posted(RankId{(rank_ + step) % rank_count_}));
  }
  CROSSDOCK_RETURN_IF_ERROR(proof.all_posted());
  return proof.wait_round(phase, call.round, call.deadline);
}

// Ranks with tokens must all bring weights or none may.
Status Engine::merge_weights(Weights theirs, int source, Call& call) {
  if (theirs == Weights::kAny || theirs == call.weights) {
    return {};
  }
  if (call.weights == Weights::kAny) {
    call.weights = theirs;
    call.weights_rank = source;
    return {};
  }
  return {
      StatusKind::kMismatch, Scope::kOperation,
      fmt::format("topk_weights differs: rank {} {} them, rank {} {}; all ranks with tokens must "
                  "do the same",
                  source, theirs == Weights::kGiven ? "brings" : "does not bring",
                  call.weights_rank, theirs == Weights::kGiven ? "does not" : "does"),
      source};
}

AnnouncementHead Engine::read_head(int source) const {
  AnnouncementHead head;
  std::memcpy(&head, local_at(layout_.announcement(announce_->epoch(), source)), sizeof head);
  return head;
}

std::string_view Engine::read_refusal(int source, const AnnouncementHead& head) const {
  const std::uint64_t place =
      layout_.announcement(announce_->epoch(), source) + sizeof(AnnouncementHead);
  return {reinterpret_cast<const char*>(local_at(place)),
          std::min<std::size_t>(head.text_bytes, kRefusalTextBytes)};
}

routing::CountMatrix Engine::expert_matrix() const {
  const std::uint64_t place =
      layout_.announcement(announce_->epoch(), 0) + sizeof(AnnouncementHead) + kRefusalTextBytes;
  return {local_array<const std::uint32_t>(place),
          layout_.announcement_bytes / sizeof(std::uint32_t), static_cast<std::size_t>(rank_count_),
          owner_of_.size()};
}

routing::CountMatrix Engine::token_matrix() const {
  routing::CountMatrix matrix = expert_matrix();
  matrix.first += owner_of_.size();
  matrix.column_count = static_cast<std::size_t>(rank_count_);
  return matrix;
}

}  // namespace crossdock::ep
