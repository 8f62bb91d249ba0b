// SPDX-License-Identifier: Apache-2.0
// The one list of protocols, and the check of a protocol against a fabric.
#include "protocol/protocol.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "crossdock/status.h"
#include "fabric/guarantees.h"
#include "protocol/barrier.h"
#include "protocol/contract.h"
#include "protocol/counted.h"
#include "protocol/tail_fence.h"

namespace crossdock::protocol {
namespace {

constexpr std::array<std::string_view, 3> kNames = {"barrier", "counted", "tail_fence"};

std::array<const Contract*, kNames.size()> contracts() {
  return {&Barrier::static_contract(), &Counted::static_contract(), &TailFence::static_contract()};
}

std::string_view to_string(fabric::QueueOrder order) {
  switch (order) {
    case fabric::QueueOrder::kNone:
      return "none";
    case fabric::QueueOrder::kStrongOnly:
      return "strong-only";
    case fabric::QueueOrder::kAll:
      return "all";
  }
  return "?";
}

std::vector<std::string> find_lacks(const Needs& needs, const fabric::Guarantees& has) {
  std::vector<std::string> lacks;
  if (has.atomic_bytes < needs.atomic_bytes) {
    lacks.push_back(fmt::format("atomic values of {} bytes (the fabric has {})", needs.atomic_bytes,
                                has.atomic_bytes));
  }
  if (has.queue_order < needs.queue_order) {
    lacks.push_back(fmt::format("queue order {} (the fabric has {})", to_string(needs.queue_order),
                                to_string(has.queue_order)));
  }
  if (needs.remote_completion && !has.remote_completion) {
    lacks.emplace_back("remote completion (the fabric's flush is local)");
  }
  if (needs.delivered_once && !has.delivered_once) {
    lacks.emplace_back("delivery once (the fabric may repeat operations)");
  }
  if (needs.event_after_data && !has.event_after_data) {
    lacks.emplace_back("events behind their data (the fabric may show a notify early)");
  }
  return lacks;
}

Status check_team(std::string_view name, const Team& team) {
  std::string wrong;
  if (team.rank_count < 1) {
    wrong = fmt::format("rank_count {}; allowed: 1 or more", team.rank_count);
  } else if (team.self.value < 0 || team.self.value >= team.rank_count) {
    wrong = fmt::format("rank {}; allowed: 0 to {}", team.self.value, team.rank_count - 1);
  } else if (team.lane_count < 1 || team.lane_count > TailFence::kLaneCountMax) {
    wrong =
        fmt::format("lane_count {}; allowed: 1 to {}", team.lane_count, TailFence::kLaneCountMax);
  } else {
    return {};
  }
  return {StatusKind::kInvalidArgument, Scope::kOperation,
          fmt::format("protocol '{}': {}", name, wrong)};
}

}  // namespace

Result<std::unique_ptr<Protocol>> make_protocol(std::string_view name, const Team& team) {
  if (Status status = check_team(name, team); !status.ok()) {
    return status;
  }
  if (name == Barrier::static_contract().name) {
    return std::unique_ptr<Protocol>(std::make_unique<Barrier>(team));
  }
  if (name == Counted::static_contract().name) {
    return std::unique_ptr<Protocol>(std::make_unique<Counted>(team));
  }
  if (name == TailFence::static_contract().name) {
    return std::unique_ptr<Protocol>(std::make_unique<TailFence>(team));
  }
  return Status(StatusKind::kInvalidArgument, Scope::kOperation,
                fmt::format("unknown protocol '{}'; allowed: {}", name, fmt::join(kNames, ", ")));
}

std::span<const std::string_view> protocol_names() { return kNames; }

Status check_fit(const Contract& contract, const fabric::Guarantees& guarantees) {
  const std::vector<std::string> lacks = find_lacks(contract.needs, guarantees);
  if (lacks.empty()) {
    return {};
  }
  std::vector<std::string_view> fitting;
  for (const Contract* other : contracts()) {
    if (find_lacks(other->needs, guarantees).empty()) {
      fitting.push_back(other->name);
    }
  }
  return {StatusKind::kUnsupported, Scope::kCommunicator,
          fmt::format("protocol '{}' needs {}; {}", contract.name, fmt::join(lacks, " and "),
                      fitting.empty() ? "no protocol fits this fabric"
                                      : fmt::format("would fit: {}", fmt::join(fitting, ", ")))};
}

}  // namespace crossdock::protocol
