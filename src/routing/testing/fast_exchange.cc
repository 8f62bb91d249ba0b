// SPDX-License-Identifier: Apache-2.0
#include "routing/testing/fast_exchange.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "crossdock/types.h"
#include "routing/landed.h"
#include "routing/layout.h"
#include "routing/placement.h"
#include "routing/reference.h"
#include "routing/routes.h"
#include "routing/split.h"

namespace crossdock::routing::testing {
namespace {

std::size_t size_of(int count) { return static_cast<std::size_t>(count); }

// A landing area as a window has it: slots of {token, experts[K], weights[K], row}.
struct LandingArea {
  std::vector<std::byte> slots;
  std::size_t slot_bytes = 0;
  std::vector<std::size_t> tokens;  // of each slot

  LandingArea(const RankRoutes& rank, const LocalExperts& local) {
    const auto lanes = size_of(rank.topk);
    slot_bytes = 8 + lanes * 8 + 40;
    for (std::size_t token = 0; token < rank.token_count(); ++token) {
      const auto* experts = &rank.experts[token * lanes];
      if (std::any_of(experts, experts + lanes,
                      [&](std::int32_t expert) { return local.local_id(expert) >= 0; })) {
        add_slot(rank, token);
      }
    }
  }

  void add_slot(const RankRoutes& rank, std::size_t token) {
    const auto lanes = size_of(rank.topk);
    slots.resize(slots.size() + slot_bytes);
    std::byte* slot = slots.data() + slots.size() - slot_bytes;
    const auto index = static_cast<std::int32_t>(token);
    std::memcpy(slot, &index, sizeof index);
    std::memcpy(slot + 8, &rank.experts[token * lanes], lanes * 4);
    std::memcpy(slot + 8 + lanes * 4, &rank.weights[token * lanes], lanes * 4);
    tokens.push_back(token);
  }

