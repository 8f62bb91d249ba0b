// SPDX-License-Identifier: Apache-2.0
#include "tests/support/exchange_case.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "base/float.h"
#include "protocol/protocol.h"
#include "schedule/schedule.h"

namespace crossdock::testing {
namespace {

using Random = std::mt19937_64;

std::int64_t draw(Random& random, std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(random);
}

// splitmix64: the value of element `index` of a row, the same wherever it is computed.
std::uint64_t mix(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15ULL;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
  return value ^ (value >> 31);
}

std::uint64_t element_seed(std::uint64_t seed, int rank, int token, std::size_t index) {
  return mix(mix(mix(seed + static_cast<std::uint64_t>(rank)) + static_cast<std::uint64_t>(token)) +
             index);
}

// Small numbers with few mantissa bits would sum without rounding; these do not.
float token_value(std::uint64_t bits) {
  return static_cast<float>(static_cast<std::int64_t>(bits % 20001) - 10000) / 1024.0F;
}

void fill_row(const ExchangeCase& which, int rank, int token, std::byte* row) {
  const auto count = static_cast<std::size_t>(which.buffer.hidden);
  for (std::size_t index = 0; index < count; ++index) {
    const std::uint64_t bits = element_seed(which.seed, rank, token, index);
    if (which.buffer.element == ElementType::kBf16) {
      const Bf16 value = to_bf16(token_value(bits));
      std::memcpy(row + index * 2, &value, 2);
    } else if (which.buffer.element == ElementType::kFp32) {
      const float value = token_value(bits);
      std::memcpy(row + index * 4, &value, 4);
    } else {
      row[index] = static_cast<std::byte>(bits);
    }
  }
}

// What the "experts" do with a row: scale by a number of their own, rounding to the row's type.
float expert_scale(const std::vector<int>& experts) {
  float scale = 0.5F;
  for (const int expert : experts) {
    scale += 0.37F * static_cast<float>(expert % 7 + 1);
  }
  return scale;
}

template <typename Element>
std::vector<Element> apply_expert(const ExchangeCase& which, const std::byte* row, float scale) {
  std::vector<Element> out(static_cast<std::size_t>(which.buffer.hidden));
  for (std::size_t index = 0; index < out.size(); ++index) {
    Element value;
    std::memcpy(&value, row + index * sizeof value, sizeof value);
    if constexpr (sizeof(Element) == 2) {
      out[index] = to_bf16(to_fp32(Bf16{value}) * scale).bits;
    } else {
      out[index] = value * scale;
    }
  }
  return out;
}

std::size_t row_bytes(const ExchangeCase& which) {
  return static_cast<std::size_t>(which.buffer.hidden) * element_bytes(which.buffer.element);
}

void expect_metadata(const ExchangeCase& which, const routing::ReceivedRow& expected,
                     const Dispatched& got, std::size_t row) {
  ASSERT_EQ(got.source_rank[row], expected.source_rank) << "row " << row;
  ASSERT_EQ(got.source_token[row], expected.source_token) << "row " << row;
  const auto lanes = static_cast<std::size_t>(which.buffer.topk);
  if (which.dispatch.layout == RowLayout::kExpanded) {
    if (!got.topk_weights.empty()) {
      const float weight = expected.is_gap() ? 0.0F : expected.weights.front();
      ASSERT_EQ(got.topk_weights[row], weight) << "row " << row;
    }
    return;
  }
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    ASSERT_EQ(got.topk_ids[row * lanes + lane], expected.local_experts[lane]) << "row " << row;
    if (!got.topk_weights.empty()) {
      ASSERT_EQ(got.topk_weights[row * lanes + lane], expected.lane_weights[lane]) << "row " << row;
    }
  }
}

void expect_rows(const ExchangeCase& which, const routing::ReceivedRank& expected,
                 const Dispatched& got) {
  ASSERT_EQ(got.row_count, static_cast<std::int64_t>(expected.rows.size()));
  const std::size_t size = row_bytes(which);
  std::vector<std::byte> row(size);
  for (std::size_t index = 0; index < expected.rows.size(); ++index) {
    const routing::ReceivedRow& want = expected.rows[index];
    ASSERT_NO_FATAL_FAILURE(expect_metadata(which, want, got, index));
    if (want.is_gap()) {
      if (which.dispatch.padding == Padding::kUndefined) {
        continue;
      }
      std::fill(row.begin(), row.end(), std::byte{0});
    } else {
      fill_row(which, want.source_rank, want.source_token, row.data());
    }
    ASSERT_EQ(std::memcmp(got.rows + index * size, row.data(), size), 0)
        << "row " << index << " from rank " << want.source_rank << " token " << want.source_token;
  }
}

void expect_counts(const routing::ReceivedRank& expected, const Dispatched& got, RowLayout layout) {
  const auto equal = [](const std::vector<std::int64_t>& want, std::span<const std::int64_t> have) {
    return want == std::vector<std::int64_t>(have.begin(), have.end());
  };
  EXPECT_TRUE(equal(expected.rows_per_expert, got.rows_per_expert));
  EXPECT_TRUE(equal(expected.aligned_rows_per_expert, got.aligned_rows_per_expert));
  if (layout == RowLayout::kExpanded) {
    EXPECT_TRUE(equal(expected.expert_begin, got.expert_begin));
  }
  EXPECT_TRUE(
      equal(layout == RowLayout::kPlain ? expected.tokens_per_source : expected.routes_per_source,
            got.rows_per_source));
}

// The outputs of all ranks' experts, computed from the seed alone.
template <typename Element>
routing::RowsOfRanks<Element> all_outputs(const ExchangeCase& which,
                                          const routing::Exchange& exchange) {
  routing::RowsOfRanks<Element> outputs;
  std::vector<std::byte> row(row_bytes(which));
  for (const routing::ReceivedRank& rank : exchange.ranks) {
    outputs.emplace_back();
    for (const routing::ReceivedRow& received : rank.rows) {
      if (received.is_gap()) {
        outputs.back().emplace_back();
        continue;
      }
      fill_row(which, received.source_rank, received.source_token, row.data());
      outputs.back().push_back(
          apply_expert<Element>(which, row.data(), expert_scale(received.experts)));
    }
  }
  return outputs;
}

template <typename Element>
void combine_and_compare(const ExchangeCase& which, const routing::Exchange& exchange,
                         ElasticBuffer& buffer, Dispatched& dispatched, int rank) {
  const auto self = static_cast<std::size_t>(rank);
  const std::size_t size = row_bytes(which);
  const auto& received = exchange.ranks[self].rows;
  std::vector<std::byte> own_memory;
  std::byte* out = dispatched.outputs;
  if (!which.output_in_place) {
    own_memory.resize(received.size() * size);
    out = own_memory.data();
  }
  ASSERT_TRUE(buffer.wait_readers(dispatched.handle).ok());
  for (std::size_t row = 0; row < received.size(); ++row) {
    if (!received[row].is_gap()) {
      const auto made = apply_expert<Element>(which, dispatched.rows + row * size,
                                              expert_scale(received[row].experts));
      std::memcpy(out + row * size, made.data(), size);
    }
  }
  const std::size_t token_count = which.routes[self].token_count();
  std::vector<std::byte> tokens(token_count * size + 1);
  const Status status =
      buffer.combine({out, dispatched.row_count}, dispatched.handle, tokens.data());
  ASSERT_TRUE(status.ok()) << status.to_string();
  routing::RowsOfRanks<Element> expected;
  const auto hidden = static_cast<std::size_t>(which.buffer.hidden);
  if constexpr (sizeof(Element) == 2) {
    expected =
        routing::reference_combine_bf16(exchange, all_outputs<Element>(which, exchange), hidden);
  } else {
    expected =
        routing::reference_combine_fp32(exchange, all_outputs<Element>(which, exchange), hidden);
  }
  for (std::size_t token = 0; token < token_count; ++token) {
    ASSERT_EQ(std::memcmp(tokens.data() + token * size, expected[self][token].data(), size), 0)
        << "combined token " << token;
  }
}

std::vector<std::byte> make_tokens(const ExchangeCase& which, int rank) {
  const std::size_t size = row_bytes(which);
  const std::size_t count = which.routes[static_cast<std::size_t>(rank)].token_count();
  std::vector<std::byte> tokens(count * size);
  for (std::size_t token = 0; token < count; ++token) {
    fill_row(which, rank, static_cast<int>(token), tokens.data() + token * size);
  }
  return tokens;
}

void run_round(const ExchangeCase& which, const routing::Exchange& exchange, ElasticBuffer& buffer,
               int rank) {
  const routing::RankRoutes& mine = which.routes[static_cast<std::size_t>(rank)];
  const std::vector<std::byte> tokens = make_tokens(which, rank);
  DispatchOptions options = which.dispatch;
  options.protocol = which.protocol;
  options.schedule = which.schedule;
  const std::vector<std::int64_t> wide(mine.experts.begin(), mine.experts.end());
  const DispatchInput input{.tokens = tokens.data(),
                            .token_count = static_cast<std::int64_t>(mine.token_count()),
                            .topk_ids = which.wide_ids ? TopkIds(wide) : TopkIds(mine.experts),
                            .topk_weights = mine.weights};
  auto dispatched = buffer.dispatch(input, options);
  ASSERT_TRUE(dispatched.ok()) << dispatched.status().to_string();
  const routing::ReceivedRank& expected = exchange.ranks[static_cast<std::size_t>(rank)];
  expect_counts(expected, *dispatched, which.dispatch.layout);
  ASSERT_NO_FATAL_FAILURE(expect_rows(which, expected, *dispatched));
  if (which.buffer.element == ElementType::kBf16) {
    combine_and_compare<std::uint16_t>(which, exchange, buffer, *dispatched, rank);
  } else if (which.buffer.element == ElementType::kFp32) {
    combine_and_compare<float>(which, exchange, buffer, *dispatched, rank);
  }
}

routing::RankRoutes draw_routes(Random& random, const ExchangeCase& which) {
  routing::RankRoutes routes;
  routes.topk = which.buffer.topk;
  const std::int64_t capacity = which.dispatch.max_tokens_per_rank;
  const std::int64_t token_count =
      draw(random, 0, 3) == 0 ? draw(random, 0, 1) * capacity : draw(random, 0, capacity);
  const bool one_hot_expert = draw(random, 0, 7) == 0;
  std::vector<std::int32_t> experts(static_cast<std::size_t>(which.buffer.experts));
  for (std::size_t expert = 0; expert < experts.size(); ++expert) {
    experts[expert] = static_cast<std::int32_t>(expert);
  }
  for (std::int64_t token = 0; token < token_count; ++token) {
    if (!one_hot_expert) {
      std::shuffle(experts.begin(), experts.end(), random);
    }
    const bool is_masked = draw(random, 0, 9) == 0;
    for (int lane = 0; lane < routes.topk; ++lane) {
      const bool is_unused = is_masked || draw(random, 0, 9) == 0;
      routes.experts.push_back(is_unused ? -1 : experts[static_cast<std::size_t>(lane)]);
      if (which.with_weights) {
        routes.weights.push_back(static_cast<float>(draw(random, 0, 1000)) / 1000.0F);
      }
    }
  }
  return routes;
}

}  // namespace

