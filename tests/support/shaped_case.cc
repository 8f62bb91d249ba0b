// SPDX-License-Identifier: Apache-2.0
#include "tests/support/shaped_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <set>

#include "protocol/protocol.h"

namespace crossdock::testing {

ExchangeCase shaped_case(const CaseShape& shape) {
  ExchangeCase made;
  made.seed = shape.seed;
  made.rank_count = static_cast<int>(shape.tokens.size());
  made.protocol = shape.protocol;
  made.buffer.max_tokens_per_rank =
      shape.capacity > 0
          ? shape.capacity
          : std::max<std::int64_t>(1, *std::max_element(shape.tokens.begin(), shape.tokens.end()));
  made.buffer.hidden = shape.hidden;
  made.buffer.experts = shape.experts;
  made.buffer.topk = shape.topk;
  made.buffer.element = shape.element;
  made.dispatch.layout = shape.layout;
  made.dispatch.mode = shape.mode;
  std::mt19937_64 random(shape.seed);
  std::vector<std::int32_t> experts(static_cast<std::size_t>(shape.experts));
  std::iota(experts.begin(), experts.end(), 0);
  for (const std::int64_t token_count : shape.tokens) {
    routing::RankRoutes routes;
    routes.topk = shape.topk;
    for (std::int64_t token = 0; token < token_count; ++token) {
      std::shuffle(experts.begin(), experts.end(), random);
      routes.experts.insert(routes.experts.end(), experts.begin(), experts.begin() + shape.topk);
    }
    for (std::size_t route = 0; route < routes.experts.size(); ++route) {
      routes.weights.push_back(static_cast<float>(random() % 1000) / 1000.0F);
    }
    made.routes.push_back(std::move(routes));
  }
  return made;
}

std::string Path::describe() const {
  return fmt::format("{} {} {}", to_string(mode), to_string(layout), protocol);
}

std::vector<Path> all_paths() {
  std::vector<Path> paths;
  for (const Path& path : mode_paths()) {
    for (const std::string_view protocol : protocol::protocol_names()) {
      paths.push_back({path.mode, path.layout, std::string(protocol)});
    }
  }
  return paths;
}

std::vector<Path> mode_paths() {
  std::vector<Path> paths;
  for (const Mode mode : {Mode::kThroughput, Mode::kLatency}) {
    for (const RowLayout layout : {RowLayout::kPlain, RowLayout::kExpanded}) {
      paths.push_back({mode, layout, "auto"});
    }
  }
  return paths;
}

std::vector<float> tagged_tokens(std::int64_t token_count, std::int64_t hidden, int rank,
                                 std::uint64_t tag) {
  std::vector<float> tokens;
  tokens.reserve(static_cast<std::size_t>(token_count * hidden));
  for (std::int64_t token = 0; token < token_count; ++token) {
    for (std::int64_t index = 0; index < hidden; ++index) {
      const auto mixed = (tag * 7919 + static_cast<std::uint64_t>(rank) * 104729 +
                          static_cast<std::uint64_t>(token) * 1299709 +
                          static_cast<std::uint64_t>(index) * 15485863) %
                         65521;
      tokens.push_back(static_cast<float>(mixed));
    }
  }
  return tokens;
}

std::vector<float> expected_sums(const BufferOptions& options, int rank_count, RowLayout layout,
                                 const std::vector<float>& tokens,
                                 const std::vector<std::int32_t>& experts) {
  const auto split = routing::ExpertSplit::make(options.experts, rank_count);
  const auto hidden = static_cast<std::size_t>(options.hidden);
  const auto lanes = static_cast<std::size_t>(options.topk);
  std::vector<float> sums(tokens.size());
  for (std::size_t token = 0; token < tokens.size() / hidden; ++token) {
    std::multiset<int> owners;
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      if (const int expert = experts[token * lanes + lane]; expert >= 0) {
        owners.insert(split->owner(expert));
      }
    }
    const std::size_t rows = layout == RowLayout::kExpanded
                                 ? owners.size()
                                 : std::set<int>(owners.begin(), owners.end()).size();
    for (std::size_t index = token * hidden; index < (token + 1) * hidden; ++index) {
      sums[index] = tokens[index] * static_cast<float>(rows);
    }
  }
  return sums;
}

BareRound run_bare_round(ElasticBuffer& buffer, const std::vector<float>& tokens,
                         const std::vector<std::int32_t>& experts, const DispatchOptions& options,
                         const BetweenCalls& between) {
  BareRound done;
  const auto hidden = static_cast<std::size_t>(buffer.options().hidden);
  const DispatchInput input{.tokens = tokens.data(),
                            .token_count = static_cast<std::int64_t>(tokens.size() / hidden),
                            .topk_ids = experts,
                            .topk_weights = {}};
  auto dispatched = buffer.dispatch(input, options);
  done.dispatch = dispatched.status();
  if (!dispatched.ok()) {
    return done;
  }
  done.row_count = dispatched->row_count;
  if (between) {
    between(*dispatched, input);
  }
  done.combined.resize(tokens.size() + 1);  // Never null, also without tokens.
  done.combine = buffer.combine({dispatched->rows, dispatched->row_count}, dispatched->handle,
                                done.combined.data());
  done.combined.resize(tokens.size());
  return done;
}

}  // namespace crossdock::testing
