// SPDX-License-Identifier: Apache-2.0
#include "trace/wait_matrix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "crossdock/status.h"
#include "trace/recorder.h"

namespace crossdock::trace {
namespace {

using std::chrono::microseconds;
using ::testing::HasSubstr;
using ::testing::Not;

RankTrace waits(int rank, int rank_count, int peer, microseconds duration, int count = 1) {
  Recorder recorder(rank, rank_count);
  recorder.enable(1);
  for (int at = 0; at < count; ++at) {
    recorder.waited(peer, duration);
  }
  return recorder.trace();
}

TEST(WaitMatrix, RowWaitedForColumnWhateverTheOrderOfTraces) {
  const std::vector<RankTrace> traces = {waits(2, 3, 0, microseconds(5), 2),
                                         waits(0, 3, 2, microseconds(1)),
                                         waits(1, 3, 0, microseconds(7))};
  const auto matrix = make_wait_matrix(traces);
  ASSERT_TRUE(matrix.ok()) << matrix.status().to_string();
  EXPECT_EQ(matrix->at(2, 0).sum_ns, 10'000);
  EXPECT_EQ(matrix->at(2, 0).max_ns, 5'000);
  EXPECT_EQ(matrix->at(2, 0).count, 2U);
  EXPECT_EQ(matrix->at(0, 2).sum_ns, 1'000);
  EXPECT_EQ(matrix->at(0, 1).count, 0U);
  EXPECT_EQ(matrix->waited_for(0).sum_ns, 17'000);
  EXPECT_EQ(matrix->waited_for(0).max_ns, 7'000);
  EXPECT_EQ(matrix->waits_of(2).count, 2U);
}

TEST(WaitMatrix, AMissingRankIsNamedNotShownAsZero) {
  const std::vector<RankTrace> traces = {waits(0, 2, 1, microseconds(5))};
  const auto matrix = make_wait_matrix(traces);
  ASSERT_TRUE(matrix.ok());
  EXPECT_FALSE(matrix->has_waiter[1]);
  EXPECT_THAT(render(matrix.value()), HasSubstr("rank 1 no trace\n"));
}

TEST(WaitMatrix, TextHasSumsMaximaAndTotals) {
  const std::vector<RankTrace> traces = {waits(0, 2, 1, microseconds(1500), 3),
                                         waits(1, 2, 0, microseconds(20))};
  const auto matrix = make_wait_matrix(traces);
  ASSERT_TRUE(matrix.ok());
  EXPECT_EQ(render(matrix.value()),
            "sum, row waited for column\n"
            "             rank 0    rank 1       all\n"
            "   rank 0         .   4.50 ms   4.50 ms\n"
            "   rank 1   20.0 us         .   20.0 us\n"
            "      all   20.0 us   4.50 ms   4.52 ms\n"
            "\n"
            "max, row waited for column\n"
            "             rank 0    rank 1       all\n"
            "   rank 0         .   1.50 ms   1.50 ms\n"
            "   rank 1   20.0 us         .   20.0 us\n"
            "      all   20.0 us   1.50 ms   1.50 ms\n");
}

TEST(WaitMatrix, ManyRanksAreListedLongestFirst) {
  std::vector<RankTrace> traces;
  for (int rank = 0; rank < 30; ++rank) {
    traces.push_back(waits(rank, 31, 30, microseconds(rank + 1)));
  }
  const auto matrix = make_wait_matrix(traces);
  ASSERT_TRUE(matrix.ok());
  const std::string text = render(matrix.value());
  EXPECT_THAT(text, HasSubstr("20 of 30 waits between 31 ranks, longest sum first\n"
                              "rank 29 waited for rank 30: sum 30.0 us, max 30.0 us, 1 times\n"));
  EXPECT_THAT(text, Not(HasSubstr("rank 9 waited")));
  EXPECT_THAT(text, HasSubstr("rank 30: no trace\n"));
}

TEST(WaitMatrix, RefusesTracesThatDoNotBelongTogether) {
  const auto reason = [](std::vector<RankTrace> traces) {
    const auto matrix = make_wait_matrix(traces);
    return matrix.ok() ? std::string("ok") : std::string(matrix.status().message());
  };
  const RankTrace first = waits(0, 2, 1, microseconds(1));
  EXPECT_THAT(reason({}), HasSubstr("no traces"));
  EXPECT_THAT(reason({first, first}), HasSubstr("two traces of rank 0"));
  EXPECT_THAT(reason({first, waits(1, 3, 0, microseconds(1))}),
              HasSubstr("rank 0 has 2 ranks, rank 1 has 3"));
  RankTrace strange = first;
  strange.rank = 2;
  EXPECT_THAT(reason({strange}), HasSubstr("trace of rank 2: must be 0..1"));
}

}  // namespace
}  // namespace crossdock::trace
