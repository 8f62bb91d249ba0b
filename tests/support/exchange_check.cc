// SPDX-License-Identifier: Apache-2.0
// Runs the rounds of a case on one rank and compares every byte with the slow reference.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "routing/reference_sum.h"
#include "tests/support/exchange_case.h"
#include "tests/support/payload.h"

namespace crossdock::testing {
namespace {

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

void expect_row(const ExchangeCase& which, const routing::ReceivedRow& want, const Dispatched& got,
                std::size_t index) {
  ASSERT_NO_FATAL_FAILURE(expect_metadata(which, want, got, index));
  const std::size_t size = row_bytes(which);
  const std::size_t scale_size = scale_bytes(which);
  std::vector<std::byte> row(size);
  std::vector<std::byte> scale(scale_size);
  if (want.is_gap() && which.dispatch.padding == Padding::kUndefined) {
    return;
  }
  if (!want.is_gap()) {
    fill_row(which, want.source_rank, want.source_token, row.data());
    fill_scale(which, want.source_rank, want.source_token, scale.data());
  }
  ASSERT_EQ(std::memcmp(got.rows + index * size, row.data(), size), 0)
      << "row " << index << " from rank " << want.source_rank << " token " << want.source_token;
  ASSERT_TRUE(std::equal(scale.begin(), scale.end(), got.scales + index * scale_size))
      << "scale of row " << index;
}

// Behind the rows that came: ids and origins -1, everything else 0.
void expect_suffix(const ExchangeCase& which, const Dispatched& got) {
  const auto count = static_cast<std::size_t>(got.row_count);
  const auto filled = static_cast<std::size_t>(got.filled_row_count);
  const auto all = [&](const auto* values, std::size_t width, auto wanted) {
    return std::all_of(values + filled * width, values + count * width,
                       [=](auto value) { return value == wanted; });
  };
  const bool is_plain = which.dispatch.layout == RowLayout::kPlain;
  const auto lanes = static_cast<std::size_t>(which.buffer.topk);
  EXPECT_TRUE(all(got.source_rank.data(), 1, -1));
  EXPECT_TRUE(all(got.source_token.data(), 1, -1));
  EXPECT_TRUE(!is_plain || all(got.topk_ids.data(), lanes, -1));
  EXPECT_TRUE(got.topk_weights.empty() || all(got.topk_weights.data(), is_plain ? lanes : 1, 0.0F));
  EXPECT_TRUE(all(got.rows, row_bytes(which), std::byte{0}));
  EXPECT_TRUE(got.scales == nullptr || all(got.scales, scale_bytes(which), std::byte{0}));
}

void expect_rows(const ExchangeCase& which, const routing::ReceivedRank& expected,
                 const Dispatched& got) {
  ASSERT_EQ(got.filled_row_count, static_cast<std::int64_t>(expected.rows.size()));
  ASSERT_EQ(got.scales == nullptr, scale_bytes(which) == 0);
  for (std::size_t index = 0; index < expected.rows.size(); ++index) {
    ASSERT_NO_FATAL_FAILURE(expect_row(which, expected.rows[index], got, index));
  }
  if (which.dispatch.row_count == RowCount::kExact) {
    ASSERT_EQ(got.row_count, got.filled_row_count);
  } else {
    ASSERT_NO_FATAL_FAILURE(expect_suffix(which, got));
  }
}

// Experts in an order of their own; each finds its rows as soon as the wait for it is over.
void await_stream(const ExchangeCase& which, const routing::ReceivedRank& expected,
                  ElasticBuffer& buffer, const Dispatched& got, int rank) {
  const auto expert_count = expected.rows_per_expert.size();
  for (std::size_t index = 0; index < expert_count; ++index) {
    const std::size_t local = (index + which.seed) % expert_count;
    const Status status = buffer.wait_expert(got.handle, static_cast<int>(local));
    ASSERT_TRUE(status.ok()) << status.to_string();
    if (which.dispatch.layout == RowLayout::kExpanded) {
      const auto begin = static_cast<std::size_t>(expected.expert_begin[local]);
      const auto count = static_cast<std::size_t>(expected.rows_per_expert[local]);
      for (std::size_t row = begin; row < begin + count; ++row) {
        ASSERT_NO_FATAL_FAILURE(expect_row(which, expected.rows[row], got, row));
      }
    }
    if ((which.seed + static_cast<std::uint64_t>(rank)) % 5 == 0) {
      break;  // Some ranks wait for one expert only.
    }
  }
  const int source = static_cast<int>(which.seed % static_cast<std::uint64_t>(which.rank_count));
  ASSERT_TRUE(buffer.wait_source(got.handle, source).ok());
  for (std::size_t row = 0; row < expected.rows.size(); ++row) {
    if (expected.rows[row].source_rank == source) {
      ASSERT_NO_FATAL_FAILURE(expect_row(which, expected.rows[row], got, row));
    }
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

// --- combine -------------------------------------------------------------------------------------

// The outputs of all ranks' experts, computed from the seed alone.
routing::RowsOfRanks<float> all_outputs(const ExchangeCase& which,
                                        const routing::Exchange& exchange) {
  routing::RowsOfRanks<float> outputs;
  std::vector<std::byte> row(row_bytes(which));
  for (const routing::ReceivedRank& rank : exchange.ranks) {
    outputs.emplace_back();
    for (const routing::ReceivedRow& received : rank.rows) {
      if (received.is_gap()) {
        outputs.back().emplace_back();
        continue;
      }
      fill_row(which, received.source_rank, received.source_token, row.data());
      outputs.back().push_back(expert_output(which, row.data(), received.experts));
    }
  }
  return outputs;
}

routing::RowsOfRanks<float> all_biases(const ExchangeCase& which, int index) {
  routing::RowsOfRanks<float> biases;
  for (int rank = 0; rank < which.rank_count; ++rank) {
    biases.emplace_back();
    const std::size_t count = which.routes[static_cast<std::size_t>(rank)].token_count();
    for (std::size_t token = 0; token < count; ++token) {
      biases.back().push_back(bias_row(which, index, rank, static_cast<int>(token)));
    }
  }
  return biases;
}

routing::RowsOfRanks<float> expected_tokens(const ExchangeCase& which,
                                            const routing::Exchange& exchange) {
  routing::ReferenceSums sums{which.combine.plan, output_element(which), {}, {}};
  for (int index = 0; index < which.bias_count; ++index) {
    sums.biases.push_back(all_biases(which, index));
  }
  for (int rank = 0; which.with_gate_weights && rank < which.rank_count; ++rank) {
    sums.gate_weights.push_back(gate_weights(which, rank));
  }
  return routing::reference_sums(exchange, all_outputs(which, exchange),
                                 static_cast<std::size_t>(which.buffer.hidden), sums);
}

/// One rank's part of a combine: what it brings and where it wants the result.
struct CombinePart {
  std::vector<std::byte> own_rows;
  std::array<std::vector<std::byte>, 2> biases;
  std::vector<float> gate_weights;
  std::vector<float> row_weights;
  std::vector<std::byte> tokens;
  std::vector<float> token_weights;
};

bool gathers(const ExchangeCase& which) {
  return which.combine.topk_weights == TopkWeights::kGather;
}

CombinePart prepare(const ExchangeCase& which, std::size_t row_count, int rank) {
  const auto self = static_cast<std::size_t>(rank);
  const std::size_t size = output_row_bytes(which);
  const std::size_t token_count = which.routes[self].token_count();
  const auto lanes = static_cast<std::size_t>(which.buffer.topk);
  CombinePart part;
  part.tokens.resize(token_count * size + 1);
  for (int index = 0; index < which.bias_count; ++index) {
    auto& bias = part.biases[static_cast<std::size_t>(index)];
    bias.resize(token_count * size + 1);
    for (std::size_t token = 0; token < token_count; ++token) {
      write_values(output_element(which), bias_row(which, index, rank, static_cast<int>(token)),
                   bias.data() + token * size);
    }
  }
  part.gate_weights = gate_weights(which, rank);
  const std::size_t row_lanes = which.dispatch.layout == RowLayout::kPlain ? lanes : 1;
  for (std::size_t index = 0; gathers(which) && index < row_count * row_lanes; ++index) {
    part.row_weights.push_back(row_weight(rank, index / row_lanes, index % row_lanes));
  }
  part.token_weights.resize(gathers(which) ? token_count * lanes : 0, -1.0F);
  return part;
}

void expect_gathered(const ExchangeCase& which, const routing::Exchange& exchange, int rank,
                     const CombinePart& part) {
  const auto self = static_cast<std::size_t>(rank);
  const auto lanes = static_cast<std::size_t>(which.buffer.topk);
  for (std::size_t route = 0; route < part.token_weights.size(); ++route) {
    const std::int32_t owner = exchange.owner_of_route[self][route];
    const auto row = static_cast<std::size_t>(exchange.row_of_route[self][route]);
    const std::size_t lane = which.dispatch.layout == RowLayout::kPlain ? route % lanes : 0;
    const float expected = owner < 0 ? 0.0F : row_weight(owner, row, lane);
    ASSERT_EQ(part.token_weights[route], expected) << "route " << route;
  }
}

// Experts write into the window or into memory of their own.
std::byte* run_experts(const ExchangeCase& which, const routing::ReceivedRank& received,
                       const Dispatched& dispatched, CombinePart& part) {
  std::byte* out = dispatched.outputs;
  if (!which.output_in_place) {
    part.own_rows.resize(received.rows.size() * output_row_bytes(which));
    out = part.own_rows.data();
  }
  for (std::size_t row = 0; row < received.rows.size(); ++row) {
    if (!received.rows[row].is_gap()) {
      const auto made = expert_output(which, dispatched.rows + row * row_bytes(which),
                                      received.rows[row].experts);
      write_values(output_element(which), made, out + row * output_row_bytes(which));
    }
  }
  return out;
}

void combine_and_compare(const ExchangeCase& which, const routing::Exchange& exchange,
                         ElasticBuffer& buffer, Dispatched& dispatched, int rank) {
  const auto self = static_cast<std::size_t>(rank);
  CombinePart part = prepare(which, static_cast<std::size_t>(dispatched.row_count), rank);
  ASSERT_TRUE(buffer.wait_readers(dispatched.handle).ok());
  const std::byte* rows = run_experts(which, exchange.ranks[self], dispatched, part);
  const auto bias = [&](std::size_t index) -> const void* {
    return part.biases[index].empty() ? nullptr : part.biases[index].data();
  };
  const CombineInput input{.rows = rows,
                           .row_count = dispatched.row_count,
                           .biases = {bias(0), bias(1)},
                           .gate_weights = part.gate_weights,
                           .topk_weights = part.row_weights};
  const CombineOutput output{part.tokens.data(), part.token_weights};
  const Status status =
      which.posts ? buffer.post_combine(input, dispatched.handle, output, which.combine).wait()
                  : buffer.combine(input, dispatched.handle, output, which.combine);
  ASSERT_TRUE(status.ok()) << status.to_string();
  const auto expected = expected_tokens(which, exchange)[self];
  const std::size_t size = output_row_bytes(which);
  std::vector<std::byte> wanted(size);
  for (std::size_t token = 0; token < expected.size(); ++token) {
    write_values(output_element(which), expected[token], wanted.data());
    ASSERT_EQ(std::memcmp(part.tokens.data() + token * size, wanted.data(), size), 0)
        << "combined token " << token;
  }
  ASSERT_NO_FATAL_FAILURE(expect_gathered(which, exchange, rank, part));
}

// --- dispatch ------------------------------------------------------------------------------------

/// One rank's tokens with what travels beside them.
struct DispatchPart {
  std::vector<std::byte> tokens;
  std::vector<std::byte> scales;
  std::vector<std::int64_t> wide_ids;
};

DispatchPart make_tokens(const ExchangeCase& which, int rank) {
  const routing::RankRoutes& mine = which.routes[static_cast<std::size_t>(rank)];
  DispatchPart part{.tokens = std::vector<std::byte>(mine.token_count() * row_bytes(which)),
                    .scales = std::vector<std::byte>(mine.token_count() * scale_bytes(which)),
                    .wide_ids = {mine.experts.begin(), mine.experts.end()}};
  for (std::size_t token = 0; token < mine.token_count(); ++token) {
    fill_row(which, rank, static_cast<int>(token), part.tokens.data() + token * row_bytes(which));
    fill_scale(which, rank, static_cast<int>(token),
               part.scales.data() + token * scale_bytes(which));
  }
  return part;
}

// Other tokens along the same routes.
ExchangeCase repeated(const ExchangeCase& which) {
  ExchangeCase again = which;
  again.seed = ~which.seed;
  again.dispatch.arrival = which.repeat_arrival;
  return again;
}

void expect_received(const ExchangeCase& which, const routing::Exchange& exchange, int rank,
                     const Dispatched& got) {
  const routing::ReceivedRank& expected = exchange.ranks[static_cast<std::size_t>(rank)];
  ASSERT_NO_FATAL_FAILURE(expect_rows(which, expected, got));
}

// Counts are known at once, rows when they were waited for.
void await(const ExchangeCase& which, const routing::Exchange& exchange, ElasticBuffer& buffer,
           const Dispatched& got, int rank) {
  const routing::ReceivedRank& expected = exchange.ranks[static_cast<std::size_t>(rank)];
  expect_counts(expected, got, which.dispatch.layout);
  if (which.dispatch.arrival == Arrival::kStreamed) {
    await_stream(which, expected, buffer, got, rank);
    ASSERT_TRUE(buffer.wait_rows(got.handle).ok());
  }
}

void combine_if_summable(const ExchangeCase& which, const routing::Exchange& exchange,
                         ElasticBuffer& buffer, Dispatched& dispatched, int rank) {
  if (is_summable(output_element(which))) {
    combine_and_compare(which, exchange, buffer, dispatched, rank);
  }
}

void expect_statistics(const std::vector<std::int64_t>& statistics,
                       const routing::ReceivedRank& expected, std::int64_t times) {
  for (std::size_t local = 0; local < statistics.size(); ++local) {
    ASSERT_EQ(statistics[local], 1000 + times * expected.rows_per_expert[local]);
  }
}

// Both rounds are open at once where the buffer allows it, and combined in either order.
void run_repeat(const ExchangeCase& which, const routing::Exchange& exchange, ElasticBuffer& buffer,
                int rank, Dispatched first) {
  const auto self = static_cast<std::size_t>(rank);
  const ExchangeCase again = repeated(which);
  const DispatchPlan plan = first.handle.plan();
  const bool is_one_at_a_time = which.buffer.open_rounds == 1;
  if (is_one_at_a_time) {
    ASSERT_NO_FATAL_FAILURE(combine_if_summable(which, exchange, buffer, first, rank));
    first = {};
  }
  const DispatchPart part = make_tokens(again, rank);
  auto second = buffer.dispatch_again({.tokens = part.tokens.data(),
                                       .token_count = plan.token_count(),
                                       .topk_weights = which.routes[self].weights,
                                       .scales = part.scales.data()},
                                      plan,
                                      {.padding = which.dispatch.padding,
                                       .arrival = again.dispatch.arrival,
                                       .protocol = which.protocol,
                                       .schedule = which.schedule});
  ASSERT_TRUE(second.ok()) << second.status().to_string();
  ASSERT_NO_FATAL_FAILURE(await(again, exchange, buffer, *second, rank));
  ASSERT_NO_FATAL_FAILURE(expect_received(again, exchange, rank, *second));
  if (!is_one_at_a_time && which.seed % 2 == 0) {
    ASSERT_NO_FATAL_FAILURE(combine_if_summable(which, exchange, buffer, first, rank));
  }
  ASSERT_NO_FATAL_FAILURE(combine_if_summable(again, exchange, buffer, *second, rank));
  if (!is_one_at_a_time && which.seed % 2 == 1) {
    ASSERT_NO_FATAL_FAILURE(expect_received(which, exchange, rank, first));
    ASSERT_NO_FATAL_FAILURE(combine_if_summable(which, exchange, buffer, first, rank));
  }
}

void run_round(const ExchangeCase& which, const routing::Exchange& exchange, ElasticBuffer& buffer,
               int rank) {
  const auto self = static_cast<std::size_t>(rank);
  const routing::RankRoutes& mine = which.routes[self];
  const DispatchPart part = make_tokens(which, rank);
  std::vector<std::int64_t> statistics(exchange.ranks[self].rows_per_expert.size(), 1000);
  DispatchOptions options = which.dispatch;
  options.protocol = which.protocol;
  options.schedule = which.schedule;
  const DispatchInput input{
      .tokens = part.tokens.data(),
      .token_count = static_cast<std::int64_t>(mine.token_count()),
      .topk_ids = which.wide_ids ? TopkIds(part.wide_ids) : TopkIds(mine.experts),
      .topk_weights = mine.weights,
      .scales = part.scales.data(),
      .receive_statistics = statistics};
  auto dispatched =
      which.posts ? buffer.post_dispatch(input, options).take() : buffer.dispatch(input, options);
  ASSERT_TRUE(dispatched.ok()) << dispatched.status().to_string();
  ASSERT_NO_FATAL_FAILURE(await(which, exchange, buffer, *dispatched, rank));
  ASSERT_NO_FATAL_FAILURE(expect_received(which, exchange, rank, *dispatched));
  ASSERT_NO_FATAL_FAILURE(expect_statistics(statistics, exchange.ranks[self], 1));
  if (which.repeats) {
    run_repeat(which, exchange, buffer, rank, std::move(*dispatched));
  } else {
    combine_if_summable(which, exchange, buffer, *dispatched, rank);
  }
}

}  // namespace

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
