// SPDX-License-Identifier: Apache-2.0
#include "ep/announcement.h"

#include <fmt/format.h>

#include <array>
#include <string>

#include "crossdock/types.h"
#include "protocol/protocol.h"
#include "schedule/schedule.h"

namespace crossdock::ep {
namespace {

struct Field {
  std::string_view name;
  std::string own;
  std::string peer;
};

std::string operation_name(std::uint8_t code) {
  switch (static_cast<OperationCode>(code)) {
    case OperationCode::kDispatch:
      return "dispatch";
    case OperationCode::kCombine:
      return "combine";
  }
  return fmt::format("operation {}", code);
}

std::string name_at(std::span<const std::string_view> names, std::size_t index) {
  return index < names.size() ? std::string(names[index]) : fmt::format("number {}", index);
}

// The fields in the order in which a difference is most telling.
std::array<Field, 15> fields_of(const CollectiveOptions& own, const CollectiveOptions& peer) {
  const auto layout = [](std::uint8_t value) {
    return std::string(to_string(static_cast<RowLayout>(value)));
  };
  const auto mode = [](std::uint8_t value) {
    return std::string(to_string(static_cast<Mode>(value)));
  };
  const auto plan = [](std::uint8_t value) {
    return std::string(to_string(static_cast<ReductionPlan>(value)));
  };
  const auto path = [](std::uint8_t value) {
    return std::string(to_string(static_cast<CombinePath>(value)));
  };
  const auto number = [](auto value) { return fmt::format("{}", value); };
  const auto protocol = [](std::uint8_t value) {
    return name_at(protocol::protocol_names(), value);
  };
  const auto schedule = [](std::uint8_t value) {
    return name_at(schedule::schedule_names(), value);
  };
  return {{{"operation", operation_name(own.operation), operation_name(peer.operation)},
           {"round", number(own.round), number(peer.round)},
           {"layout", layout(own.layout), layout(peer.layout)},
           {"mode", mode(own.mode), mode(peer.mode)},
           {"protocol", protocol(own.protocol), protocol(peer.protocol)},
           {"schedule", schedule(own.schedule), schedule(peer.schedule)},
           {"expert_alignment", number(own.expert_alignment), number(peer.expert_alignment)},
           {"max_tokens_per_rank", number(own.max_tokens), number(peer.max_tokens)},
           {"padding", number(own.padding), number(peer.padding)},
           {"round of the plan", number(own.repeated), number(peer.repeated)},
           {"plan", plan(own.plan), plan(peer.plan)},
           {"path", path(own.path), path(peer.path)},
           {"row_count", number(own.row_count), number(peer.row_count)},
           {"arrival", number(own.arrival), number(peer.arrival)},
           {"topk_weights of combine", number(own.topk_weights), number(peer.topk_weights)}}};
}

}  // namespace

Status compare_announcements(const AnnouncementHead& own, int own_rank,
                             const AnnouncementHead& peer, int peer_rank,
                             std::string_view peer_text) {
  if (static_cast<Verdict>(peer.verdict) == Verdict::kRefused) {
    if (static_cast<StatusKind>(peer.refusal_kind) == StatusKind::kClosed) {
      return {StatusKind::kClosed, Scope::kPeer,
              fmt::format("rank {} closed the buffer while rank {} went on", peer_rank, own_rank),
              peer_rank};
    }
    return {StatusKind::kPeerRefused, Scope::kOperation,
            fmt::format("rank {} refused its part: {}", peer_rank, peer_text), peer_rank};
  }
  if (own.ordinal == peer.ordinal && own.options == peer.options) {
    return {};
  }
  for (const Field& field : fields_of(own.options, peer.options)) {
    if (field.own != field.peer) {
      return {
          StatusKind::kMismatch, Scope::kOperation,
          fmt::format("{} differs: rank {} has {}, rank {} has {}; it must be equal on all ranks",
                      field.name, own_rank, field.own, peer_rank, field.peer),
          peer_rank};
    }
  }
  return {StatusKind::kMismatch, Scope::kCommunicator,
          fmt::format("number of calls differs: rank {} is in call {}, rank {} in call {}",
                      own_rank, own.ordinal, peer_rank, peer.ordinal),
          peer_rank};
}

}  // namespace crossdock::ep
