// SPDX-License-Identifier: Apache-2.0
// Dispatch: the recipe, then what both modes share. Throughput mode's phases are in throughput.cc,
// latency mode's in landing.cc.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/status_macros.h"
#include "ep/engine.h"
#include "protocol/protocol.h"
#include "routing/normalise.h"
#include "schedule/schedule.h"

namespace crossdock::ep {

// validate -> announce (latency: rows travel with it) -> reconcile -> move or place rows -> commit.
Result<std::shared_ptr<Round>> Engine::dispatch(const DispatchInput& input,
                                                const DispatchOptions& options) {
  CROSSDOCK_RETURN_IF_ERROR(usable());
  Call call = begin(OperationCode::kDispatch);
  const Status own = validate_dispatch(input, options, call);
  if (own.ok()) {
    // Whoever hears this rank's announcement may write into the round's slot: its readers must be
    // done, and so must this rank's own use of it (claim_slot saw to that).
    CROSSDOCK_RETURN_IF_ERROR(wait_readers(*call.slot_round));
  }
  const bool is_landing = call.options.mode == static_cast<std::uint8_t>(Mode::kLatency);
  if (own.ok() && is_landing) {
    land_rows(input, call);
  }
  CROSSDOCK_RETURN_IF_ERROR(announce(call, own));
  CROSSDOCK_RETURN_IF_ERROR(reconcile(call, own));
  call.slot_round->has_weights = call.weights == Weights::kGiven;
  CROSSDOCK_RETURN_IF_ERROR(is_landing ? place_landed(call) : exchange_rows(input, call));
  commit(call);
  return call.slot_round;
}

Status Engine::exchange_rows(const DispatchInput& input, Call& call) {
  CROSSDOCK_RETURN_IF_ERROR(locate_rows(call));
  collective::ProofChannel& proof = *row_proofs_[call.options.protocol];
  proof.open_round();
  const auto row_count = std::accumulate(needed_rows_.begin(), needed_rows_.end(), std::int64_t{0});
  post_rows(input, call, choose_hint(static_cast<std::uint64_t>(row_count)));
  CROSSDOCK_RETURN_IF_ERROR(proof.all_posted());
  finish_metadata(*call.slot_round);
  zero_gaps(call);
  const Status arrived = wait_rows(call);
  CROSSDOCK_RETURN_IF_ERROR(settle(call.deadline));
  return arrived;
}

// --- validate ------------------------------------------------------------------------------------

Status Engine::validate_dispatch(const DispatchInput& input, const DispatchOptions& options,
                                 Call& call) {
  const trace::Span span(recorder_, trace::kValidate, call.operation, call.round);
  CROSSDOCK_RETURN_IF_ERROR(resolve_options(input, options, call));
  CROSSDOCK_RETURN_IF_ERROR(claim_slot(call));
  return normalise_ids(input, call);
}

namespace {

Status refuse(std::string message, StatusKind kind = StatusKind::kInvalidArgument) {
  return {kind, Scope::kOperation, std::move(message)};
}

// The place of `name` in `names`; an empty name or "auto" means `fallback`.
Result<std::uint8_t> index_of(std::string_view what, std::string_view name,
                              std::span<const std::string_view> names, std::string_view fallback) {
  const std::string_view wanted = name.empty() || name == "auto" ? fallback : name;
  const auto found = std::find(names.begin(), names.end(), wanted);
  if (found == names.end()) {
    return refuse(
        fmt::format("{} is \"{}\"; allowed: auto, {}", what, name, fmt::join(names, ", ")));
  }
  return static_cast<std::uint8_t>(found - names.begin());
}

}  // namespace

Status Engine::resolve_options(const DispatchInput& input, const DispatchOptions& options,
                               Call& call) {
  const std::int64_t bound =
      options.max_tokens_per_rank == 0 ? options_.max_tokens_per_rank : options.max_tokens_per_rank;
  CollectiveOptions& agreed = call.options;
  agreed.layout = static_cast<std::uint8_t>(options.layout);
  agreed.padding = static_cast<std::uint8_t>(options.padding);
  agreed.max_tokens = bound;
  agreed.expert_alignment = static_cast<std::uint32_t>(options.expert_alignment);
  if (bound < 1 || bound > options_.max_tokens_per_rank) {
    return refuse(
        fmt::format("max_tokens_per_rank of this dispatch is {}; allowed: 1 .. {} (the "
                    "buffer's)",
                    bound, options_.max_tokens_per_rank));
  }
  if (input.token_count < 0 || input.token_count > bound) {
    return refuse(fmt::format("{} tokens for a capacity of {}; allowed: 0 .. {}", input.token_count,
                              bound, bound),
                  StatusKind::kCapacity);
  }
  if (options.expert_alignment < 1 || options.expert_alignment > options_.max_expert_alignment) {
    return refuse(fmt::format("expert_alignment is {}; allowed: 1 .. {} (max_expert_alignment)",
                              options.expert_alignment, options_.max_expert_alignment));
  }
  CROSSDOCK_ASSIGN_OR_RETURN(
      agreed.protocol,
      index_of("protocol", options.protocol.empty() ? options_.protocol : options.protocol,
               protocol::protocol_names(), "tail_fence"));
  CROSSDOCK_ASSIGN_OR_RETURN(
      agreed.schedule,
      index_of("schedule", options.schedule.empty() ? options_.schedule : options.schedule,
               schedule::schedule_names(), "direct"));
  // Latency mode learns the row counts only when the rows are there: the worst case must fit.
  const std::int64_t needed =
      worst_case_rows(options_, rank_count_, bound, options.expert_alignment);
  const bool fits = bound <= layout_.latency_tokens && needed <= layout_.row_capacity;
  if (options.mode == Mode::kLatency && !fits) {
    return refuse(
        fmt::format("latency mode needs max_tokens_per_rank <= {} (this dispatch: {}) and "
                    "row_capacity >= {} (the buffer's: {})",
                    layout_.latency_tokens, bound, needed, layout_.row_capacity));
  }
  const bool wants_latency = options.mode == Mode::kLatency ||
                             (options.mode == Mode::kAuto && fits && prefers_landing(bound));
  agreed.mode = static_cast<std::uint8_t>(wants_latency ? Mode::kLatency : Mode::kThroughput);
  return {};
}

// Landing saves one exchange and costs one more copy. Measured on 2 cores, the exchange is worth
// more only where waiting means a turn on a shared core, and only while a rank's landing areas are
// small.
bool Engine::prefers_landing(std::int64_t token_count) const {
  constexpr std::uint64_t kLandingBytesMax = std::uint64_t{256} << 10;
  return ranks_share_cores_ &&
         static_cast<std::uint64_t>(rank_count_ * token_count) * layout_.row_bytes <=
             kLandingBytesMax;
}

Status Engine::claim_slot(Call& call) {
  const auto slot = static_cast<std::size_t>(round_count_ % rounds_.size());
  std::shared_ptr<Round>& round = rounds_[slot];
  if (round.use_count() > 1) {
    const auto open_count =
        std::count_if(rounds_.begin(), rounds_.end(),
                      [](const std::shared_ptr<Round>& each) { return each.use_count() > 1; });
    return refuse(
        fmt::format("the slot of round {} is needed and its handle is still held ({} of {} "
                    "rounds are open); drop that handle first, or make the buffer with "
                    "more open_rounds",
                    round->round, open_count, rounds_.size()),
        StatusKind::kBusy);
  }
  call.slot_round = round;
  round->round = call.round;
  round->slot = static_cast<int>(slot);
  round->layout = static_cast<RowLayout>(call.options.layout);
  round->mode = static_cast<Mode>(call.options.mode);
  round->protocol_index = call.options.protocol;
  round->protocol = protocol::protocol_names()[call.options.protocol];
  round->schedule = schedule::schedule_names()[call.options.schedule];
  round->expert_alignment = call.options.expert_alignment;
  round->rows_are_known = false;
  round->rows_window_offset = layout_.slots[slot].rows;
  return {};
}

Status Engine::normalise_ids(const DispatchInput& input, Call& call) {
  Round& round = *call.slot_round;
  const auto token_count = static_cast<std::size_t>(input.token_count);
  const std::size_t route_count = token_count * static_cast<std::size_t>(options_.topk);
  round.token_count = input.token_count;
  if (input.topk_ids.size() != route_count) {
    return refuse(fmt::format("topk_ids has {} ids; allowed: {} ({} tokens x top-{})",
                              input.topk_ids.size(), route_count, token_count, options_.topk));
  }
  if (!input.topk_weights.empty() && input.topk_weights.size() != route_count) {
    return refuse(fmt::format("topk_weights has {} weights; allowed: 0 or {} ({} tokens x top-{})",
                              input.topk_weights.size(), route_count, token_count, options_.topk));
  }
  if (input.tokens == nullptr && token_count > 0) {
    return refuse(fmt::format("tokens is null; allowed: {} rows of {} bytes", token_count,
                              layout_.row_bytes));
  }
  if (token_count > 0) {
    call.weights = input.topk_weights.empty() ? Weights::kNone : Weights::kGiven;
    call.weights_rank = rank_;
  }
  round.experts.resize(route_count);
  const std::span<std::int32_t> experts(round.experts);
  CROSSDOCK_RETURN_IF_ERROR(
      input.topk_ids.is_wide() ? routing::normalise_topk(input.topk_ids.wide(), input.token_count,
                                                         options_.topk, options_.experts, experts)
                               : routing::normalise_topk(input.topk_ids.narrow(), input.token_count,
                                                         options_.topk, options_.experts, experts));
  round.owners.resize(route_count);
  routing::find_owners(experts, owner_of_, round.owners);
  if (call.options.mode == static_cast<std::uint8_t>(Mode::kThroughput)) {
    routing::count_routes(routes_of(round), {expert_rows_, rank_tokens_});
  }
  round.row_of_route.assign(route_count, -1);
  return {};
}

// --- finish --------------------------------------------------------------------------------------

Status Engine::wait_rows(Call& call) {
  const trace::Span span(recorder_, trace::kArrive, call.operation, call.round);
  return row_proofs_[call.options.protocol]->wait_round("dispatch rows", call.round, call.deadline);
}

void Engine::commit(Call& call) {
  ++round_count_;
  call.slot_round->last_combine = 0;
}

}  // namespace crossdock::ep
