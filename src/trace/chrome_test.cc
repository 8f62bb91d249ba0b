// SPDX-License-Identifier: Apache-2.0
#include "trace/chrome.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "crossdock/status.h"
#include "trace/recorder.h"
#include "trace/stages.h"
#include "trace/testing/sample_trace.h"

namespace crossdock::trace {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using testing::sample_trace;

json parse(const Result<std::string>& text) {
  EXPECT_TRUE(text.ok()) << text.status().to_string();
  return text.ok() ? json::parse(text.value()) : json();
}

std::vector<json> events(const json& document, const std::string& phase) {
  std::vector<json> found;
  for (const json& event : document.at("traceEvents")) {
    if (event.at("ph") == phase) {
      found.push_back(event);
    }
  }
  return found;
}

std::map<int, std::string> process_names(const json& document) {
  std::map<int, std::string> names;
  for (const json& event : events(document, "M")) {
    if (event.at("name") == "process_name") {
      names[event.at("pid")] = event.at("args").at("name");
    }
  }
  return names;
}

TEST(Chrome, OneProcessPerRankAndOneThreadPerPlane) {
  // Hours of uptime: the times must not lose nanoseconds.
  const std::vector<RankTrace> traces = {sample_trace(0, 2, 987'654'321'000'123),
                                         sample_trace(1, 2, 987'654'321'001'124)};
  const json document = parse(make_chrome_json(traces));
  EXPECT_EQ(process_names(document), (std::map<int, std::string>{{1, "rank 0"}, {2, "rank 1"}}));
  const auto spans = events(document, "X");
  ASSERT_EQ(spans.size(), 4U);
  EXPECT_EQ(spans[0].at("name"), "post");
  EXPECT_EQ(spans[0].at("cat"), "data");
  EXPECT_EQ(spans[0].at("tid"), 10 + static_cast<int>(Plane::kData));
  EXPECT_EQ(spans[0].at("args").at("round"), 1);
  EXPECT_EQ(spans[0].at("args").at("operation"), "dispatch");
  EXPECT_EQ(spans[1].at("tid"), 10 + static_cast<int>(Plane::kSync));
  EXPECT_EQ(spans[1].at("ts"), 1.5);
  EXPECT_EQ(spans[1].at("dur"), 2.507);
  EXPECT_EQ(spans[2].at("pid"), 2);
  EXPECT_EQ(spans[2].at("tid"), 20 + static_cast<int>(Plane::kData));
  EXPECT_EQ(spans[2].at("ts"), 1.001);
}

TEST(Chrome, ARankCanBeOneThread) {
  const std::vector<RankTrace> traces = {sample_trace(0, 2, 0)};
  const json document = parse(make_chrome_json(traces, {.lanes = Lanes::kRank}));
  for (const json& span : events(document, "X")) {
    EXPECT_EQ(span.at("tid"), 10);
  }
}

TEST(Chrome, EmptyTracesGiveAnEmptyTimeline) {
  const std::vector<RankTrace> traces = {Recorder(0, 1).trace()};
  const json document = parse(make_chrome_json(traces));
  EXPECT_TRUE(events(document, "X").empty());
}

TEST(Chrome, ByDefaultRefusesToMixClocks) {
  std::vector<RankTrace> traces = {sample_trace(0, 2, 0), sample_trace(1, 2, 10)};
  traces[1].clock_domain ^= 1;
  const auto text = make_chrome_json(traces);
  ASSERT_FALSE(text.ok());
  EXPECT_EQ(text.status().kind(), StatusKind::kInvalidArgument);
  EXPECT_THAT(std::string(text.status().message()),
              HasSubstr("ranks 0 and 1 have different clocks"));
}

TEST(Chrome, SeparateClocksAreNamedAndEachStartsAtItsOwnZero) {
  std::vector<RankTrace> traces = {sample_trace(0, 2, 5'000), sample_trace(1, 2, 70'000'000)};
  traces[1].clock_domain ^= 1;
  const json document = parse(make_chrome_json(traces, {.mixed_clocks = MixedClocks::kSeparate}));
  EXPECT_EQ(process_names(document),
            (std::map<int, std::string>{{1, "clock A: rank 0"}, {2, "clock B: rank 1"}}));
  const auto spans = events(document, "X");
  ASSERT_EQ(spans.size(), 4U);
  EXPECT_EQ(spans[0].at("ts"), 0.0);
  EXPECT_EQ(spans[2].at("ts"), 0.0);
  EXPECT_EQ(document.at("otherData").at("clocks"), 2);
}

TEST(Chrome, DroppedSpansAndUnknownStagesAreShown) {
  std::vector<RankTrace> traces = {sample_trace(0, 1, 0)};
  traces[0].dropped_span_count = 12;
  traces[0].spans[0].stage = 900;
  const auto text = make_chrome_json(traces);
  const json document = parse(text);
  EXPECT_THAT(text.value(), HasSubstr("12 spans were dropped"));
  EXPECT_EQ(events(document, "X")[0].at("name"), "stage 900");
  EXPECT_EQ(events(document, "X")[0].at("tid"), 13);
}

TEST(Chrome, TooManySpansAreRefusedWithTheirNumber) {
  const std::vector<RankTrace> traces = {sample_trace(0, 1, 0)};
  const auto text = make_chrome_json(traces, {.event_count_max = 1});
  ASSERT_FALSE(text.ok());
  EXPECT_EQ(text.status().kind(), StatusKind::kCapacity);
  EXPECT_THAT(std::string(text.status().message()), HasSubstr("2 spans are too many"));
}

TEST(Chrome, ASpanThatEndsBeforeItBeginsIsRefused) {
  std::vector<RankTrace> traces = {sample_trace(0, 1, 100)};
  traces[0].spans[0].end_ns = 0;
  EXPECT_FALSE(make_chrome_json(traces).ok());
}

}  // namespace
}  // namespace crossdock::trace
