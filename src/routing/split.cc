// SPDX-License-Identifier: Apache-2.0
#include "routing/split.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/check.h"
#include "crossdock/status.h"

namespace crossdock::routing {

Result<ExpertSplit> ExpertSplit::make(int expert_count, int rank_count) {
  if (rank_count < 1) {
    return Status(StatusKind::kInvalidArgument, Scope::kOperation,
                  fmt::format("rank count is {}; allowed: 1 or more", rank_count));
  }
  if (expert_count < rank_count) {
    return Status(
        StatusKind::kInvalidArgument, Scope::kOperation,
        fmt::format(
            "expert count is {}; allowed: {} or more, at least one for each of the {} ranks",
            expert_count, rank_count, rank_count));
  }
  return ExpertSplit(expert_count, rank_count);
}

void fill_owner_table(const ExpertSplit& split, std::span<std::int32_t> owner_of_expert) {
  CROSSDOCK_CHECK(owner_of_expert.size() == static_cast<std::size_t>(split.expert_count()),
                  "room for {} experts, split has {}", owner_of_expert.size(),
                  split.expert_count());
  auto next = owner_of_expert.begin();
  for (int rank = 0; rank < split.rank_count(); ++rank) {
    next = std::fill_n(next, split.count(rank), rank);
  }
}

}  // namespace crossdock::routing
