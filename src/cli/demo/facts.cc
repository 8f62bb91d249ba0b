// SPDX-License-Identifier: Apache-2.0
#include "cli/demo/facts.h"

#include <fmt/format.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/console.h"
#include "crossdock/elastic_buffer.h"
#include "crossdock/status.h"

namespace crossdock::demo {
namespace {

using cli::Json;

Json call_json(const CallTime& call) { return Json::array({call.begin_ns, call.end_ns}); }

CallTime call_from(const Json& json) {
  return {json.at(0).get<std::int64_t>(), json.at(1).get<std::int64_t>()};
}

Json round_json(const RoundFacts& facts) {
  return {{"round", facts.round},
          {"dispatch_ns", call_json(facts.dispatch)},
          {"experts_ns", call_json(facts.experts)},
          {"combine_ns", call_json(facts.combine)},
          {"row_count", facts.row_count},
          {"rows_per_expert", facts.rows_per_expert}};
}

RoundFacts round_from(const Json& json) {
  return {.round = json.at("round").get<std::uint64_t>(),
          .dispatch = call_from(json.at("dispatch_ns")),
          .experts = call_from(json.at("experts_ns")),
          .combine = call_from(json.at("combine_ns")),
          .row_count = json.at("row_count").get<std::int64_t>(),
          .rows_per_expert = json.at("rows_per_expert").get<std::vector<std::int64_t>>()};
}

Json followed_json(const FollowedToken& followed) {
  Json routes = Json::array();
  for (const RouteStep& step : followed.routes) {
    routes.push_back({{"lane", step.lane},
                      {"expert", step.expert},
                      {"rank", step.rank},
                      {"row", step.row},
                      {"window_offset", step.window_offset},
                      {"row_bytes", step.row_bytes}});
  }
  return {{"rank", followed.rank},
          {"token", followed.token},
          {"origin", followed.origin},
          {"topk_ids", followed.topk_ids},
          {"topk_weights", followed.topk_weights},
          {"routes", routes}};
}

FollowedToken followed_from(const Json& json) {
  FollowedToken followed{.rank = json.at("rank").get<int>(),
                         .token = json.at("token").get<std::int64_t>(),
                         .origin = json.at("origin").get<std::string>(),
                         .topk_ids = json.at("topk_ids").get<std::vector<std::int32_t>>(),
                         .topk_weights = json.at("topk_weights").get<std::vector<float>>(),
                         .routes = {}};
  for (const Json& step : json.at("routes")) {
    followed.routes.push_back({.lane = step.at("lane").get<int>(),
                               .expert = step.at("expert").get<int>(),
                               .rank = step.at("rank").get<int>(),
                               .row = step.at("row").get<std::int64_t>(),
                               .window_offset = step.at("window_offset").get<std::uint64_t>(),
                               .row_bytes = step.at("row_bytes").get<std::uint64_t>()});
  }
  return followed;
}

}  // namespace

Json to_json(const RankFacts& facts) {
  Json json{{"rank", facts.rank},
            {"token_count", facts.token_count},
            {"rows_address", facts.rows_address},
            {"first_expert", facts.first_expert},
            {"mode", facts.mode},
            {"protocol", facts.protocol},
            {"schedule", facts.schedule},
            {"reserved_bytes", facts.reserved_bytes},
            {"routes_to_expert", facts.routes_to_expert}};
  json["rounds"] = Json::array();
  for (const RoundFacts& round : facts.rounds) {
    json["rounds"].push_back(round_json(round));
  }
  if (facts.followed) {
    json["followed"] = followed_json(*facts.followed);
  }
  return json;
}

Result<RankFacts> rank_facts_from_json(const std::string& text) {
  try {
    const Json json = Json::parse(text);
    RankFacts facts{
        .rank = json.at("rank").get<int>(),
        .token_count = json.at("token_count").get<std::int64_t>(),
        .rows_address = json.at("rows_address").get<std::uint64_t>(),
        .first_expert = json.at("first_expert").get<int>(),
        .mode = json.at("mode").get<std::string>(),
        .protocol = json.at("protocol").get<std::string>(),
        .schedule = json.at("schedule").get<std::string>(),
        .reserved_bytes = json.at("reserved_bytes").get<std::uint64_t>(),
        .routes_to_expert = json.at("routes_to_expert").get<std::vector<std::int64_t>>(),
        .rounds = {},
        .followed = {}};
    for (const Json& round : json.at("rounds")) {
      facts.rounds.push_back(round_from(round));
    }
    if (json.contains("followed")) {
      facts.followed = followed_from(json.at("followed"));
    }
    return facts;
  } catch (const Json::exception& error) {
    return Status(StatusKind::kInternal, Scope::kCommunicator,
                  fmt::format("a rank's facts: {}", error.what()));
  }
}

}  // namespace crossdock::demo
