// SPDX-License-Identifier: Apache-2.0
#include "base/settings.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace crossdock {
namespace {

TEST(Settings, AnEmptyEnvironmentGivesTheDefaults) {
  const Settings settings = parse_settings({}).value();
  EXPECT_EQ(settings.timeout, std::chrono::seconds(100));
  EXPECT_EQ(settings.still_waiting, std::chrono::seconds(5));
  EXPECT_EQ(settings.grace, std::chrono::seconds(3));
  EXPECT_EQ(settings.spin_count, -1);
  EXPECT_EQ(settings.memory_budget_bytes, 0U);
  EXPECT_EQ(settings.huge_pages, HugePages::kAuto);
  EXPECT_EQ(settings.way, Way::kAuto);
  EXPECT_EQ(settings.queue_depth, 1024);
  EXPECT_EQ(settings.log_level, LogLevel::kWarn);
  EXPECT_FALSE(settings.trace);
  EXPECT_FALSE(settings.launched);
  EXPECT_EQ(settings.rank, -1);
  EXPECT_EQ(settings.size, -1);
  EXPECT_EQ(settings.bootstrap_fd, -1);
}

TEST(Settings, EveryVariableReachesItsMember) {
  const Settings settings = parse_settings({{"CROSSDOCK_TIMEOUT", "2.5"},
                                            {"CROSSDOCK_STILL_WAITING", "0"},
                                            {"CROSSDOCK_SPINS", "2000"},
                                            {"CROSSDOCK_MEMORY_BUDGET", "64MiB"},
                                            {"CROSSDOCK_HUGE_PAGES", "require"},
                                            {"CROSSDOCK_WAY", "queued"},
                                            {"CROSSDOCK_QUEUE_DEPTH", "64"},
                                            {"CROSSDOCK_TRACE", "yes"},
                                            {"CROSSDOCK_LOG", "debug"},
                                            {"CROSSDOCK_RANK", "3"},
                                            {"CROSSDOCK_SIZE", "8"},
                                            {"CROSSDOCK_JOB_SECRET", "s3cret"},
                                            {"CROSSDOCK_BOOTSTRAP", "node:29500"},
                                            {"CROSSDOCK_BOOTSTRAP_FD", "7"},
                                            {"CROSSDOCK_LAUNCHED", "1"},
                                            {"CROSSDOCK_GRACE", "0.25"},
                                            {"PATH", "/bin"}})
                                .value();
  EXPECT_EQ(settings.timeout, std::chrono::milliseconds(2500));
  EXPECT_EQ(settings.still_waiting, Duration::zero());
  EXPECT_EQ(settings.spin_count, 2000);
  EXPECT_EQ(settings.memory_budget_bytes, 64ULL << 20);
  EXPECT_EQ(settings.huge_pages, HugePages::kRequire);
  EXPECT_EQ(settings.way, Way::kQueued);
  EXPECT_EQ(settings.queue_depth, 64);
  EXPECT_TRUE(settings.trace);
  EXPECT_EQ(settings.log_level, LogLevel::kDebug);
  EXPECT_EQ(settings.rank, 3);
  EXPECT_EQ(settings.size, 8);
  EXPECT_EQ(settings.job_secret, "s3cret");
  EXPECT_EQ(settings.bootstrap, "node:29500");
  EXPECT_EQ(settings.bootstrap_fd, 7);
  EXPECT_TRUE(settings.launched);
  EXPECT_EQ(settings.grace, std::chrono::milliseconds(250));
}

TEST(Settings, ABadValueNamesVariableValueAndWhatIsAllowed) {
  const Result<Settings> result = parse_settings({{"CROSSDOCK_HUGE_PAGES", "maybe"}});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().kind(), StatusKind::kInvalidArgument);
  EXPECT_EQ(result.status().message(),
            "environment variable CROSSDOCK_HUGE_PAGES='maybe'; allowed: auto, off, require");
}