std::string ExchangeCase::describe() const {
  std::string tokens;
  for (const auto& rank : routes) {
    tokens += fmt::format("{} ", rank.token_count());
  }
  return fmt::format(
      "R={} T=[ {}] H={} E={} K={} {} {} mode={} protocol={} schedule={} alignment={} rounds={} "
      "seed={}",
      rank_count, tokens, buffer.hidden, buffer.experts, buffer.topk, to_string(buffer.element),
      to_string(dispatch.layout), to_string(dispatch.mode), protocol, schedule,
      dispatch.expert_alignment, round_count, seed);
}

ExchangeCase draw_case(std::uint64_t seed, int rank_count) {
  Random random(seed);
  ExchangeCase drawn;
  drawn.seed = seed;
  drawn.rank_count = rank_count;
  drawn.round_count = static_cast<int>(draw(random, 1, 3));
  drawn.with_weights = draw(random, 0, 1) == 1;
  drawn.output_in_place = draw(random, 0, 1) == 1;
  drawn.wide_ids = draw(random, 0, 2) == 0;
  BufferOptions& buffer = drawn.buffer;
  buffer.experts = static_cast<int>(draw(random, rank_count, rank_count * 4 + 3));
  buffer.topk = static_cast<int>(draw(random, 1, std::min(buffer.experts, 10)));
  buffer.hidden = draw(random, 0, 3) == 0 ? draw(random, 1, 40) : 8 * draw(random, 1, 24);
  buffer.element = static_cast<ElementType>(draw(random, 0, 2));
  buffer.max_tokens_per_rank = draw(random, 1, 24);
  buffer.latency_tokens = draw(random, 0, 30);
  buffer.max_expert_alignment = draw(random, 1, 9);
  buffer.open_rounds = static_cast<int>(draw(random, 1, 2));
  DispatchOptions& dispatch = drawn.dispatch;
  dispatch.layout = static_cast<RowLayout>(draw(random, 0, 1));
  dispatch.padding = static_cast<Padding>(draw(random, 0, 1));
  dispatch.expert_alignment = draw(random, 1, buffer.max_expert_alignment);
  dispatch.max_tokens_per_rank = draw(random, 1, buffer.max_tokens_per_rank);
  dispatch.mode = static_cast<Mode>(draw(random, 0, 2));
  if (dispatch.mode == Mode::kLatency && dispatch.max_tokens_per_rank > buffer.latency_tokens) {
    dispatch.mode = Mode::kThroughput;
  }
  const auto protocols = protocol::protocol_names();
  const auto schedules = schedule::schedule_names();
  drawn.protocol = protocols[static_cast<std::size_t>(draw(random, 0, std::ssize(protocols) - 1))];
  drawn.schedule = schedules[static_cast<std::size_t>(draw(random, 0, std::ssize(schedules) - 1))];
  for (int rank = 0; rank < rank_count; ++rank) {
    drawn.routes.push_back(draw_routes(random, drawn));
  }
  return drawn;
}

void run_case(const ExchangeCase& exchange_case, Communicator& communicator) {
  auto buffer = ElasticBuffer::open(communicator, exchange_case.buffer);
  ASSERT_TRUE(buffer.ok()) << buffer.status().to_string();
  run_rounds(exchange_case, *buffer, communicator.rank());
}

void run_rounds(const ExchangeCase& exchange_case, ElasticBuffer& buffer, int rank) {
  const auto split =
      routing::ExpertSplit::make(exchange_case.buffer.experts, exchange_case.rank_count);
  const routing::Exchange exchange =
      routing::reference_exchange(exchange_case.routes, *split, exchange_case.dispatch.layout,
                                  exchange_case.dispatch.expert_alignment);
  for (int round = 0; round < exchange_case.round_count; ++round) {
    ASSERT_NO_FATAL_FAILURE(run_round(exchange_case, exchange, buffer, rank));
  }
}

}  // namespace crossdock::testing