  [[nodiscard]] LandedSource view(int rank, int topk) const {
    if (tokens.empty()) {
      return {rank, 0, {}, {}, {}};
    }
    const auto at = [&](std::size_t offset) { return slots.data() + offset; };
    return {rank,
            tokens.size(),
            {reinterpret_cast<const std::int32_t*>(at(0)), slot_bytes},
            {reinterpret_cast<const std::int32_t*>(at(8)), slot_bytes},
            {reinterpret_cast<const float*>(at(8 + size_of(topk) * 4)), slot_bytes}};
  }
};

void count_all(const std::vector<RankRoutes>& ranks, const ExpertSplit& split, Senders& senders) {
  const auto experts = size_of(split.expert_count());
  senders.rows.assign(ranks.size() * experts, 999);  // What was there is overwritten.
  senders.tokens.assign(ranks.size() * ranks.size(), 999);
  std::vector<std::int32_t> owner_of_expert(experts);
  fill_owner_table(split, owner_of_expert);
  for (std::size_t source = 0; source < ranks.size(); ++source) {
    auto& owners = senders.owners.emplace_back(ranks[source].experts.size());
    find_owners(ranks[source].experts, owner_of_expert, owners);
    count_routes(routes_of(ranks[source], owners),
                 {std::span(senders.rows).subspan(source * experts, experts),
                  std::span(senders.tokens).subspan(source * ranks.size(), ranks.size())});
  }
}

}  // namespace

Routes routes_of(const RankRoutes& rank, const std::vector<std::int32_t>& owners) {
  return {rank.experts, owners, rank.topk};
}

CountMatrix row_matrix(const Senders& senders, const ExpertSplit& split) {
  const auto experts = size_of(split.expert_count());
  return {senders.rows.data(), experts, size_of(split.rank_count()), experts};
}

CountMatrix token_matrix(const Senders& senders, const ExpertSplit& split) {
  const auto ranks = size_of(split.rank_count());
  return {senders.tokens.data(), ranks, ranks, ranks};
}

Senders run_senders(const std::vector<RankRoutes>& ranks, const ExpertSplit& split,
                    RowLayout layout, std::int64_t alignment) {
  Senders senders;
  count_all(ranks, split, senders);
  const bool is_plain = layout == RowLayout::kPlain;
  const auto columns = is_plain ? ranks.size() : size_of(split.expert_count());
  for (std::size_t source = 0; source < ranks.size(); ++source) {
    auto& start = senders.start.emplace_back(columns);
    auto& needed = senders.needed.emplace_back(ranks.size());
    auto& rows = senders.row_of_route.emplace_back(ranks[source].experts.size());
    const auto me = static_cast<int>(source);
    if (is_plain) {
      plan_plain(token_matrix(senders, split), me, {start, needed});
      auto next = start;
      place_plain(routes_of(ranks[source], senders.owners[source]), next, rows);
    } else {
      std::vector<std::int64_t> row_count(columns);
      plan_expanded({row_matrix(senders, split), split, alignment}, me, {start, row_count, needed});
      auto next = start;
      place_expanded(ranks[source].experts, next, rows);
    }
  }
  return senders;
}

Receiver run_receiver(const Senders& senders, const ExpertSplit& split, int rank,
                      std::int64_t alignment) {
  const auto local_count = size_of(split.count(rank));
  const auto ranks = size_of(split.rank_count());
  Receiver receiver;
  receiver.begin.resize(local_count);
  receiver.row_count.resize(local_count);
  receiver.aligned_row_count.resize(local_count);
  receiver.source_begin.resize(ranks * local_count);
  receiver.plain_begin.resize(ranks);
  receiver.plain_prefix.resize(ranks);
  ExpandedLayout expanded = receiver.expanded();
  expanded.source_begin = receiver.source_begin;
  receiver.expanded_total =
      layout_expanded({row_matrix(senders, split), split, alignment}, rank, expanded);
  receiver.plain_total = layout_plain(token_matrix(senders, split), rank,
                                      {receiver.plain_begin, receiver.plain_prefix});
  return receiver;
}

Unpacked run_landing(const std::vector<RankRoutes>& ranks, const ExpertSplit& split, int rank,
                     RowLayout layout, std::int64_t alignment) {
  const int topk = ranks.front().topk;
  const auto lanes = size_of(topk);
  const LandedShape shape{split.local_experts(rank), topk};
  const bool is_plain = layout == RowLayout::kPlain;
  Unpacked unpacked;
  unpacked.rows_per_expert.resize(size_of(shape.local.count));
  std::vector<LandingArea> areas;
  std::size_t slot_count = 0;
  for (std::size_t source = 0; source < ranks.size(); ++source) {
    areas.emplace_back(ranks[source], shape.local);
    slot_count += areas.back().tokens.size();
    unpacked.routes_per_source.push_back(count_landed(
        areas.back().view(static_cast<int>(source), topk), shape, unpacked.rows_per_expert));
  }
  std::vector<std::int64_t> next_row(unpacked.rows_per_expert.size());
  std::vector<std::int64_t> aligned(next_row.size());
  const std::int64_t total =
      align_groups(alignment, {next_row, unpacked.rows_per_expert, aligned, {}});
  const std::size_t row_count = is_plain ? slot_count : static_cast<std::size_t>(total);
  unpacked.source_rank.assign(row_count, -1);
  unpacked.source_token.assign(row_count, -1);
  unpacked.local_expert.resize(is_plain ? row_count * lanes : 0);
  unpacked.weight.resize(is_plain ? row_count * lanes : row_count);
  std::int64_t first_row = 0;
  for (std::size_t source = 0; source < ranks.size(); ++source) {
    const LandedSource landed = areas[source].view(static_cast<int>(source), topk);
    std::vector<std::int64_t> row_of_lane(landed.slot_count * lanes);
    if (is_plain) {
      first_row = place_landed_plain(landed, shape, first_row,
                                     {unpacked.source_rank, unpacked.source_token,
                                      unpacked.local_expert, unpacked.weight, row_of_lane});
    } else {
      place_landed_expanded(
          landed, shape,
          {next_row, unpacked.source_rank, unpacked.source_token, unpacked.weight, row_of_lane});
    }
    auto& rows = unpacked.row_of_route.emplace_back(ranks[source].experts.size(), -1);
    for (std::size_t slot = 0; slot < landed.slot_count; ++slot) {
      std::copy_n(&row_of_lane[slot * lanes], lanes, &rows[areas[source].tokens[slot] * lanes]);
    }
  }
  return unpacked;
}

}  // namespace crossdock::routing::testing
