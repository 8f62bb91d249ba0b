// SPDX-License-Identifier: Apache-2.0
// Hosts and containers with limits: no huge pages, little lockable memory, one rank that differs.
// Jobs are started by the program, since settings are read once per process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "base/sanitizers.h"
#include "tests/support/host_state.h"

namespace crossdock::testing {
namespace {

using ::testing::HasSubstr;

constexpr int kRankCount = 4;

struct JobEnd {
  int exit_code = -1;
  std::string output;
};

/// `prefix` is shell text that runs on every rank before its rounds; RANK is its number.
JobEnd run_job(const std::string& prefix, const std::string& shape) {
  ChildProgram job({CROSSDOCK_PROGRAM, "launch", "-n", std::to_string(kRankCount), "--", "/bin/sh",
                    "-c", "RANK=$CROSSDOCK_RANK; " + prefix + " exec " ROUND_LOOP " " + shape});
  JobEnd end;
  end.exit_code = job.wait_exit();
  end.output = job.output();
  return end;
}

void expect_verified(const JobEnd& end) {
  EXPECT_EQ(end.exit_code, 0) << end.output;
  EXPECT_EQ(occurrences(end.output, "verified"), kRankCount) << end.output;
}

// 16 tokens of 64 elements, and about 64 MiB per rank.
const std::vector<std::string>& shapes() {
  static const std::vector<std::string> all = {"20 16 64", "2 512 4096"};
  return all;
}

bool host_has_huge_pages() {
  std::ifstream file("/proc/meminfo");
  std::string name;
  while (file >> name) {
    long count = 0;
    if (name == "HugePages_Total:" && file >> count) {
      return count > 0;
    }
  }
  return false;
}

TEST(HostLimits, HugePagesOffOrAbsentWorkByTheOrdinaryPath) {
  for (const std::string& shape : shapes()) {
    expect_verified(run_job("export CROSSDOCK_HUGE_PAGES=off;", shape));
    expect_verified(run_job("export CROSSDOCK_HUGE_PAGES=auto;", shape));
  }
}

TEST(HostLimits, HugePagesThatAreRequiredButAbsentAreRefusedAtTheStart) {
  if (host_has_huge_pages()) {
    GTEST_SKIP() << "this host has huge pages";
  }
  const JobEnd end = run_job("export CROSSDOCK_HUGE_PAGES=require;", "1 16 64");
  EXPECT_EQ(end.exit_code, 3) << end.output;
  const auto lines = lines_with(end.output, "failed at_ns");
  EXPECT_EQ(lines.size(), static_cast<std::size_t>(kRankCount)) << end.output;
  for (const std::string& line : lines) {
    EXPECT_THAT(line, HasSubstr("CROSSDOCK_HUGE_PAGES=require"));
    EXPECT_THAT(line, HasSubstr("allowed: auto, off"));
  }
}

TEST(HostLimits, LittleLockableMemoryIsEnough) {
  for (const std::string& shape : shapes()) {
    expect_verified(run_job("ulimit -l 8192;", shape));
  }
}

TEST(HostLimits, OneRestrictedRankChangesNothingButItsOwnLimits) {
  expect_verified(run_job("if [ $RANK = 3 ]; then ulimit -l 64; ulimit -n 64; fi;", "20 16 64"));
}

TEST(HostLimits, OneRankThatCannotMapTheBufferFailsEverywhereNamingIt) {
  if (kAddressSanitizer || kThreadSanitizer) {
    GTEST_SKIP() << "sanitizers need address space without limit";
  }
  // Address space for the program but not for the windows of 4 ranks.
  const JobEnd end = run_job("if [ $RANK = 3 ]; then ulimit -v 400000; fi;", "2 512 16384");
  EXPECT_NE(end.exit_code, 0) << end.output;
  const auto lines = lines_with(end.output, "failed at_ns");
  EXPECT_EQ(lines.size(), static_cast<std::size_t>(kRankCount)) << end.output;
  for (const std::string& line : lines) {
    const bool is_restricted = line.find("[3]") != std::string::npos;
    EXPECT_THAT(line, HasSubstr(is_restricted ? "shared memory" : "rank 3")) << end.output;
  }
}

TEST(HostLimits, OneRankWithAnotherSettingIsAMismatchOnEveryRank) {
  const JobEnd end =
      run_job("if [ $RANK = 3 ]; then export CROSSDOCK_HUGE_PAGES=off; fi;", "1 16 64");
  EXPECT_NE(end.exit_code, 0) << end.output;
  const auto lines = lines_with(end.output, "failed at_ns");
  EXPECT_EQ(lines.size(), static_cast<std::size_t>(kRankCount)) << end.output;
  for (const std::string& line : lines) {
    EXPECT_THAT(line, HasSubstr("culprit 3"));
    EXPECT_THAT(line, HasSubstr("CROSSDOCK_HUGE_PAGES"));
  }
}

}  // namespace
}  // namespace crossdock::testing
