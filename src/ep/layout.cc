// SPDX-License-Identifier: Apache-2.0
#include "ep/layout.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"
#include "base/settings.h"
#include "base/status_macros.h"
#include "collective/credits.h"
#include "collective/proof_channel.h"
#include "ep/announcement.h"
#include "protocol/protocol.h"
#include "schedule/schedule.h"

namespace crossdock::ep {
namespace {

constexpr std::uint64_t kPageBytes = 4096;
constexpr std::uint64_t kDefaultBudgetBytes = std::uint64_t{2} << 30;
constexpr std::int64_t kTokensMax = std::int64_t{1} << 24;
constexpr std::int64_t kRowsMax = std::int64_t{1} << 31;  // a row's index fits 32 bits everywhere

Status refuse(std::string_view name, std::int64_t value, std::int64_t low, std::int64_t high) {
  return {StatusKind::kInvalidArgument, Scope::kOperation,
          fmt::format("{} is {}; allowed: {} .. {}", name, value, low, high)};
}

Status in_range(std::string_view name, std::int64_t value, std::int64_t low, std::int64_t high) {
  return value < low || value > high ? refuse(name, value, low, high) : Status();
}

std::uint64_t as_unsigned(std::int64_t value) { return static_cast<std::uint64_t>(value); }

std::uint64_t row_bytes_of(const BufferOptions& options) {
  return as_unsigned(options.hidden) * element_bytes(options.element);
}

std::uint64_t output_row_bytes_of(const BufferOptions& options) {
  return as_unsigned(options.hidden) * element_bytes(output_element_of(options));
}

// Bytes per row of capacity: the row, the expert's output and their metadata.
std::uint64_t bytes_per_capacity_row(const BufferOptions& options) {
  const auto lanes = static_cast<std::uint64_t>(options.topk);
  return row_bytes_of(options) + output_row_bytes_of(options) + as_unsigned(options.scale_bytes) +
         2 * sizeof(std::int32_t) + lanes * (sizeof(std::int32_t) + 2 * sizeof(float));
}

std::int64_t worst_case_of(const BufferOptions& options, int rank_count) {
  return worst_case_rows(options, rank_count, options.max_tokens_per_rank,
                         options.max_expert_alignment);
}

std::int64_t choose_row_capacity(const BufferOptions& options, int rank_count) {
  if (options.row_capacity > 0) {
    return options.row_capacity;
  }
  std::uint64_t budget = options.memory_budget_bytes;
  if (budget == 0) {
    budget = settings().memory_budget_bytes;
  }
  if (budget == 0) {
    budget = kDefaultBudgetBytes;
  }
  const std::uint64_t affordable =
      budget / static_cast<std::uint64_t>(options.open_rounds) / bytes_per_capacity_row(options);
  const auto fits = static_cast<std::int64_t>(std::min<std::uint64_t>(affordable, kRowsMax));
  return std::clamp<std::int64_t>(fits, 1, worst_case_of(options, rank_count));
}

void add_control(WindowLayout& layout, LayoutBuilder& builder, const BufferOptions& options) {
  const int rank_count = layout.rank_count;
  const auto add_words = [&](std::string_view name) {
    const auto made = protocol::make_protocol(name, {RankId{0}, rank_count, 1});
    return builder.add_bytes(
        collective::ProofChannel::byte_count(made.value()->word_count(), rank_count),
        kCacheLineBytes);
  };
  layout.announce_words = add_words(kAnnounceProtocol);
  for (const std::string_view name : protocol::protocol_names()) {
    layout.row_words.push_back(add_words(name));
  }
  layout.credits = builder.add_bytes(collective::Credits::byte_count(rank_count), kCacheLineBytes);
  layout.local_expert_max = (options.experts + rank_count - 1) / rank_count;
  layout.expert_words_stride = align_up(
      static_cast<std::uint64_t>(layout.local_expert_max) * sizeof(std::uint64_t), kCacheLineBytes);
  layout.expert_words = builder.add_rows(static_cast<std::uint64_t>(rank_count),
                                         layout.expert_words_stride, kCacheLineBytes);
  layout.announcement_bytes =
      align_up(sizeof(AnnouncementHead) + kRefusalTextBytes +
                   sizeof(std::uint32_t) * static_cast<std::uint64_t>(options.experts + rank_count),
               kCacheLineBytes);
  layout.announcements = builder.add_rows(2 * static_cast<std::uint64_t>(rank_count),
                                          layout.announcement_bytes, kCacheLineBytes);
}

void add_landings(WindowLayout& layout, LayoutBuilder& builder, const BufferOptions& options) {
  layout.latency_tokens = std::min(options.latency_tokens, options.max_tokens_per_rank);
  const std::uint64_t head = 8 + 8 * static_cast<std::uint64_t>(options.topk) + layout.scale_bytes;
  layout.landed_row = align_up(head, kCacheLineBytes);
  layout.landed_bytes = align_up(layout.landed_row + layout.row_bytes, kCacheLineBytes);
  layout.landing_bytes = as_unsigned(layout.latency_tokens) * layout.landed_bytes;
  layout.landings = builder.add_rows(2 * static_cast<std::uint64_t>(layout.rank_count),
                                     layout.landing_bytes, kCacheLineBytes);
}

void add_race_area(WindowLayout& layout, LayoutBuilder& builder, const BufferOptions& options) {
  constexpr std::uint64_t kHeadBytes = 24;  // race.cc has its grammar
  const std::uint64_t halves = 2 * static_cast<std::uint64_t>(layout.rank_count);
  layout.racing_tokens = std::min(options.racing_tokens, options.max_tokens_per_rank);
  layout.race_row = align_up(kHeadBytes + layout.scale_bytes, kCacheLineBytes);
  layout.race_block_bytes = align_up(layout.race_row + layout.row_bytes, kCacheLineBytes);
  const bool is_there = layout.racing_tokens > 0;
  layout.race_counts =
      builder.add_rows(is_there ? halves : 0, layout.expert_words_stride, kCacheLineBytes);
  layout.race_blocks =
      builder.add_rows(halves * static_cast<std::uint64_t>(layout.local_expert_max) *
                           as_unsigned(layout.racing_tokens),
                       layout.race_block_bytes, kCacheLineBytes);
}

void add_push_area(WindowLayout& layout, LayoutBuilder& builder, const BufferOptions& options) {
  layout.has_push = options.combine_path == CombinePath::kPush;
  const std::uint64_t route_count = layout.has_push ? as_unsigned(options.max_tokens_per_rank) *
                                                          static_cast<std::uint64_t>(options.topk)
                                                    : 0;
  layout.push_weights = builder.add<float>(route_count, kCacheLineBytes);
  layout.push_rows = builder.add_bytes(route_count * layout.output_row_bytes, kPageBytes);
}

RoundSlotLayout add_round_slot(const WindowLayout& layout, LayoutBuilder& builder,
                               const BufferOptions& options) {
  const std::uint64_t capacity = as_unsigned(layout.row_capacity);
  const auto lanes = static_cast<std::uint64_t>(options.topk);
  RoundSlotLayout slot;
  // Rows are packed: row i begins at i * row_bytes, as the caller sees them.
  slot.rows = builder.add_bytes(capacity * layout.row_bytes, kPageBytes);
  slot.outputs = builder.add_bytes(capacity * layout.output_row_bytes, kPageBytes);
  slot.source_token = builder.add<std::int32_t>(capacity, kCacheLineBytes);
  slot.source_rank = builder.add<std::int32_t>(capacity, kCacheLineBytes);
  slot.expert = builder.add<std::int32_t>(capacity * lanes, kCacheLineBytes);
  slot.weight = builder.add<float>(capacity * lanes, kCacheLineBytes);
  slot.scale = builder.add_bytes(capacity * layout.scale_bytes, kCacheLineBytes);
  slot.output_weight = builder.add<float>(capacity * lanes, kCacheLineBytes);
  slot.row_of_landed = builder.add<std::int64_t>(
      static_cast<std::uint64_t>(layout.rank_count) * as_unsigned(layout.latency_tokens) * lanes,
      kCacheLineBytes);
  const std::uint64_t pair_count = layout.racing_tokens > 0
                                       ? static_cast<std::uint64_t>(layout.rank_count) *
                                             static_cast<std::uint64_t>(layout.local_expert_max)
                                       : 0;
  slot.row_of_pair = builder.add<std::int64_t>(pair_count, kCacheLineBytes);
  slot.lane = builder.add<std::int32_t>(layout.has_push ? capacity : 0, kCacheLineBytes);
  return slot;
}

Status check_names(const BufferOptions& options, int rank_count) {
  if (options.protocol != "auto") {
    CROSSDOCK_RETURN_IF_ERROR(
        protocol::make_protocol(options.protocol, {RankId{0}, rank_count, 1}).status());
  }
  if (options.schedule != "auto") {
    CROSSDOCK_RETURN_IF_ERROR(schedule::make_schedule(options.schedule, rank_count).status());
  }
  return {};
}

Status check_output_element(const BufferOptions& options) {
  if (!options.output_element.has_value() || is_summable(*options.output_element)) {
    return {};
  }
  return {StatusKind::kInvalidArgument, Scope::kOperation,
          fmt::format("output_element is {}; allowed: bf16, fp16, fp32, or none for that of tokens",
                      to_string(*options.output_element))};
}

MemoryPlan memory_plan(const WindowLayout& layout, const BufferOptions& options,
                       std::int64_t worst) {
  const std::uint64_t capacity = as_unsigned(layout.row_capacity);
  const auto slot_count = static_cast<std::uint64_t>(options.open_rounds);
  MemoryPlan plan;
  plan.row_capacity = layout.row_capacity;
  plan.worst_case_rows = worst;
  plan.control_bytes = layout.landings;
  plan.landing_bytes = 2 * static_cast<std::uint64_t>(layout.rank_count) * layout.landing_bytes;
  plan.racing_bytes = 2 * static_cast<std::uint64_t>(layout.rank_count) *
                      static_cast<std::uint64_t>(layout.local_expert_max) *
                      as_unsigned(layout.racing_tokens) * layout.race_block_bytes;
  plan.push_bytes = layout.has_push ? as_unsigned(options.max_tokens_per_rank) *
                                          static_cast<std::uint64_t>(options.topk) *
                                          (layout.output_row_bytes + sizeof(float))
                                    : 0;
  plan.rows_bytes = slot_count * capacity * layout.row_bytes;
  plan.outputs_bytes = slot_count * capacity * layout.output_row_bytes;
  plan.requested_bytes = layout.byte_count;
  plan.metadata_bytes = plan.requested_bytes - plan.control_bytes - plan.landing_bytes -
                        plan.racing_bytes - plan.push_bytes - plan.rows_bytes - plan.outputs_bytes;
  plan.reserved_bytes = align_up(layout.byte_count, kPageBytes);
  plan.touched_bytes = align_up(plan.control_bytes, kPageBytes);
  return plan;
}

}  // namespace

std::int64_t worst_case_rows(const BufferOptions& options, int rank_count, std::int64_t token_count,
                             std::int64_t alignment) {
  // The first rank owns the most experts. All tokens of all ranks may choose only its experts.
  const std::int64_t local = (options.experts + rank_count - 1) / rank_count;
  const std::int64_t routes =
      rank_count * token_count * std::min<std::int64_t>(options.topk, local);
  return std::max<std::int64_t>(1, routes + (alignment - 1) * local);
}

std::int64_t worst_case_shape(const BufferOptions& options, int rank_count, RowLayout layout,
                              std::int64_t token_count, std::int64_t alignment) {
  if (layout == RowLayout::kPlain) {
    return rank_count * token_count;
  }
  const std::int64_t rows = worst_case_rows(options, rank_count, token_count, alignment);
  return rows / alignment * alignment;  // Groups end at multiples, so rows between cannot be.
}

Status check_options(const BufferOptions& options, int rank_count) {
  constexpr int kTopkMax = 128;
  constexpr std::int64_t kAlignmentMax = 65536;
  constexpr int kOpenRoundsMax = 8;
  constexpr int kThreadsMax = 256;
  constexpr std::int64_t kRowBytesMax = std::int64_t{1} << 30;
  constexpr std::int64_t kScaleBytesMax = 65536;
  CROSSDOCK_RETURN_IF_ERROR(
      in_range("max_tokens_per_rank", options.max_tokens_per_rank, 1, kTokensMax));
  const auto element = static_cast<std::int64_t>(
      std::max(element_bytes(options.element), element_bytes(output_element_of(options))));
  CROSSDOCK_RETURN_IF_ERROR(in_range("hidden", options.hidden, 1, kRowBytesMax / element));
  CROSSDOCK_RETURN_IF_ERROR(check_output_element(options));
  CROSSDOCK_RETURN_IF_ERROR(in_range("scale_bytes", options.scale_bytes, 0, kScaleBytesMax));
  CROSSDOCK_RETURN_IF_ERROR(in_range("experts", options.experts, rank_count, kTokensMax));
  CROSSDOCK_RETURN_IF_ERROR(in_range("topk", options.topk, 1, std::min(kTopkMax, options.experts)));
  CROSSDOCK_RETURN_IF_ERROR(
      in_range("max_expert_alignment", options.max_expert_alignment, 1, kAlignmentMax));
  CROSSDOCK_RETURN_IF_ERROR(in_range("latency_tokens", options.latency_tokens, 0, kTokensMax));
  CROSSDOCK_RETURN_IF_ERROR(in_range("racing_tokens", options.racing_tokens, 0, kTokensMax));
  CROSSDOCK_RETURN_IF_ERROR(in_range("open_rounds", options.open_rounds, 1, kOpenRoundsMax));
  CROSSDOCK_RETURN_IF_ERROR(in_range("threads", options.threads, 1, kThreadsMax));
  CROSSDOCK_RETURN_IF_ERROR(in_range("row_capacity", options.row_capacity, 0, kRowsMax));
  return check_names(options, rank_count);
}

Result<PlannedWindow> plan_window(const BufferOptions& options, int rank_count) {
  PlannedWindow planned;
  WindowLayout& layout = planned.layout;
  layout.rank_count = rank_count;
  layout.row_bytes = row_bytes_of(options);
  layout.output_row_bytes = output_row_bytes_of(options);
  layout.scale_bytes = as_unsigned(options.scale_bytes);
  layout.row_capacity = choose_row_capacity(options, rank_count);
  if (layout.row_capacity > kRowsMax) {
    return refuse("row_capacity", layout.row_capacity, 1, kRowsMax);
  }
  LayoutBuilder builder;
  add_control(layout, builder, options);
  add_landings(layout, builder, options);
  add_race_area(layout, builder, options);
  add_push_area(layout, builder, options);
  for (int slot = 0; slot < options.open_rounds; ++slot) {
    layout.slots.push_back(add_round_slot(layout, builder, options));
  }
  if (builder.overflowed()) {
    return Status(StatusKind::kInvalidArgument, Scope::kOperation,
                  fmt::format("row_capacity {} of {}-byte rows does not fit 64 bits",
                              layout.row_capacity, layout.row_bytes));
  }
  layout.byte_count = builder.byte_count();
  planned.memory = memory_plan(layout, options, worst_case_of(options, rank_count));
  return planned;
}

}  // namespace crossdock::ep

namespace crossdock {

Result<MemoryPlan> plan_memory(const BufferOptions& options, int rank_count) {
  if (rank_count < 1) {
    return Status(StatusKind::kInvalidArgument, Scope::kOperation,
                  fmt::format("rank count is {}; allowed: 1 or more", rank_count));
  }
  CROSSDOCK_RETURN_IF_ERROR(ep::check_options(options, rank_count));
  CROSSDOCK_ASSIGN_OR_RETURN(const auto planned, ep::plan_window(options, rank_count));
  return planned.memory;
}

}  // namespace crossdock
