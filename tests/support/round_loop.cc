// SPDX-License-Identifier: Apache-2.0
// A rank that dispatches and combines until its rounds are done or something ends it; started by
// `crossdock launch` in fault tests.
//   usage: round_loop ROUNDS TOKENS HIDDEN [TIMEOUT_S [WHAT@RANK:ROUND]]   (WHAT: hurt_self.h)
// It says "pid N", "ranks met", "rounds begin", and in the end "verified N rounds" (exit code 0) or
// "failed at_ns T culprit R kind K: MESSAGE" (exit code 3).
#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <string_view>
#include <vector>

#include "tests/support/host_state.h"
#include "tests/support/hurt_self.h"
#include "tests/support/shaped_case.h"

namespace crossdock::testing {
namespace {

struct Line {
  std::int64_t round_count = 1;
  std::int64_t token_count = 16;
  std::int64_t hidden = 64;
  std::int64_t timeout_s = 60;
  SelfFault fault;
};

void say(const std::string& line) {
  std::fputs((line + "\n").c_str(), stdout);
  std::fflush(stdout);
}

int fail(const Status& status) {
  say(fmt::format("failed at_ns {} culprit {} kind {}: {}", monotonic_ns(), status.culprit(),
                  to_string(status.kind()), status.message()));
  return 3;
}

Status run_rounds(const Line& line, Communicator& communicator, std::int64_t& done) {
  const ExchangeCase which =
      shaped_case({.tokens = std::vector<std::int64_t>(
                       static_cast<std::size_t>(communicator.size()), line.token_count),
                   .hidden = line.hidden,
                   .experts = 2 * communicator.size(),
                   .element = ElementType::kFp32});
  auto buffer = ElasticBuffer::open(communicator, which.buffer);
  if (!buffer.ok()) {
    return buffer.status();
  }
  const int rank = communicator.rank();
  const auto& experts = which.routes[static_cast<std::size_t>(rank)].experts;
  say("rounds begin");
  for (done = 0; done < line.round_count; ++done) {
    const Path path = mode_paths()[static_cast<std::size_t>(done % 4)];
    const auto tokens =
        tagged_tokens(line.token_count, line.hidden, rank, static_cast<std::uint64_t>(done));
    const BareRound round =
        run_bare_round(*buffer, tokens, experts, {.layout = path.layout},
                       [&](const Dispatched& dispatched, const DispatchInput& input) {
                         if (rank == line.fault.rank && done == line.fault.round) {
                           hurt_self(line.fault.what, *buffer, dispatched, input);
                         }
                       });
    if (!round.first_error().ok()) {
      return round.first_error();
    }
    if (round.combined !=
        expected_sums(which.buffer, communicator.size(), path.layout, tokens, experts)) {
      return {StatusKind::kInternal, Scope::kProcess, fmt::format("wrong sums in round {}", done)};
    }
  }
  return {};
}

int run(const Line& line) {
  say(fmt::format("pid {}", ::getpid()));
  CommunicatorOptions options;
  options.timeout = std::chrono::seconds(line.timeout_s);
  auto communicator = Communicator::open(options);
  if (!communicator.ok()) {
    return fail(communicator.status());
  }
  say("ranks met");
  std::int64_t done = 0;
  if (const Status status = run_rounds(line, *communicator, done); !status.ok()) {
    return fail(status);
  }
  say(fmt::format("verified {} rounds", done));
  return 0;
}

}  // namespace
}  // namespace crossdock::testing

int main(int argument_count, char** arguments) {
  crossdock::testing::Line line;
  std::int64_t* const values[] = {&line.round_count, &line.token_count, &line.hidden,
                                  &line.timeout_s};
  for (int index = 1; index < argument_count && index <= 4; ++index) {
    const std::string_view text(arguments[index]);
    std::from_chars(text.data(), text.data() + text.size(), *values[index - 1]);
  }
  line.fault = crossdock::testing::parse_self_fault(argument_count > 5 ? arguments[5] : "");
  return crossdock::testing::run(line);
}
