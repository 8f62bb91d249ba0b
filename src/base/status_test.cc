// SPDX-License-Identifier: Apache-2.0
#include "crossdock/status.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "base/status_macros.h"

namespace crossdock {
namespace {

Status some_error() { return {StatusKind::kCapacity, Scope::kCommunicator, "need 9, have 8", 2}; }

TEST(Status, TheDefaultIsOkAndSaysNothing) {
  const Status status;
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(status.kind(), StatusKind::kOk);
  EXPECT_EQ(status.message(), "");
  EXPECT_EQ(status.culprit(), -1);
  EXPECT_EQ(status.stuck(), nullptr);
  EXPECT_EQ(status.to_string(), "ok");
}

TEST(Status, AnErrorCarriesKindScopeMessageAndCulprit) {
  const Status status = some_error();
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(status.kind(), StatusKind::kCapacity);
  EXPECT_EQ(status.scope(), Scope::kCommunicator);
  EXPECT_EQ(status.culprit(), 2);
  EXPECT_EQ(status.to_string(), "capacity (communicator): need 9, have 8");
}

TEST(Status, ACopyOutlivesTheOriginal) {
  Status copy;
  {
    const Status original = some_error();
    copy = original;
  }
  EXPECT_EQ(copy.message(), "need 9, have 8");
}

TEST(Status, AStuckWaitKeepsItsEvidenceAndPrintsAsOneLine) {
  const Status status = Status::stuck_wait({.waiter = 0,
                                            .peer = 3,
                                            .phase = "counts",
                                            .round = 17,
                                            .expected = 8,
                                            .observed = 5,
                                            .waited = std::chrono::milliseconds(2500)});
  EXPECT_EQ(status.kind(), StatusKind::kTimeout);
  EXPECT_EQ(status.culprit(), 3);
  ASSERT_NE(status.stuck(), nullptr);
  EXPECT_EQ(status.stuck()->observed, 5U);
  EXPECT_EQ(status.message(),
            "rank 0 waited 2.500 s for rank 3 in phase counts of round 17: expected 8, observed 5");
}

TEST(Status, AStuckWaitWithoutOnePeerSpeaksOfSeveral) {
  const StuckWait stuck{.waiter = 1, .phase = "barrier"};
  EXPECT_NE(stuck.to_string().find("for several ranks in phase barrier"), std::string::npos);
}

TEST(StatusDeathTest, AnErrorOfKindOkIsAProgrammerError) {
  EXPECT_DEATH(static_cast<void>(Status(StatusKind::kOk, Scope::kOperation, "x")),
               "an error needs a kind");
}

TEST(Result, AValueIsOkAndAnErrorIsNot) {
  const Result<int> value = 7;
  EXPECT_TRUE(value.ok());
  EXPECT_EQ(*value, 7);
  EXPECT_TRUE(value.status().ok());
  const Result<int> error = some_error();
  EXPECT_FALSE(error.ok());
  EXPECT_EQ(error.status().kind(), StatusKind::kCapacity);
}

TEST(Result, ValuesThatOnlyMoveComeOutByMove) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(4);
  const std::unique_ptr<int> taken = std::move(result).value();
  EXPECT_EQ(*taken, 4);
}

TEST(ResultDeathTest, TheValueOfAnErrorAbortsWithTheError) {
  const Result<int> error = some_error();
  EXPECT_DEATH(static_cast<void>(error.value()), "need 9, have 8");
}

Result<int> half(int value) {
  if (value % 2 != 0) {
    return Status(StatusKind::kInvalidArgument, Scope::kOperation, "odd");
  }
  return value / 2;
}

Result<int> quarter(int value) {
  CROSSDOCK_ASSIGN_OR_RETURN(const int first, half(value));
  int second = 0;
  CROSSDOCK_ASSIGN_OR_RETURN(second, half(first));
  return second;
}

Status check_quarter(int value) {
  CROSSDOCK_RETURN_IF_ERROR(quarter(value).status());
  return {};
}

TEST(StatusMacros, ErrorsPassUpAndValuesGoOn) {
  EXPECT_EQ(*quarter(12), 3);
  EXPECT_EQ(quarter(6).status().message(), "odd");
  EXPECT_TRUE(check_quarter(8).ok());
  EXPECT_FALSE(check_quarter(7).ok());
}

TEST(StatusNames, EveryKindAndScopeHasItsOwnName) {
  EXPECT_EQ(to_string(StatusKind::kPeerDead), "peer dead");
  EXPECT_EQ(to_string(StatusKind::kCancelled), "cancelled");
  EXPECT_EQ(to_string(StatusKind::kInternal), "internal");
  EXPECT_EQ(to_string(Scope::kProcess), "process");
}

}  // namespace
}  // namespace crossdock
