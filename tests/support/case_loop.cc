// SPDX-License-Identifier: Apache-2.0
// A rank that runs random exchanges of every kind, bit for bit against the reference, until its
// time is up or something ends it; for soaks and for tests that hurt it.
//   usage: case_loop SEED SECONDS [TIMEOUT_S]
// It says "pid N", "rounds begin", once a second "rss_kib K after N cases", and in the end
// "verified N cases" (exit code 0) or "failed at_ns T culprit R kind K: MESSAGE" (exit code 3).
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <string_view>

#include "crossdock/communicator.h"
#include "tests/support/exchange_case.h"
#include "tests/support/host_state.h"

namespace crossdock::testing {
namespace {

struct Line {
  std::uint64_t seed = 1;
  std::uint64_t seconds = 1;
  std::uint64_t timeout_s = 60;
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

/// Private and shared memory of this process that is in RAM.
long resident_kib() {
  std::ifstream file("/proc/self/statm");
  long pages = 0;
  file >> pages >> pages;
  return pages * ::sysconf(_SC_PAGESIZE) / 1024;
}

/// Rank 0's clock decides, so that all ranks stop after the same case.
Result<bool> goes_on(Communicator& communicator, std::int64_t end_ns) {
  const std::byte mine{communicator.rank() != 0 || monotonic_ns() < end_ns};
  auto all = communicator.all_gather({&mine, 1});
  if (!all.ok()) {
    return all.status();
  }
  return all->front().front() != std::byte{0};
}

int run(const Line& line) {
  say(fmt::format("pid {}", ::getpid()));
  CommunicatorOptions options;
  options.timeout = std::chrono::seconds(line.timeout_s);
  auto communicator = Communicator::open(options);
  if (!communicator.ok()) {
    return fail(communicator.status());
  }
  say("rounds begin");
  const std::int64_t end_ns =
      monotonic_ns() + static_cast<std::int64_t>(line.seconds) * 1'000'000'000;
  std::int64_t told_ns = 0;
  std::uint64_t done = 0;
  while (true) {
    const auto more = goes_on(*communicator, end_ns);
    if (!more.ok() || !communicator->health().ok()) {
      return fail(more.ok() ? communicator->health() : more.status());
    }
    if (!*more) {
      break;
    }
    const ExchangeCase drawn = draw_case(line.seed + done, communicator->size());
    run_case(drawn, *communicator);
    if (!communicator->health().ok()) {
      return fail(communicator->health());
    }
    if (::testing::Test::HasFailure()) {
      return fail({StatusKind::kInternal, Scope::kProcess, "a case differs: " + drawn.describe()});
    }
    ++done;
    if (monotonic_ns() - told_ns > 1'000'000'000) {
      told_ns = monotonic_ns();
      say(fmt::format("rss_kib {} after {} cases", resident_kib(), done));
    }
  }
  say(fmt::format("verified {} cases", done));
  return 0;
}

}  // namespace
}  // namespace crossdock::testing

int main(int argument_count, char** arguments) {
  ::testing::InitGoogleTest(&argument_count, arguments);
  crossdock::testing::Line line;
  std::uint64_t* const values[] = {&line.seed, &line.seconds, &line.timeout_s};
  for (int index = 1; index < argument_count && index <= 3; ++index) {
    const std::string_view text(arguments[index]);
    std::from_chars(text.data(), text.data() + text.size(), *values[index - 1]);
  }
  return crossdock::testing::run(line);
}
