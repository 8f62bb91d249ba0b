// SPDX-License-Identifier: Apache-2.0
// Random shapes and routings against the slow reference, bit for bit. Each case draws one mode,
// protocol, schedule, layout, element type and so on; a fifth of the cases run as processes. The
// same cases go over the direct and the queued way. TEST_CASES and TEST_SEED choose how many and
// which.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <map>
#include <string>

#include "communicator/access.h"
#include "tests/support/exchange_case.h"
#include "tests/support/payload.h"
#include "tests/support/rank_runner.h"

namespace crossdock::testing {
namespace {

std::uint64_t number_from(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

// How the calls are made and who moves the bytes.
struct How {
  Way way;
  bool posts;
};

// A batch shares one team, so that most of the time goes into rounds.
void run_batch(std::uint64_t first_seed, int case_count, int rank_count, const RunOptions& options,
               bool posts) {
  run_ranks(
      rank_count,
      [&](Communicator& communicator) {
        ASSERT_EQ(detail::CommunicatorAccess::fabric(communicator)->way(),
                  to_string(options.communicator.way));
        for (int index = 0; index < case_count && !::testing::Test::HasFailure(); ++index) {
          ExchangeCase drawn =
              draw_case(first_seed + static_cast<std::uint64_t>(index), rank_count);
          drawn.posts = posts;
          SCOPED_TRACE(drawn.describe());
          run_case(drawn, communicator);
        }
      },
      options);
}

// Rings of these depths, from always full to never; posts are moved on in both ways, too.
RunOptions batch_options(std::uint64_t batch, Way way) {
  constexpr std::array<std::int64_t, 4> kDepths = {2, 5, 64, 1024};
  RunOptions options;
  options.kind = (batch / 12 + batch) % 5 == 0 ? RankKind::kProcesses : RankKind::kThreads;
  options.communicator.timeout = std::chrono::seconds(60);
  options.communicator.way = way;
  options.communicator.progress = batch % 2 == 0 ? Progress::kThread : Progress::kCaller;
  options.communicator.queue_depth = kDepths[batch % kDepths.size()];
  return options;
}

class ExchangeProperty : public ::testing::TestWithParam<How> {};

TEST_P(ExchangeProperty, RandomRoundsAreBitExact) {
  const bool is_plainest = GetParam().way == Way::kDirect && !GetParam().posts;
  const std::uint64_t case_count = number_from("TEST_CASES", is_plainest ? 1000 : 200);
  const std::uint64_t seed = number_from("TEST_SEED", 20261201);
  constexpr int kBatch = 25;
  std::cout << "cases " << case_count << ", repeat with TEST_SEED=" << seed << "\n";
  std::map<std::string, int> reached;
  for (std::uint64_t done = 0; done < case_count && !HasFailure(); done += kBatch) {
    const int rank_count = static_cast<int>((done / kBatch) % 12) + 1;
    const RunOptions options = batch_options(done / kBatch, GetParam().way);
    for (int index = 0; index < kBatch; ++index) {
      const ExchangeCase drawn =
          draw_case(seed + done + static_cast<std::uint64_t>(index), rank_count);
      ++reached[std::string(to_string(drawn.dispatch.mode))];
      ++reached[std::string(to_string(drawn.dispatch.layout))];
      ++reached[std::string(to_string(drawn.buffer.element))];
      ++reached[fmt::format("outputs {}", to_string(output_element(drawn)))];
      ++reached[std::string(to_string(drawn.combine.plan))];
      ++reached[fmt::format("{} biases", drawn.bias_count)];
      ++reached[drawn.with_gate_weights ? "gate weights" : "no gate weights"];
      ++reached[drawn.combine.topk_weights == TopkWeights::kGather ? "gather" : "no gather"];
      ++reached[drawn.buffer.scale_bytes > 0 ? "scales" : "no scales"];
      const bool is_push = drawn.buffer.combine_path == CombinePath::kPush &&
                           drawn.combine.path != CombinePath::kPull;
      ++reached[drawn.dispatch.arrival == Arrival::kStreamed ? "streamed" : "complete"];
      ++reached[drawn.dispatch.row_count == RowCount::kWorstCase ? "worst case" : "exact"];
      ++reached[drawn.buffer.threads > 1 ? "several threads" : "one thread"];
      ++reached[is_push ? "push" : "pull"];
      ++reached[drawn.repeats ? "repeats" : "once"];
      ++reached[drawn.protocol];
      ++reached[drawn.schedule];
      ++reached[options.kind == RankKind::kProcesses ? "processes" : "threads"];
    }
    run_batch(seed + done, kBatch, rank_count, options, GetParam().posts);
  }
  // A sweep that never drew a branch proves nothing about it.
  for (const char* name : {"auto",         "throughput",
                           "latency",      "plain",
                           "expanded",     "bf16",
                           "fp32",         "bytes",
                           "fp16",         "fp8_e4m3",
                           "int8",         "outputs bf16",
                           "outputs fp32", "outputs fp16",
                           "single",       "deepep",
                           "0 biases",     "1 biases",
                           "2 biases",     "gate weights",
                           "gather",       "scales",
                           "no scales",    "tail_fence",
                           "counted",      "several threads",
                           "one thread",   "racing",
                           "streamed",     "worst case",
                           "push",         "pull",
                           "repeats",      "barrier",
                           "direct",       "rotation",
                           "processes",    "threads"}) {
    EXPECT_GT(reached[name], 0) << name << " was never drawn";
    std::cout << name << ": " << reached[name] << " cases\n";
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, ExchangeProperty,
                         ::testing::Values(How{Way::kDirect, false}, How{Way::kQueued, false},
                                           How{Way::kDirect, true}, How{Way::kQueued, true}),
                         [](const auto& how) {
                           return std::string(to_string(how.param.way)) +
                                  (how.param.posts ? "_posted" : "_blocking");
                         });

}  // namespace
}  // namespace crossdock::testing
