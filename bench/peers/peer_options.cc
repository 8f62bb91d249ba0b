// SPDX-License-Identifier: Apache-2.0
#include "bench/peers/peer_options.h"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/parse.h"
#include "base/status_macros.h"
#include "cli/bench/routing.h"
#include "cli/bench/workload.h"
#include "crossdock/status.h"
#include "crossdock/types.h"

namespace crossdock::bench {
namespace {

Status invalid(std::string message) {
  return {StatusKind::kInvalidArgument, Scope::kProcess, std::move(message)};
}

Status set_choice(std::string_view text, const std::vector<std::string_view>& allowed,
                  std::string& value) {
  CROSSDOCK_ASSIGN_OR_RETURN(const std::size_t index, parse_choice(text, allowed));
  value = allowed[index];
  return {};
}

Status set_element(std::string_view text, ElementType& element) {
  constexpr std::array kElements = {ElementType::kBf16, ElementType::kFp32, ElementType::kBytes};
  CROSSDOCK_ASSIGN_OR_RETURN(const std::size_t index,
                             parse_choice(text, {"bf16", "fp32", "bytes"}));
  element = kElements.at(index);
  return {};
}

Status set_number(std::string_view name, std::string_view text, PeerOptions& options) {
  const std::array<std::pair<std::string_view, int*>, 5> integers = {
      {{"--ranks", &options.shape.ranks},
       {"--experts", &options.shape.experts},
       {"--topk", &options.shape.topk},
       {"--iterations", &options.iterations},
       {"--warmup", &options.warmup}}};
  for (const auto& [candidate, target] : integers) {
    if (name == candidate) {
      CROSSDOCK_ASSIGN_OR_RETURN(const std::int64_t value, parse_int64(text, {0, 1 << 24}));
      *target = static_cast<int>(value);
      return {};
    }
  }
  CROSSDOCK_ASSIGN_OR_RETURN(const std::int64_t value, parse_int64(text, {0, 1LL << 62}));
  if (name == "--tokens") {
    options.shape.tokens = value;
  } else if (name == "--hidden") {
    options.shape.hidden = value;
  } else if (name == "--seed") {
    options.shape.seed = static_cast<std::uint64_t>(value);
  } else {
    return invalid(fmt::format("unknown option {}", quote(name)));
  }
  return {};
}

Status set_option(std::string_view name, std::string_view text, PeerOptions& options) {
  if (name == "--operation") {
    return set_choice(text, {"dispatch", "combine", "roundtrip"}, options.operation);
  }
  if (name == "--exchange") {
    return set_choice(text, {"alltoallv", "allgather"}, options.exchange);
  }
  if (name == "--dtype") {
    return set_element(text, options.shape.element);
  }
  if (name == "--store") {
    options.store = text;
    return {};
  }
  if (name == "--routing") {
    CROSSDOCK_ASSIGN_OR_RETURN(options.shape.routing, parse_routing(text));
    return {};
  }
  return set_number(name, text, options);
}

}  // namespace

Result<PeerOptions> parse_peer_options(const std::vector<std::string_view>& arguments,
                                       int rank_count) {
  PeerOptions options;
  for (std::size_t index = 0; index < arguments.size(); index += 2) {
    if (index + 1 == arguments.size()) {
      return invalid(fmt::format("{} needs a value", quote(arguments[index])));
    }
    CROSSDOCK_RETURN_IF_ERROR(set_option(arguments[index], arguments[index + 1], options));
  }
  Shape& shape = options.shape;
  if (rank_count > 0) {
    shape.ranks = rank_count;
  }
  if (shape.ranks < 1 || shape.experts < shape.ranks || shape.topk < 1 ||
      shape.topk > shape.experts || shape.hidden < 1) {
    return invalid("needs 1 <= topk <= experts, experts >= ranks >= 1 and hidden >= 1");
  }
  if (options.operation != "dispatch" && shape.element == ElementType::kBytes) {
    return invalid("bytes cannot be summed");
  }
  CROSSDOCK_RETURN_IF_ERROR(check_routing(shape));
  return options;
}

}  // namespace crossdock::bench
