// SPDX-License-Identifier: Apache-2.0
#include "report/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "crossdock/status.h"
#include "report/report_json.h"
#include "report/testing/sample_report.h"
#include "trace/recorder.h"
#include "trace/stages.h"

namespace crossdock::report {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::sample_report;

json data_of(const std::string& html) {
  const std::string begin = R"(<script type="application/json" id="report-data">)";
  const std::size_t from = html.find(begin) + begin.size();
  return json::parse(html.substr(from, html.find("</script>", from) - from));
}

std::string reason(const Report& report) {
  const auto html = make_html(report);
  return html.ok() ? std::string("ok") : std::string(html.status().message());
}

TEST(Report, AnEmptyReportIsAPage) {
  const auto html = make_html({});
  ASSERT_TRUE(html.ok());
  EXPECT_EQ(data_of(html.value()).at("schema"), "crossdock.report.1");
}

TEST(Report, NothingIsLoadedFromElsewhere) {
  const auto html = make_html(sample_report());
  ASSERT_TRUE(html.ok());
  for (const char* forbidden :
       {"src=", "@import", "url(http", "<link", "fetch(", "XMLHttpRequest"}) {
    EXPECT_THAT(html.value(), Not(HasSubstr(forbidden)));
  }
  EXPECT_THAT(html.value(), HasSubstr("default-src 'none'"));
}

TEST(Report, TextCannotBreakOutOfItsPlace) {
  Report report;
  report.title = "</title><script>alert(1)</script>{{data}}";
  report.verdict_text = "</script><!-- \xff {{script}}";
  const auto html = make_html(report);
  ASSERT_TRUE(html.ok());
  EXPECT_THAT(html.value(), Not(HasSubstr("<script>alert")));
  EXPECT_THAT(html.value(), HasSubstr("&lt;/title&gt;&lt;script&gt;alert(1)"));
  const json data = data_of(html.value());
  EXPECT_EQ(data.at("title"), report.title);
  EXPECT_EQ(data.at("verdict").at("text"), "</script><!-- \xEF\xBF\xBD {{script}}");
}

TEST(Report, CarriesEveryNumberWithItsOrigin) {
  const json data = data_of(make_html(sample_report()).value());
  for (const json& fact : data.at("facts")) {
    EXPECT_TRUE(fact.contains("origin")) << fact;
  }
  for (const json& group : data.at("bars")) {
    for (const json& bar : group.at("bars")) {
      EXPECT_TRUE(bar.contains("origin")) << bar;
    }
  }
  for (const json& plot : data.at("plots")) {
    for (const json& line : plot.at("lines")) {
      EXPECT_TRUE(line.contains("origin")) << line;
    }
  }
  EXPECT_EQ(data.at("routes").at("origin"), "measured");
  EXPECT_EQ(data.at("trace").at("origin"), "measured");
}

TEST(Report, TimelineIsRelativeToItsRound) {
  const json data = data_of(make_html(sample_report()).value());
  const json& timeline = data.at("trace").at("timeline");
  ASSERT_EQ(timeline.at("rounds").size(), 6U);
  for (const json& round : timeline.at("rounds")) {
    EXPECT_EQ(round.at("spans").size(), 8U * 13U);
    EXPECT_EQ(round.at("operations").size(), 2U);
    for (const json& span : round.at("spans")) {
      EXPECT_GE(span.at(3), 0);
      EXPECT_LE(span.at(4), round.at("length"));
    }
  }
}

TEST(Report, RanksOfDifferentClocksHaveNoTimelineButSums) {
  Report report = sample_report();
  report.traces.back().clock_domain ^= 1;
  const json data = data_of(make_html(report).value());
  EXPECT_FALSE(data.at("trace").contains("timeline"));
  EXPECT_THAT(data.at("trace").at("timeline_refused").get<std::string>(),
              HasSubstr("ranks 0 and 7 have different clocks"));
  EXPECT_EQ(data.at("trace").at("summaries").at("all").size(), 8U);
}

TEST(Report, ARankWithoutATraceIsMissingNotZero) {
  Report report = sample_report();
  report.traces.erase(report.traces.begin() + 3);
  const json data = data_of(make_html(report).value());
  EXPECT_TRUE(data.at("trace").at("waits").at(3).is_null());
  EXPECT_EQ(data.at("trace").at("waits").at(4).size(), 8U);
}

TEST(Report, LargeAddressesKeepAllTheirBits) {
  Report report;
  report.journey = Journey{};
  report.journey->steps.emplace_back().address = 0xfedcba9876543211;
  const json data = data_of(make_html(report).value());
  EXPECT_EQ(data.at("journey").at("steps").at(0).at("address"), "0xfedcba9876543211");
  EXPECT_FALSE(data.at("journey").at("steps").at(0).contains("slot"));
}

TEST(Report, PartsThatContradictEachOtherAreRefused) {
  Report report = sample_report();
  report.routes->routes.pop_back();
  EXPECT_THAT(reason(report), HasSubstr("511 route counts for 8 ranks x 64 experts"));
  report = sample_report();
  report.routes->expert_rank[2] = 8;
  EXPECT_THAT(reason(report), HasSubstr("expert 2 is owned by rank 8; ranks are 0..7"));
  report = sample_report();
  report.bars[0].bars[1].value = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(reason(report), HasSubstr("bar 'MPI_Alltoallv + permute' of 'Dispatch, median'"));
  report = sample_report();
  report.plots[0].lines[1].points[2].second = 0;
  EXPECT_THAT(reason(report), HasSubstr("point (128, 0) of 'limit'"));
  report.plots[0].lines.clear();
  EXPECT_THAT(reason(report), HasSubstr("has no points"));
  report = sample_report();
  report.traces.push_back(report.traces.front());
  EXPECT_THAT(reason(report), HasSubstr("two traces of rank 0"));
}

TEST(Report, AFileThatCannotBeWrittenIsAnErrorWithItsPath) {
  const Status status = write_report({}, "/proc/no/such/report.html");
  EXPECT_EQ(status.kind(), StatusKind::kIo);
  EXPECT_THAT(std::string(status.message()), HasSubstr("/proc/no/such/report.html"));
}

}  // namespace
}  // namespace crossdock::report
