// SPDX-License-Identifier: Apache-2.0
// Dispatch: the recipe, then what both modes share. Throughput mode's phases are in throughput.cc,
// latency mode's in landing.cc.
#include <fmt/format.h>

#include <algorithm>

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
  CROSSDOCK_RETURN_IF_ERROR(finish_stream());
  Call call = begin(OperationCode::kDispatch);
  const Status own = validate_dispatch(input, options, call);
  return carry_out(input, call, own);
}

// The same along known routes: throughput mode needs no counts, latency mode never did.
Result<std::shared_ptr<Round>> Engine::dispatch_again(const DispatchInput& input, const Round& plan,
                                                      const RepeatOptions& options) {
  CROSSDOCK_RETURN_IF_ERROR(usable());
  CROSSDOCK_RETURN_IF_ERROR(finish_stream());
  Call call = begin(OperationCode::kDispatch);
  const Status own = validate_repeat(input, plan, options, call);
  return carry_out(input, call, own);
}

Result<std::shared_ptr<Round>> Engine::carry_out(const DispatchInput& input, Call& call,
                                                 const Status& own) {
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
  const bool is_racing = call.options.mode == static_cast<std::uint8_t>(Mode::kRacing);
  if (own.ok() && is_racing) {
    race_rows(input, call);
  }
  CROSSDOCK_RETURN_IF_ERROR(reconcile(call, own));
  call.slot_round->has_weights = call.weights == Weights::kGiven;
  CROSSDOCK_RETURN_IF_ERROR(is_racing    ? settle_race(call)
                            : is_landing ? place_landed(call)
                                         : exchange_rows(input, call));
  commit(call);
  for (std::size_t local = 0; local < input.receive_statistics.size(); ++local) {
    input.receive_statistics[local] += call.slot_round->rows_per_expert[local];
  }
  return call.slot_round;
}

Status Engine::exchange_rows(const DispatchInput& input, Call& call) {
  if (call.options.repeated == 0) {
    CROSSDOCK_RETURN_IF_ERROR(locate_rows(call));
  }
  collective::ProofChannel& proof = *row_proofs_[call.options.protocol];
  proof.open_round();
  if (call.options.arrival == static_cast<std::uint8_t>(Arrival::kStreamed)) {
    return begin_stream(input, call);
  }
  post_rows(input, call, choose_hint(static_cast<std::uint64_t>(call.slot_round->total_rows)));
  CROSSDOCK_RETURN_IF_ERROR(proof.all_posted());
  finish_metadata(*call.slot_round);
  zero_gaps(call);
  define_suffix(*call.slot_round);
  const Status arrived = await_rows(call);
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
  agreed.row_count = static_cast<std::uint8_t>(options.row_count);
  agreed.arrival = static_cast<std::uint8_t>(options.arrival);
  agreed.max_tokens = static_cast<std::uint32_t>(bound);
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
  CROSSDOCK_RETURN_IF_ERROR(resolve_names(options.protocol, options.schedule, agreed));
  const std::int64_t shape =
      worst_case_shape(options_, rank_count_, options.layout, bound, options.expert_alignment);
  if (options.row_count == RowCount::kWorstCase && shape > layout_.row_capacity) {
    return refuse(fmt::format("worst-case rows are {} for {} tokens per rank; allowed: up to "
                              "row_capacity, {}",
                              shape, bound, layout_.row_capacity),
                  StatusKind::kCapacity);
  }
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
  const bool can_race = bound <= layout_.racing_tokens && needed <= layout_.row_capacity &&
                        options.layout == RowLayout::kExpanded;
  if (options.mode == Mode::kRacing && !can_race) {
    return refuse(fmt::format(
        "racing mode needs the expanded layout (this dispatch: {}), max_tokens_per_rank "
        "<= {} (racing_tokens; this dispatch: {}) and row_capacity >= {} (the "
        "buffer's: {})",
        to_string(options.layout), layout_.racing_tokens, bound, needed, layout_.row_capacity));
  }
  const bool wants_latency = options.mode == Mode::kLatency ||
                             (options.mode == Mode::kAuto && fits && prefers_landing(bound));
  agreed.mode = static_cast<std::uint8_t>(options.mode == Mode::kRacing ? Mode::kRacing
                                          : wants_latency               ? Mode::kLatency
                                                                        : Mode::kThroughput);
  return {};
}

Status Engine::resolve_names(std::string_view protocol, std::string_view schedule,
                             CollectiveOptions& agreed) const {
  CROSSDOCK_ASSIGN_OR_RETURN(agreed.protocol,
                             index_of("protocol", protocol.empty() ? options_.protocol : protocol,
                                      protocol::protocol_names(), "tail_fence"));
  CROSSDOCK_ASSIGN_OR_RETURN(agreed.schedule,
                             index_of("schedule", schedule.empty() ? options_.schedule : schedule,
                                      schedule::schedule_names(), "direct"));
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
  round->max_tokens = call.options.max_tokens;
  round->shape = static_cast<RowCount>(call.options.row_count);
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
  CROSSDOCK_RETURN_IF_ERROR(check_input(input, call));
  round.experts.resize(route_count);
  const std::span<std::int32_t> experts(round.experts);
  CROSSDOCK_RETURN_IF_ERROR(
      input.topk_ids.is_wide() ? routing::normalise_topk(input.topk_ids.wide(), input.token_count,
                                                         options_.topk, options_.experts, experts)
                               : routing::normalise_topk(input.topk_ids.narrow(), input.token_count,
                                                         options_.topk, options_.experts, experts));
  round.owners.resize(route_count);
  routing::find_owners(experts, owner_of_, round.owners);
  if (call.options.mode != static_cast<std::uint8_t>(Mode::kLatency)) {
    routing::count_routes(routes_of(round), {round.expert_rows, round.rank_tokens});
  }
  round.row_of_route.assign(route_count, -1);
  return {};
}

