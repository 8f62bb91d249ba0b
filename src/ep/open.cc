// SPDX-License-Identifier: Apache-2.0
// Making an engine: plan, agree, allocate, connect.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/settings.h"
#include "base/status_macros.h"
#include "ep/combine_path.h"
#include "ep/engine.h"
#include "fabric/agreement.h"
#include "protocol/protocol.h"
#include "schedule/schedule.h"

namespace crossdock::ep {
namespace {

fabric::NamedValues what_must_agree(const BufferOptions& options) {
  const auto number = [](auto value) { return fmt::format("{}", value); };
  return {{"max_tokens_per_rank", number(options.max_tokens_per_rank)},
          {"hidden", number(options.hidden)},
          {"topk", number(options.topk)},
          {"experts", number(options.experts)},
          {"element", std::string(to_string(options.element))},
          {"output_element", std::string(to_string(output_element_of(options)))},
          {"scale_bytes", number(options.scale_bytes)},
          {"row_capacity", number(options.row_capacity)},
          {"max_expert_alignment", number(options.max_expert_alignment)},
          {"latency_tokens", number(options.latency_tokens)},
          {"racing_tokens", number(options.racing_tokens)},
          {"open_rounds", number(options.open_rounds)},
          {"combine_path", std::string(to_string(options.combine_path))},
          {"memory_budget_bytes", number(options.memory_budget_bytes)},
          {"setting CROSSDOCK_MEMORY_BUDGET", number(settings().memory_budget_bytes)},
          {"protocol", options.protocol},
          {"schedule", options.schedule}};
}

Status local_problems(const BufferOptions& options, int rank_count) {
  CROSSDOCK_RETURN_IF_ERROR(settings_status());
  return check_options(options, rank_count);
}

// One exchange settles both: what differs, and whose own values are out of range.
Status agree(fabric::Fabric& fabric, const BufferOptions& options) {
  const Status own = local_problems(options, fabric.size());
  fabric::NamedValues values = what_must_agree(options);
  values.emplace_back("problem", std::string(own.message()));
  CROSSDOCK_ASSIGN_OR_RETURN(const auto blobs, fabric.all_gather(fabric::encode_agreement(values)));
  CROSSDOCK_RETURN_IF_ERROR(own);
  const Status agreed = fabric::compare_agreement(blobs);
  if (agreed.ok()) {
    return agreed;
  }
  // Only this buffer cannot be made: the communicator works on.
  return {agreed.kind(), Scope::kOperation, std::string(agreed.message()), agreed.culprit()};
}

}  // namespace

Engine::Engine(std::shared_ptr<fabric::Fabric> fabric, const BufferOptions& options,
               PlannedWindow planned, const routing::ExpertSplit& split)
    : fabric_(std::move(fabric)),
      options_(options),
      layout_(std::move(planned.layout)),
      memory_(planned.memory),
      output_element_(output_element_of(options)),
      split_(split),
      rank_(fabric_->rank().value),
      rank_count_(fabric_->size()),
      recorder_(rank_, rank_count_),
      workers_(options.threads, options.thread_bytes_min) {
  const auto experts = static_cast<std::size_t>(options.experts);
  const auto ranks = static_cast<std::size_t>(rank_count_);
  owner_of_.resize(experts);
  routing::fill_owner_table(split_, owner_of_);
  all_rows_.resize(experts);
  packed_begin_.resize(std::max(experts, ranks) + 1);
  announcement_.resize(layout_.announcement_bytes);
  landed_count_.resize(ranks);
  needed_rows_.resize(ranks);
  in_group_.resize(ranks);
  region_base_.resize(ranks);
  next_row_.resize(static_cast<std::size_t>(split_.count(rank_)));
  heads_.resize(ranks);
  landed_heads_.resize(static_cast<std::size_t>(layout_.latency_tokens) * layout_.landed_row);
  next_block_.resize(experts);
}

Engine::~Engine() = default;

Result<std::shared_ptr<Engine>> Engine::open(std::shared_ptr<fabric::Fabric> fabric,
                                             const BufferOptions& wanted) {
  CROSSDOCK_RETURN_IF_ERROR(fabric->health());
  CROSSDOCK_RETURN_IF_ERROR(agree(*fabric, wanted));
  BufferOptions options = wanted;
  options.combine_path = resolve_path(wanted.combine_path, fabric->guarantees());
  CROSSDOCK_ASSIGN_OR_RETURN(auto planned, plan_window(options, fabric->size()));
  CROSSDOCK_ASSIGN_OR_RETURN(const auto split,
                             routing::ExpertSplit::make(options.experts, fabric->size()));
  std::shared_ptr<Engine> engine(new Engine(std::move(fabric), options, std::move(planned), split));
  CROSSDOCK_RETURN_IF_ERROR(engine->connect());
  return engine;
}

Status Engine::connect() {
  const protocol::Team team{RankId{rank_}, rank_count_, fabric_->lane_count()};
  CROSSDOCK_ASSIGN_OR_RETURN(window_, fabric_->make_window(layout_.byte_count));
  for (int peer = 0; peer < rank_count_; ++peer) {
    queues_.push_back(&fabric_->queue(RankId{peer}, 0));
  }
  CROSSDOCK_ASSIGN_OR_RETURN(auto announce, protocol::make_protocol(kAnnounceProtocol, team));
  CROSSDOCK_RETURN_IF_ERROR(protocol::check_fit(announce->contract(), fabric_->guarantees()));
  announce_ = std::make_unique<collective::ProofChannel>(*fabric_, *window_, layout_.announce_words,
                                                         std::move(announce), recorder_);
  for (std::size_t index = 0; index < layout_.row_words.size(); ++index) {
    CROSSDOCK_ASSIGN_OR_RETURN(auto made,
                               protocol::make_protocol(protocol::protocol_names()[index], team));
    CROSSDOCK_RETURN_IF_ERROR(protocol::check_fit(made->contract(), fabric_->guarantees()));
    row_proofs_.push_back(std::make_unique<collective::ProofChannel>(
        *fabric_, *window_, layout_.row_words[index], std::move(made), recorder_));
  }
  for (const std::string_view name : schedule::schedule_names()) {
    CROSSDOCK_ASSIGN_OR_RETURN(auto made, schedule::make_schedule(name, rank_count_));
    schedules_.push_back(std::move(made));
  }
  race_ = std::make_unique<protocol::CountsAndBlocks>(
      split_.count(rank_), rank_count_, static_cast<std::uint32_t>(layout_.racing_tokens));
  credits_ = std::make_unique<collective::Credits>(*fabric_, *window_, layout_.credits);
  for (std::size_t slot = 0; slot < layout_.slots.size(); ++slot) {
    auto round = std::make_shared<Round>();
    round->owner = this;
    round->topk = options_.topk;
    round->row_bytes = layout_.row_bytes;
    const auto local_count = static_cast<std::size_t>(split_.count(rank_));
    round->rows_per_expert.resize(local_count);
    round->aligned_rows_per_expert.resize(local_count);
    round->expert_begin.resize(local_count);
    round->rows_per_source.resize(static_cast<std::size_t>(rank_count_));
    const auto expert_count = static_cast<std::size_t>(options_.experts);
    const auto rank_count = static_cast<std::size_t>(rank_count_);
    round->expert_rows.resize(expert_count);
    round->rank_tokens.resize(rank_count);
    round->first_row.resize(std::max(expert_count, rank_count));
    round->source_expert_rows.resize(rank_count * local_count);
    rounds_.push_back(std::move(round));
  }
  if (settings().trace) {
    recorder_.enable();
  }
  return agree_on_landing();
}

// Ranks may see different core counts; the choice of kAuto must be everybody's.
Status Engine::agree_on_landing() {
  const std::array<std::byte, 1> mine{std::byte{fabric_->ranks_share_cores()}};
  CROSSDOCK_ASSIGN_OR_RETURN(const auto all, fabric_->all_gather(mine));
  for (const auto& blob : all) {
    ranks_share_cores_ = ranks_share_cores_ || (!blob.empty() && blob[0] != std::byte{0});
  }
  return {};
}

Status Engine::usable() const {
  CROSSDOCK_RETURN_IF_ERROR(fate_);
  return fabric_->health();
}

Status Engine::settle(Deadline deadline) {
  for (fabric::Queue* queue : queues_) {
    CROSSDOCK_RETURN_IF_ERROR(queue->flush(deadline));
  }
  return {};
}

void Engine::remember(const Status& status) {
  if (fate_.ok() && status.scope() > Scope::kOperation) {
    fate_ = status;
  }
}

Status Engine::decline(OperationCode code, const Status& reason) {
  CROSSDOCK_RETURN_IF_ERROR(usable());
  CROSSDOCK_RETURN_IF_ERROR(finish_stream());
  Call call = begin(code);
  CROSSDOCK_RETURN_IF_ERROR(announce(call, reason));
  return reconcile(call, reason);
}

// A refusal of the next operation, whatever it will be, and of all later ones.
void Engine::close() {
  const Status closed(StatusKind::kClosed, Scope::kPeer, "the buffer was closed", rank_);
  if (usable().ok()) {
    if (stream_.round != nullptr) {
      remember(send_rest());  // Peers may wait for them.
    }
    Call call = begin(OperationCode::kDispatch);
    remember(announce(call, closed));
    remember(settle(call.deadline));
  }
  remember(closed);
}

Engine::Call Engine::begin(OperationCode code) {
  Call call;
  call.ordinal = ++ordinal_;
  call.options.operation = static_cast<std::uint8_t>(code);
  call.operation =
      code == OperationCode::kDispatch ? trace::Operation::kDispatch : trace::Operation::kCombine;
  call.round = round_count_ + 1;
  call.options.round = call.round;
  call.deadline = fabric_->make_deadline();
  std::fill(landed_count_.begin(), landed_count_.end(), 0U);
  announce_->open_round();
  return call;
}

Status Engine::wait_readers(const Round& round) {
  const trace::Span span(recorder_, trace::kCredit, trace::Operation::kDispatch, round.round);
  return credits_->wait_for_readers(round.last_combine, round.round, fabric_->make_deadline());
}

Dispatched Engine::view(const Round& round) const {
  const RoundSlotLayout& slot = slot_of(round);
  const auto row_count = static_cast<std::size_t>(round.row_count);
  const auto lanes = static_cast<std::size_t>(options_.topk);
  const bool is_plain = round.layout == RowLayout::kPlain;
  Dispatched dispatched;
  dispatched.row_count = round.row_count;
  dispatched.filled_row_count = round.filled_rows;
  dispatched.rows = local_at(slot.rows);
  dispatched.outputs = local_at(slot.outputs);
  dispatched.source_rank = {local_array<std::int32_t>(slot.source_rank), row_count};
  dispatched.source_token = {local_array<std::int32_t>(slot.source_token), row_count};
  if (is_plain) {
    dispatched.topk_ids = {local_array<std::int32_t>(slot.expert), row_count * lanes};
  }
  dispatched.scales = layout_.scale_bytes == 0 ? nullptr : local_at(slot.scale);
  if (round.has_weights) {
    dispatched.topk_weights = {local_array<float>(slot.weight),
                               is_plain ? row_count * lanes : row_count};
  }
  dispatched.rows_per_expert = round.rows_per_expert;
  dispatched.aligned_rows_per_expert = round.aligned_rows_per_expert;
  if (!is_plain) {
    dispatched.expert_begin = round.expert_begin;
  }
  dispatched.rows_per_source = round.rows_per_source;
  return dispatched;
}

}  // namespace crossdock::ep