TEST(Settings, ValuesOutOfRangeAreRefusedForEveryVariable) {
  const Environment bad = {{"CROSSDOCK_TIMEOUT", "0"},
                           {"CROSSDOCK_TIMEOUT", "inf"},
                           {"CROSSDOCK_STILL_WAITING", "-1"},
                           {"CROSSDOCK_SPINS", "-2"},
                           {"CROSSDOCK_MEMORY_BUDGET", "1GB"},
                           {"CROSSDOCK_TRACE", "maybe"},
                           {"CROSSDOCK_LOG", "WARN"},
                           {"CROSSDOCK_RANK", "-1"},
                           {"CROSSDOCK_SIZE", "0"},
                           {"CROSSDOCK_BOOTSTRAP", "node"},
                           {"CROSSDOCK_BOOTSTRAP_FD", "x"},
                           {"CROSSDOCK_LAUNCHED", ""},
                           {"CROSSDOCK_GRACE", " 3"}};
  for (const auto& entry : bad) {
    const Result<Settings> result = parse_settings({entry});
    ASSERT_FALSE(result.ok()) << entry.first;
    EXPECT_NE(result.status().message().find(entry.first), std::string_view::npos);
  }
}

TEST(Settings, AnUnknownNameWarnsWithTheNearestKnownOne) {
  const auto warnings = unknown_setting_warnings({{"CROSSDOCK_TIMEUOT", "3"},
                                                  {"CROSSDOCK_XYZZY_PLUGH", "3"},
                                                  {"CROSSDOCK_TIMEOUT", "3"},
                                                  {"HOME", "/root"}});
  ASSERT_EQ(warnings.size(), 2U);
  EXPECT_EQ(warnings[0],
            "environment variable 'CROSSDOCK_TIMEUOT' is unknown and ignored; did you mean "
            "CROSSDOCK_TIMEOUT?");
  EXPECT_EQ(warnings[1],
            "environment variable 'CROSSDOCK_XYZZY_PLUGH' is unknown and ignored; `crossdock info "
            "--env` lists the known ones");
}

TEST(Settings, TheTableShowsValuesWithOriginAndHidesTheSecret) {
  const std::string text = render_settings(
      {{"CROSSDOCK_TIMEOUT", "7"}, {"CROSSDOCK_LOG", "loud"}, {"CROSSDOCK_JOB_SECRET", "s3cret"}});
  EXPECT_NE(text.find("CROSSDOCK_TIMEOUT = 7  [environment]"), std::string::npos);
  EXPECT_NE(text.find("CROSSDOCK_GRACE = 3  [default]"), std::string::npos);
  EXPECT_NE(text.find("CROSSDOCK_LOG = 'loud'  [environment, NOT ALLOWED]"), std::string::npos);
  EXPECT_NE(text.find("CROSSDOCK_JOB_SECRET = (hidden)  [environment]"), std::string::npos);
  EXPECT_EQ(text.find("s3cret"), std::string::npos);
}

TEST(Settings, EveryDefaultTextOfTheTableIsTheDefaultOfTheStruct) {
  EXPECT_EQ(settings_default_mismatch(), "");
}

TEST(Settings, TheProcessEnvironmentIsReadAsItIs) {
  ASSERT_EQ(setenv("CROSSDOCK_TEST_ONLY", "a=b", 1), 0);  // NOLINT(concurrency-mt-unsafe)
  EXPECT_EQ(environment_variable("CROSSDOCK_TEST_ONLY"), "a=b");
  bool found = false;
  for (const auto& [name, value] : process_environment()) {
    found = found || (name == "CROSSDOCK_TEST_ONLY" && value == "a=b");
  }
  EXPECT_TRUE(found);
  ASSERT_EQ(unsetenv("CROSSDOCK_TEST_ONLY"), 0);  // NOLINT(concurrency-mt-unsafe)
  EXPECT_FALSE(environment_variable("CROSSDOCK_TEST_ONLY").has_value());
}

}  // namespace
}  // namespace crossdock