// Everything beside the ids.
Status Engine::check_input(const DispatchInput& input, Call& call) const {
  const auto token_count = static_cast<std::size_t>(input.token_count);
  const std::size_t route_count = token_count * static_cast<std::size_t>(options_.topk);
  if (!input.topk_weights.empty() && input.topk_weights.size() != route_count) {
    return refuse(fmt::format("topk_weights has {} weights; allowed: 0 or {} ({} tokens x top-{})",
                              input.topk_weights.size(), route_count, token_count, options_.topk));
  }
  if (input.tokens == nullptr && token_count > 0) {
    return refuse(fmt::format("tokens is null; allowed: {} rows of {} bytes", token_count,
                              layout_.row_bytes));
  }
  if ((input.scales == nullptr) != (layout_.scale_bytes == 0) && token_count > 0) {
    return refuse(layout_.scale_bytes == 0
                      ? std::string("scales are given; allowed: null, for scale_bytes is 0")
                      : fmt::format("scales is null; allowed: {} times {} bytes", token_count,
                                    layout_.scale_bytes));
  }
  const std::size_t expert_count = next_row_.size();
  if (!input.receive_statistics.empty() && input.receive_statistics.size() != expert_count) {
    return refuse(
        fmt::format("receive_statistics has {} counts; allowed: 0 or {}, one for each "
                    "local expert",
                    input.receive_statistics.size(), expert_count));
  }
  if (token_count > 0) {
    call.weights = input.topk_weights.empty() ? Weights::kNone : Weights::kGiven;
    call.weights_rank = rank_;
  }
  return {};
}

// --- along a plan --------------------------------------------------------------------------------

Status Engine::validate_repeat(const DispatchInput& input, const Round& plan,
                               const RepeatOptions& options, Call& call) {
  const trace::Span span(recorder_, trace::kValidate, call.operation, call.round);
  if (plan.owner != this) {
    return refuse("the plan belongs to another buffer; allowed: a plan of this buffer's dispatch");
  }
  CollectiveOptions& agreed = call.options;
  agreed.layout = static_cast<std::uint8_t>(plan.layout);
  agreed.mode = static_cast<std::uint8_t>(plan.mode);
  agreed.padding = static_cast<std::uint8_t>(options.padding);
  agreed.row_count = static_cast<std::uint8_t>(plan.shape);
  agreed.arrival = static_cast<std::uint8_t>(options.arrival);
  agreed.max_tokens = plan.max_tokens;
  agreed.expert_alignment = static_cast<std::uint32_t>(plan.expert_alignment);
  agreed.repeated = static_cast<std::uint32_t>(plan.round % 0xffff'ffff) + 1;
  CROSSDOCK_RETURN_IF_ERROR(resolve_names(options.protocol, options.schedule, agreed));
  if (input.topk_ids.size() != 0) {
    return refuse(
        fmt::format("topk_ids has {} ids; allowed: none, for the plan of round {} has them",
                    input.topk_ids.size(), plan.round));
  }
  if (input.token_count != plan.token_count) {
    return refuse(fmt::format("{} tokens along the plan of round {}; allowed: exactly {}",
                              input.token_count, plan.round, plan.token_count));
  }
  CROSSDOCK_RETURN_IF_ERROR(claim_slot(call));
  CROSSDOCK_RETURN_IF_ERROR(check_input(input, call));
  follow(plan, *call.slot_round);
  return {};
}

// Everything that the routes decide; the vectors keep their memory.
void Engine::follow(const Round& plan, Round& round) {
  round.token_count = plan.token_count;
  round.experts = plan.experts;
  round.owners = plan.owners;
  round.row_of_route = plan.row_of_route;
  round.rows_are_known = plan.mode == Mode::kThroughput;
  round.expert_rows = plan.expert_rows;
  round.rank_tokens = plan.rank_tokens;
  round.first_row = plan.first_row;
  round.total_rows = plan.total_rows;
  round.row_count = plan.row_count;
  round.filled_rows = plan.filled_rows;
  round.rows_per_expert = plan.rows_per_expert;
  round.aligned_rows_per_expert = plan.aligned_rows_per_expert;
  round.expert_begin = plan.expert_begin;
  round.rows_per_source = plan.rows_per_source;
  round.source_expert_rows = plan.source_expert_rows;
}

// --- finish --------------------------------------------------------------------------------------

Status Engine::await_rows(Call& call) {
  const trace::Span span(recorder_, trace::kArrive, call.operation, call.round);
  return row_proofs_[call.options.protocol]->wait_round("dispatch rows", call.round, call.deadline);
}

void Engine::commit(Call& call) {
  ++round_count_;
  call.slot_round->last_combine = 0;
}

}  // namespace crossdock::ep
