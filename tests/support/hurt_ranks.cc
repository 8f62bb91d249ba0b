// SPDX-License-Identifier: Apache-2.0
#include "tests/support/hurt_ranks.h"

#include <fmt/format.h>

#include "tests/support/host_state.h"
#include "tests/support/shaped_case.h"

namespace crossdock::testing {
namespace {

constexpr int kRoundsPerBuffer = 40;

// Opens a buffer now and then, so that a random moment may fall there too.
Status loop_rounds(const LoopShape& shape, Communicator& communicator) {
  const ExchangeCase which =
      shaped_case({.tokens = std::vector<std::int64_t>(static_cast<std::size_t>(shape.rank_count),
                                                       shape.tokens),
                   .hidden = shape.hidden,
                   .experts = 2 * shape.rank_count,
                   .element = ElementType::kFp32});
  const int rank = communicator.rank();
  const auto& experts = which.routes[static_cast<std::size_t>(rank)].experts;
  const auto tokens = tagged_tokens(shape.tokens, shape.hidden, rank, 1);
  for (std::size_t turn = 0;; ++turn) {
    auto buffer = ElasticBuffer::open(communicator, which.buffer);
    if (!buffer.ok()) {
      return buffer.status();
    }
    for (int round = 0; round < kRoundsPerBuffer; ++round) {
      const Path path = all_paths()[(turn + static_cast<std::size_t>(round)) % 8];
      const BareRound done =
          run_bare_round(*buffer, tokens, experts,
                         {.layout = path.layout, .mode = path.mode, .protocol = path.protocol});
      if (!done.first_error().ok()) {
        return done.first_error();
      }
      if (turn == 0 && round == 3) {
        RankProcesses::say(communicator, "running");
      }
    }
  }
}

}  // namespace

std::unique_ptr<RankProcesses> start_loop(const LoopShape& shape) {
  RunOptions options;
  options.kind = RankKind::kProcesses;
  options.communicator.timeout = shape.timeout;
  return std::make_unique<RankProcesses>(
      shape.rank_count,
      [shape](Communicator& communicator) {
        RankProcesses::say(communicator, describe_end(loop_rounds(shape, communicator)));
      },
      options);
}

std::string describe_end(const Status& status) {
  return fmt::format("at_ns {} culprit {} kind {}: {}", monotonic_ns(), status.culprit(),
                     to_string(status.kind()), status.message());
}

EndReport end_report(const std::string& said) {
  EndReport report;
  report.text = said;
  const auto times = numbers_after(said, "at_ns ");
  const auto culprits = numbers_after(said, "culprit ");
  report.is_there = !times.empty() && !culprits.empty();
  if (report.is_there) {
    report.at_ns = times.front();
    report.culprit = culprits.front();
  }
  return report;
}

bool wait_running(const RankProcesses& ranks, int rank_count) {
  return becomes_true([&] {
    for (int rank = 0; rank < rank_count; ++rank) {
      if (ranks.said(rank).empty()) {
        return false;
      }
    }
    return true;
  });
}

}  // namespace crossdock::testing
