// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/routing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/npy.h"
#include "base/parse.h"
#include "base/status_macros.h"
#include "cli/bench/workload.h"
#include "cli/random.h"
#include "crossdock/status.h"

namespace crossdock::bench {
namespace {

constexpr std::uint64_t kRouteStream = 0x726f75746573ULL;      // "routes"
constexpr std::uint64_t kFavouriteStream = 0x6661766f7572ULL;  // "favour"

Status invalid(std::string message) {
  return {StatusKind::kInvalidArgument, Scope::kProcess, std::move(message)};
}

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

std::vector<std::int32_t> all_experts(const Shape& shape) {
  std::vector<std::int32_t> experts(at(shape.experts));
  std::iota(experts.begin(), experts.end(), 0);
  return experts;
}

void shuffle(Random& random, std::span<std::int32_t> deck, std::size_t first_count) {
  for (std::size_t card = 0; card < first_count; ++card) {
    std::swap(deck[card], deck[card + random.below(deck.size() - card)]);
  }
}

/// Experts by popularity, the same on every rank.
std::vector<std::int32_t> favourites(const Shape& shape) {
  Random random(mix(shape.seed, kFavouriteStream));
  std::vector<std::int32_t> experts = all_experts(shape);
  shuffle(random, experts, experts.size());
  return experts;
}

/// Own experts first, then those of the ranks after it.
std::vector<std::int32_t> from_rank_on(const Shape& shape, int rank) {
  std::vector<std::int32_t> experts = all_experts(shape);
  std::rotate(experts.begin(), experts.begin() + shape.first_expert(rank), experts.end());
  return experts;
}

/// K of the deck's cards a token, each set equally likely; the deck may start in any order.
std::vector<std::int32_t> draw_uniform(const Shape& shape, Random& random,
                                       std::vector<std::int32_t> deck) {
  std::vector<std::int32_t> routes;
  routes.reserve(at(shape.routes_per_rank()));
  for (std::int64_t token = 0; token < shape.tokens; ++token) {
    shuffle(random, deck, at(shape.topk));
    routes.insert(routes.end(), deck.begin(), deck.begin() + shape.topk);
  }
  return routes;
}

/// Weighted, without replacement: the K smallest of exponential times with the weights as rates
/// (Efraimidis and Spirakis, 2006).
std::vector<std::int32_t> draw_zipf(const Shape& shape, Random& random) {
  const std::vector<std::int32_t> experts = favourites(shape);
  std::vector<double> mean_time(experts.size());
  for (std::size_t place = 0; place < experts.size(); ++place) {
    mean_time[place] = std::pow(static_cast<double>(place + 1), shape.routing.exponent);
  }
  std::vector<std::pair<double, std::int32_t>> times(experts.size());
  std::vector<std::int32_t> routes;
  routes.reserve(at(shape.routes_per_rank()));
  for (std::int64_t token = 0; token < shape.tokens; ++token) {
    for (std::size_t place = 0; place < experts.size(); ++place) {
      times[place] = {-std::log(random.positive_unit()) * mean_time[place], experts[place]};
    }
    std::partial_sort(times.begin(), times.begin() + shape.topk, times.end());
    std::vector<std::int32_t> token_routes;
    for (int lane = 0; lane < shape.topk; ++lane) {
      token_routes.push_back(times[at(lane)].second);
    }
    shuffle(random, token_routes, token_routes.size());
    routes.insert(routes.end(), token_routes.begin(), token_routes.end());
  }
  return routes;
}

Result<Recording> load_recording(const std::string& path) {
  Result<NpyArray> loaded = load_npy(path);
  if (!loaded.ok()) {
    return invalid(std::string(loaded.status().message()));
  }
  const NpyArray& array = *loaded;
  if ((array.type != NpyType::kI4 && array.type != NpyType::kI8) || array.shape.size() != 3) {
    return invalid(fmt::format("{}: {} of {} dimensions; allowed: <i4 or <i8 of shape [R, T, K]",
                               path, to_string(array.type), array.shape.size()));
  }
  Recording recording{.ranks = static_cast<std::int64_t>(array.shape[0]),
                      .tokens = static_cast<std::int64_t>(array.shape[1]),
                      .topk = static_cast<std::int64_t>(array.shape[2]),
                      .ids = {}};
  recording.ids.reserve(array.element_count());
  for (std::size_t index = 0; index < array.element_count(); ++index) {
    const std::int64_t id = array.type == NpyType::kI8 ? array.as<std::int64_t>()[index]
                                                       : array.as<std::int32_t>()[index];
    if (id < -1 || id > 65535) {
      return invalid(fmt::format("{}: id {} at {}; allowed: -1 .. 65535", path, id, index));
    }
    recording.ids.push_back(static_cast<std::int32_t>(id));
  }
  return recording;
}

Status check_recording(const Shape& shape, const Recording& recording) {
  if (recording.ranks != shape.ranks || recording.tokens != shape.tokens ||
      recording.topk != shape.topk) {
    return invalid(
        fmt::format("--routing {}: recorded for {} ranks, {} tokens, top-{}; asked: {}, "
                    "{}, top-{}; allowed: the recorded shape",
                    shape.routing.text, recording.ranks, recording.tokens, recording.topk,
                    shape.ranks, shape.tokens, shape.topk));
  }
  for (std::size_t first = 0; first < recording.ids.size(); first += at(recording.topk)) {
    std::set<std::int32_t> seen;
    for (std::size_t lane = first; lane < first + at(recording.topk); ++lane) {
      const std::int32_t id = recording.ids[lane];
      if (id >= shape.experts || (id >= 0 && !seen.insert(id).second)) {
        return invalid(
            fmt::format("--routing {}: expert {} in token {} of rank {}; allowed: below "
                        "{}, once a token",
                        shape.routing.text, id, first / at(recording.topk) % at(recording.tokens),
                        first / at(recording.topk * recording.tokens), shape.experts));
      }
    }
  }
  return {};
}

}  // namespace

Result<Routing> parse_routing(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  const bool has_value = colon != std::string_view::npos;
  const std::string_view value = has_value ? text.substr(colon + 1) : std::string_view();
  Routing routing;
  routing.text = text;
  if (name == "zipf" && has_value) {
    routing.kind = RoutingKind::kZipf;
    const Result<double> exponent = parse_double(value);
    if (exponent.ok() && *exponent > 0 && *exponent <= 8) {
      routing.exponent = *exponent;
      return routing;
    }
  } else if (name == "khot" && has_value) {
    routing.kind = RoutingKind::kHot;
    const Result<std::int64_t> count = parse_int64(value, {1, 65536});
    if (count.ok()) {
      routing.hot_experts = static_cast<int>(*count);
      return routing;
    }
  } else if (name == "recorded" && !value.empty()) {
    routing.kind = RoutingKind::kRecorded;
    CROSSDOCK_ASSIGN_OR_RETURN(Recording recording, load_recording(std::string(value)));
    routing.recording = std::make_shared<const Recording>(std::move(recording));
    return routing;
  } else if (!has_value && (name == "uniform" || name == "one" || name == "local")) {
    routing.kind = name == "uniform" ? RoutingKind::kUniform
                   : name == "one"   ? RoutingKind::kOne
                                     : RoutingKind::kLocal;
    return routing;
  }
  return invalid(fmt::format("--routing {}; allowed: {}", quote(text), kRoutingsAllowed));
}

Status check_routing(const Shape& shape) {
  const Routing& routing = shape.routing;
  if (routing.kind == RoutingKind::kHot &&
      (routing.hot_experts < shape.topk || routing.hot_experts > shape.experts)) {
    return invalid(fmt::format("--routing {}; allowed: khot:{} .. khot:{} (top-k to experts)",
                               routing.text, shape.topk, shape.experts));
  }
  return routing.recording == nullptr ? Status() : check_recording(shape, *routing.recording);
}

std::vector<std::int32_t> make_routes(const Shape& shape, int rank) {
  Random random(mix(shape.seed, kRouteStream + static_cast<std::uint64_t>(rank)));
  switch (shape.routing.kind) {
    case RoutingKind::kUniform:
      return draw_uniform(shape, random, all_experts(shape));
    case RoutingKind::kZipf:
      return draw_zipf(shape, random);
    case RoutingKind::kHot: {
      std::vector<std::int32_t> hot = favourites(shape);
      hot.resize(at(shape.routing.hot_experts));
      return draw_uniform(shape, random, std::move(hot));
    }
    case RoutingKind::kOne: {
      const auto crowded = static_cast<int>(mix(shape.seed, kFavouriteStream) %
                                            static_cast<std::uint64_t>(shape.ranks));
      std::vector<std::int32_t> experts = from_rank_on(shape, crowded);
      experts.resize(at(shape.topk));
      return draw_uniform(shape, random, std::move(experts));
    }
    case RoutingKind::kLocal: {
      std::vector<std::int32_t> experts = from_rank_on(shape, rank);
      experts.resize(at(std::max(shape.topk, shape.local_experts(rank))));
      return draw_uniform(shape, random, std::move(experts));
    }
    case RoutingKind::kRecorded: {
      const auto first = shape.routing.recording->ids.begin() + rank * shape.routes_per_rank();
      return {first, first + shape.routes_per_rank()};
    }
  }
  return {};
}

Skew skew_of(std::span<const std::int64_t> counts) {
  std::vector<std::int64_t> sorted(counts.begin(), counts.end());
  std::sort(sorted.begin(), sorted.end());
  const double sum = std::accumulate(sorted.begin(), sorted.end(), 0.0);
  if (sum == 0) {
    return {};
  }
  const auto count = static_cast<double>(sorted.size());
  double weighted = 0;
  for (std::size_t place = 0; place < sorted.size(); ++place) {
    weighted += static_cast<double>(place + 1) * static_cast<double>(sorted[place]);
  }
  return {.max_over_mean = static_cast<double>(sorted.back()) * count / sum,
          .gini = 2 * weighted / (count * sum) - (count + 1) / count};
}

RoutingSkew routing_skew(const Shape& shape) {
  std::vector<std::int64_t> by_expert(at(shape.experts), 0);
  std::vector<std::int64_t> by_rank(at(shape.ranks), 0);
  for (int rank = 0; rank < shape.ranks; ++rank) {
    for (const std::int32_t expert : make_routes(shape, rank)) {
      if (expert >= 0) {
        ++by_expert[at(expert)];
        ++by_rank[at(shape.owner(expert))];
      }
    }
  }
  return {.experts = skew_of(by_expert), .ranks = skew_of(by_rank)};
}

}  // namespace crossdock::bench
