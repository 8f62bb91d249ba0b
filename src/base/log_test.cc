// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <gtest/gtest.h>

#include "base/check.h"

namespace crossdock {
namespace {

class Log : public testing::Test {
 protected:
  ~Log() override {
    set_log_level(LogLevel::kWarn);
    set_check_rank(-1);
  }
};

TEST_F(Log, ALineHasRankLevelAndText) {
  set_check_rank(2);
  testing::internal::CaptureStderr();
  log_warn("{} rows are late", 7);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "[rank 2] warn: 7 rows are late\n");
}

TEST_F(Log, AThreadWithoutRankIsNamedAfterTheLibrary) {
  testing::internal::CaptureStderr();
  log_error("no");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "[crossdock] error: no\n");
}

TEST_F(Log, MessagesBelowTheLevelAreDroppedUnformatted) {
  testing::internal::CaptureStderr();
  log_info("hidden");
  set_log_level(LogLevel::kInfo);
  log_info("shown");
  log_debug("hidden");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "[crossdock] info: shown\n");
}

TEST_F(Log, AMessageStaysOnOneLine) {
  testing::internal::CaptureStderr();
  log_error("a\nb");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "[crossdock] error: a b\n");
}

}  // namespace
}  // namespace crossdock
