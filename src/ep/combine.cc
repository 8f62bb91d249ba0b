// SPDX-License-Identifier: Apache-2.0
// Combine: the recipe, and the pull path, in which expert rows stay where they are: every rank
// reads the rows of its own tokens in place in its peers' windows and sums them in one pass. The
// push path is in push.cc; the contracts of both are in combine_path.h.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/status_macros.h"
#include "ep/combine_path.h"
#include "ep/engine.h"
#include "ep/token_sums.h"
#include "protocol/protocol.h"

namespace crossdock::ep {

namespace {

Status refuse(std::string message, StatusKind kind = StatusKind::kInvalidArgument) {
  return {kind, Scope::kOperation, std::move(message)};
}

}  // namespace

// validate -> (pull: stage output) -> announce -> reconcile -> move or read rows -> reduce.
Status Engine::combine(const CombineInput& input, Round& round, const CombineOutput& output,
                       const CombineOptions& options) {
  CROSSDOCK_RETURN_IF_ERROR(usable());
  CROSSDOCK_RETURN_IF_ERROR(finish_stream());
  Call call = begin(OperationCode::kCombine);
  call.options.plan = static_cast<std::uint8_t>(options.plan);
  call.options.topk_weights = static_cast<std::uint8_t>(options.topk_weights);
  Status own = choose_path(options, call);
  if (own.ok()) {
    own = validate_combine(input, round, output, call);
  }
  const bool is_pull = call.options.path == static_cast<std::uint8_t>(CombinePath::kPull);
  if (own.ok() && is_pull) {
    CROSSDOCK_RETURN_IF_ERROR(stage_output(input, round, call));
  }
  CROSSDOCK_RETURN_IF_ERROR(announce(call, own));
  CROSSDOCK_RETURN_IF_ERROR(reconcile(call, own));
  return is_pull ? pull_combine(input, round, output, call)
                 : push_combine(input, round, output, call);
}

Status Engine::choose_path(const CombineOptions& options, Call& call) const {
  const CombinePath path =
      options.path == CombinePath::kAuto ? options_.combine_path : options.path;
  call.options.path = static_cast<std::uint8_t>(path);
  if (path == CombinePath::kPush && !layout_.has_push) {
    return refuse(
        "path is push; allowed: auto, pull; for push make the buffer with combine_path "
        "push, so that its window has room",
        StatusKind::kUnsupported);
  }
  return check_path(path, fabric_->guarantees());
}

// rows ready -> learn rows -> reduce -> readers done.
Status Engine::pull_combine(const CombineInput& input, Round& round, const CombineOutput& output,
                            const Call& call) {
  CROSSDOCK_RETURN_IF_ERROR(prove_announced(call, trace::kReady, "combine rows ready"));
  ++combine_count_;
  round.last_combine = combine_count_;
  const Status read = read_rows(input, round, output, call);
  credits_->post_readers_done(combine_count_);
  return read;
}

Status Engine::read_rows(const CombineInput& input, Round& round, const CombineOutput& output,
                         const Call& call) {
  for (int owner = 0; owner < rank_count_; ++owner) {
    CROSSDOCK_RETURN_IF_ERROR(find_region(owner, round));
  }
  CROSSDOCK_RETURN_IF_ERROR(learn_rows(round));
  const trace::Span span(recorder_, trace::kReduce, call.operation, call.round);
  reduce_tokens(input, round, output.tokens, call);
  if (wants_weights(call.options)) {
    gather_weights(round, output.topk_weights);
  }
  return {};
}

// --- validate ------------------------------------------------------------------------------------

Status Engine::validate_combine(const CombineInput& input, const Round& round,
                                const CombineOutput& output, Call& call) const {
  if (round.owner != this) {
    return refuse(
        "the handle belongs to another buffer; allowed: a handle of this buffer's dispatch");
  }
  call.round = round.round;
  call.options.round = round.round;
  call.options.layout = static_cast<std::uint8_t>(round.layout);
  call.options.mode = static_cast<std::uint8_t>(round.mode);
  call.options.protocol = round.protocol_index;
  if (!is_summable(output_element_)) {
    return refuse(fmt::format("rows of {} cannot be summed; allowed: bf16, fp16, fp32 (the "
                              "buffer's output_element)",
                              to_string(output_element_)),
                  StatusKind::kUnsupported);
  }
  if (input.row_count != round.row_count) {
    return refuse(fmt::format("combine got {} rows; allowed: exactly {}, the rows of round {}",
                              input.row_count, round.row_count, round.round));
  }
  if (input.rows == nullptr && round.filled_rows > 0) {
    return refuse(fmt::format("rows is null; allowed: {} rows of {} bytes", input.row_count,
                              layout_.output_row_bytes));
  }
  if (input.rows == local_at(slot_of(round).rows) && output_element_ != options_.element) {
    return refuse(
        fmt::format("rows are the dispatched ones, of {}; allowed: rows of {}, as in "
                    "Dispatched::outputs",
                    to_string(options_.element), to_string(output_element_)));
  }
  if (output.tokens == nullptr && round.token_count > 0) {
    return refuse(fmt::format("tokens is null; allowed: room for {} rows of {} bytes",
                              round.token_count, layout_.output_row_bytes));
  }
  return check_weights(input, round, output, call);
}

Status Engine::check_weights(const CombineInput& input, const Round& round,
                             const CombineOutput& output, const Call& call) const {
  const std::size_t route_count = round.owners.size();
  const bool is_plain = round.layout == RowLayout::kPlain;
  if (!input.gate_weights.empty() && is_plain) {
    return refuse(
        "gate_weights with the plain layout, whose rows stand for several lanes; allowed: "
        "none, or the expanded layout",
        StatusKind::kUnsupported);
  }
  if (!input.gate_weights.empty() && input.gate_weights.size() != route_count) {
    return refuse(fmt::format("gate_weights has {} weights; allowed: 0 or {} ({} tokens x top-{})",
                              input.gate_weights.size(), route_count, round.token_count,
                              options_.topk));
  }
  if (!wants_weights(call.options)) {
    return {};
  }
  const auto row_weights = static_cast<std::size_t>(round.row_count) *
                           (is_plain ? static_cast<std::size_t>(options_.topk) : 1);
  if (input.topk_weights.size() != row_weights) {
    return refuse(fmt::format(
        "topk_weights has {} weights; allowed: {} for {} rows of the {} "
        "layout",
        input.topk_weights.size(), row_weights, round.row_count, to_string(round.layout)));
  }
  if (output.topk_weights.size() != route_count) {
    return refuse(
        fmt::format("topk_weights has room for {} weights; allowed: {} ({} tokens x "
                    "top-{})",
                    output.topk_weights.size(), route_count, round.token_count, options_.topk));
  }
  return {};
}

// --- rows ready ----------------------------------------------------------------------------------

// Rows that lie in this round's regions are read where they are; others are copied into the outputs
// region once the readers of its last contents are done. Weights are always copied: they are few.
Status Engine::stage_output(const CombineInput& input, const Round& round, Call& call) {
  const RoundSlotLayout& slot = slot_of(round);
  const auto* rows = static_cast<const std::byte*>(input.rows);
  call.region = rows == local_at(slot.rows) ? kRowsRegion : kOutputsRegion;
  const bool copies_rows = call.region == kOutputsRegion && rows != local_at(slot.outputs);
  if (input.row_count == 0 || (!copies_rows && !wants_weights(call.options))) {
    return {};
  }
  CROSSDOCK_RETURN_IF_ERROR(wait_readers(round));
  const trace::Span span(recorder_, trace::kStageOutput, call.operation, call.round);
  if (wants_weights(call.options)) {
    std::copy(input.topk_weights.begin(), input.topk_weights.end(),
              local_array<float>(slot.output_weight));
  }
  if (copies_rows && round.filled_rows > 0) {
    const std::uint64_t size =
        static_cast<std::uint64_t>(round.filled_rows) * layout_.output_row_bytes;
    std::memmove(local_at(slot.outputs), rows, size);
    recorder_.moved(trace::kStageOutput, rank_, size, 1);
  }
  return {};
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

// Latency and racing mode: the destinations placed the rows; their tables say where.
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
    const std::int64_t row = round.mode == Mode::kRacing
                                 ? raced_row(route, round)
                                 : table[(mine + landed) * lanes + route % lanes];
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

void Engine::reduce_tokens(const CombineInput& input, const Round& round, void* tokens,
                           const Call& call, const std::byte* pushed) {
  const TokenSums sums{
      .plan = static_cast<ReductionPlan>(call.options.plan),
      .layout = round.layout,
      .element = output_element_,
      .element_count = static_cast<std::size_t>(options_.hidden),
      .row_bytes = layout_.output_row_bytes,
      .routes = routes_of(round),
      .region_base = region_base_,
      .row_of_route = round.row_of_route,
      .row_per_route = pushed,
      .biases = input.biases,
      .gate_weights = input.gate_weights,
      .hint = choose_hint(static_cast<std::uint64_t>(round.token_count * rank_count_))};
  const std::uint64_t byte_count = round.owners.size() * layout_.output_row_bytes;
  workers_.run(sums.routes.token_count(), byte_count, [&](std::size_t first, std::size_t end) {
    TokenReducer(sums).reduce(first, end, static_cast<std::byte*>(tokens));
    store_fence();  // The caller may hand the tokens to another thread.
  });
  recorder_.moved(trace::kReduce, rank_, round.owners.size() * layout_.output_row_bytes,
                  round.owners.size());
}

// Every lane's weight from the rank that has its row; a copy, so that a round trip changes nothing.
void Engine::gather_weights(const Round& round, std::span<float> weights) {
  const auto lanes = static_cast<std::size_t>(options_.topk);
  const std::uint64_t weights_at = slot_of(round).output_weight;
  for (std::size_t route = 0; route < round.owners.size(); ++route) {
    const std::int32_t owner = round.owners[route];
    if (owner < 0) {
      weights[route] = 0.0F;
      continue;
    }
    const auto row = static_cast<std::size_t>(round.row_of_route[route]);
    const auto* theirs =
        reinterpret_cast<const float*>(window_->peer(RankId{owner}).data() + weights_at);
    weights[route] = theirs[round.layout == RowLayout::kPlain ? row * lanes + route % lanes : row];
  }
}

}  // namespace crossdock::ep
