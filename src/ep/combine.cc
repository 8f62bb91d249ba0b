// SPDX-License-Identifier: Apache-2.0
// Combine, pull path: expert rows stay where they are; every rank reads the rows of its own tokens
// in place in its peers' windows and sums them in one pass.
//
// Contract of its own, beside the data protocol's: *rows ready* - a rank's announcement, with the
// data protocol's proof, says that its expert rows may be read; *readers done* - a credit per
// reader says that they will not be read again, and nobody writes there before
// (collective/credits.h).
#include <fmt/format.h>

#include <array>
#include <cstring>

#include "base/reduce.h"
#include "base/status_macros.h"
#include "ep/engine.h"
#include "protocol/protocol.h"

namespace crossdock::ep {

// validate -> stage output -> announce -> reconcile -> learn rows -> reduce -> readers done.
Status Engine::combine(const CombineInput& input, Round& round, void* tokens) {
  CROSSDOCK_RETURN_IF_ERROR(usable());
  Call call = begin(OperationCode::kCombine);
  const Status own = validate_combine(input, round, tokens, call);
  if (own.ok()) {
    CROSSDOCK_RETURN_IF_ERROR(stage_output(input, round, call));
  }
  CROSSDOCK_RETURN_IF_ERROR(announce(call, own));
  CROSSDOCK_RETURN_IF_ERROR(reconcile(call, own));
  CROSSDOCK_RETURN_IF_ERROR(prove_rows_ready(call));
  ++combine_count_;
  round.last_combine = combine_count_;
  const Status read = read_rows(round, tokens, call);
  credits_->post_readers_done(combine_count_);
  return read;
}

Status Engine::read_rows(Round& round, void* tokens, const Call& call) {
  for (int owner = 0; owner < rank_count_; ++owner) {
    CROSSDOCK_RETURN_IF_ERROR(find_region(owner, round));
  }
  CROSSDOCK_RETURN_IF_ERROR(learn_rows(round));
  const trace::Span span(recorder_, trace::kReduce, call.operation, call.round);
  reduce_tokens(round, tokens);
  return {};
}

// --- validate ------------------------------------------------------------------------------------

Status Engine::validate_combine(const CombineInput& input, const Round& round, const void* tokens,
                                Call& call) {
  const auto refuse = [](std::string message, StatusKind kind = StatusKind::kInvalidArgument) {
    return Status(kind, Scope::kOperation, std::move(message));
  };
  if (round.owner != this) {
    return refuse(
        "the handle belongs to another buffer; allowed: a handle of this buffer's dispatch");
  }
  call.round = round.round;
  call.options.round = round.round;
  call.options.layout = static_cast<std::uint8_t>(round.layout);
  call.options.mode = static_cast<std::uint8_t>(round.mode);
  call.options.protocol = round.protocol_index;
  if (options_.element == ElementType::kBytes) {
    return refuse("rows of raw bytes cannot be summed; allowed: bf16, fp32",
                  StatusKind::kUnsupported);
  }
  if (input.row_count != round.row_count) {
    return refuse(fmt::format("combine got {} rows; allowed: exactly {}, the rows of round {}",
                              input.row_count, round.row_count, round.round));
  }
  if (input.rows == nullptr && input.row_count > 0) {
    return refuse(fmt::format("rows is null; allowed: {} rows of {} bytes", input.row_count,
                              layout_.row_bytes));
  }
  if (tokens == nullptr && round.token_count > 0) {
    return refuse(fmt::format("tokens is null; allowed: room for {} rows of {} bytes",
                              round.token_count, layout_.row_bytes));
  }
  return {};
}

// --- rows ready ----------------------------------------------------------------------------------

// Rows that lie in this round's regions are read where they are; others are copied into the outputs
// region once the readers of its last contents are done.
Status Engine::stage_output(const CombineInput& input, const Round& round, Call& call) {
  const RoundSlotLayout& slot = slot_of(round);
  const auto* rows = static_cast<const std::byte*>(input.rows);
  if (rows == local_at(slot.rows)) {
    call.region = kRowsRegion;
    return {};
  }
  call.region = kOutputsRegion;
  if (rows == local_at(slot.outputs) || input.row_count == 0) {
    return {};
  }
  CROSSDOCK_RETURN_IF_ERROR(wait_readers(round));
  const trace::Span span(recorder_, trace::kStageOutput, call.operation, call.round);
  const std::uint64_t size = static_cast<std::uint64_t>(input.row_count) * layout_.row_bytes;
  std::memmove(local_at(slot.outputs), rows, size);
  recorder_.moved(trace::kStageOutput, rank_, size, 1);
  return {};
}

// With the announcements' own protocol they cover the rows, which were written before them.
Status Engine::prove_rows_ready(const Call& call) {
  if (announcement_proves_data(call)) {
    return {};
  }
  const trace::Span span(recorder_, trace::kReady, call.operation, call.round);
  collective::ProofChannel& proof = *row_proofs_[call.options.protocol];
  proof.open_round();
  for (int step = 1; step < rank_count_; ++step) {
    CROSSDOCK_RETURN_IF_ERROR(proof.posted(RankId{(rank_ + step) % rank_count_}));
  }
  CROSSDOCK_RETURN_IF_ERROR(proof.all_posted());
  return proof.wait_round("combine rows ready", call.round, call.deadline);
}

Status Engine::find_region(int owner, const Round& round) {
  const RoundSlotLayout& slot = slot_of(round);
  const std::uint32_t region = read_head(owner).region;
  if (region != kRowsRegion && region != kOutputsRegion) {
    return {
        StatusKind::kInternal, Scope::kCommunicator,
        fmt::format("rank {} announced region {}; allowed: 1 (rows), 2 (outputs)", owner, region),
        owner};
  }
  region_base_[static_cast<std::size_t>(owner)] =
      window_->peer(RankId{owner}).data() + (region == kRowsRegion ? slot.rows : slot.outputs);
  return {};
}

// Latency mode: the destinations placed the rows; their tables say where.
Status Engine::learn_rows(Round& round) {
  if (round.rows_are_known) {
    return {};
  }
  const RoundSlotLayout& slot = slot_of(round);
  const auto lanes = static_cast<std::size_t>(options_.topk);
  const auto mine = static_cast<std::uint64_t>(rank_ * layout_.latency_tokens);
  for (std::size_t route = 0; route < round.owners.size(); ++route) {
    const std::int32_t owner = round.owners[route];
    if (owner < 0) {
      continue;
    }
    const auto* table = reinterpret_cast<const std::int64_t*>(window_->peer(RankId{owner}).data() +
                                                              slot.row_of_landed);
    const auto landed = static_cast<std::uint64_t>(round.landed_of_route[route]);
    const std::int64_t row = table[(mine + landed) * lanes + route % lanes];
    if (row < 0 || row >= layout_.row_capacity) {
      return {StatusKind::kInternal, Scope::kCommunicator,
              fmt::format("rank {} says token {} lane {} lies in row {}; allowed: 0 .. {}", owner,
                          route / lanes, route % lanes, row, layout_.row_capacity - 1),
              owner};
    }
    round.row_of_route[route] = row;
  }
  round.rows_are_known = true;
  return {};
}

// --- reduce --------------------------------------------------------------------------------------

// Plan `single`: contributors in ascending lane order. Expanded: every lane has a row of its own.
// Plain: a rank's row counts once, at the token's highest lane there.
void Engine::reduce_tokens(const Round& round, void* tokens) {
  constexpr std::size_t kLanesMax = 128;
  std::array<const void*, kLanesMax> rows;
  const auto lanes = static_cast<std::size_t>(options_.topk);
  const bool is_plain = round.layout == RowLayout::kPlain;
  const auto element_count = static_cast<std::size_t>(options_.hidden);
  auto* out = static_cast<std::byte*>(tokens);
  const StoreHint hint = choose_hint(static_cast<std::uint64_t>(round.token_count * rank_count_));
  for (std::size_t first = 0; first < round.owners.size(); first += lanes) {
    const auto owners = std::span(round.owners).subspan(first, lanes);
    std::size_t row_count = 0;
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const std::int32_t owner = owners[lane];
      if (owner < 0 || (is_plain && !routing::is_master_lane(owners, lane))) {
        continue;
      }
      rows[row_count++] =
          region_base_[static_cast<std::size_t>(owner)] +
          static_cast<std::uint64_t>(round.row_of_route[first + lane]) * layout_.row_bytes;
    }
    reduce_rows(options_.element, out, std::span(rows.data(), row_count), element_count, hint);
    out += layout_.row_bytes;
  }
  store_fence();  // The caller may hand the tokens to another thread.
  recorder_.moved(trace::kReduce, rank_, round.owners.size() * layout_.row_bytes,
                  round.owners.size());
}

}  // namespace crossdock::ep
