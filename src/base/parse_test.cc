// SPDX-License-Identifier: Apache-2.0
#include "base/parse.h"

#include <gtest/gtest.h>

#include <chrono>
#include <clocale>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace crossdock {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

template <typename T>
std::string error_of(const Result<T>& result) {
  return result.ok() ? "no error" : std::string(result.status().message());
}

TEST(ParseInt64, AcceptsTheWholeRangeOfTheType) {
  EXPECT_EQ(*parse_int64("0"), 0);
  EXPECT_EQ(*parse_int64("-9223372036854775808"), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(*parse_int64("9223372036854775807"), std::numeric_limits<std::int64_t>::max());
}

TEST(ParseInt64, RefusesEverythingThatIsNotTheWholeNumber) {
  for (const std::string_view text :
       {"", " 1", "1 ", "+1", "1.0", "1e3", "0x10", "--1", "1,000", "9223372036854775808", "one"}) {
    EXPECT_FALSE(parse_int64(text).ok()) << text;
  }
}

TEST(ParseInt64, TheErrorQuotesTheTextAndSaysWhatIsAllowed) {
  EXPECT_EQ(error_of(parse_int64("12", {1, 8})),
            "'12' is not an integer in range; allowed: 1 .. 8");
  EXPECT_EQ(parse_int64("12", {1, 8}).status().kind(), StatusKind::kInvalidArgument);
}

TEST(ParseInt64, TheEndsOfTheRangeBelongToIt) {
  EXPECT_TRUE(parse_int64("1", {1, 8}).ok());
  EXPECT_TRUE(parse_int64("8", {1, 8}).ok());
  EXPECT_FALSE(parse_int64("0", {1, 8}).ok());
  EXPECT_FALSE(parse_int64("9", {1, 8}).ok());
}

TEST(ParseUint64, HasNoMinusSign) {
  EXPECT_EQ(*parse_uint64("18446744073709551615"), std::numeric_limits<std::uint64_t>::max());
  EXPECT_FALSE(parse_uint64("-1").ok());
  EXPECT_FALSE(parse_uint64("18446744073709551616").ok());
}

TEST(ParseDouble, AcceptsFiniteNumbersOnly) {
  EXPECT_EQ(*parse_double("0.5"), 0.5);
  EXPECT_EQ(*parse_double("-1e-3"), -1e-3);
  for (const std::string_view text : {"inf", "-inf", "nan", "1e999", "", "0,5", "1.5x", " 1"}) {
    EXPECT_FALSE(parse_double(text).ok()) << text;
  }
  EXPECT_FALSE(parse_double("2", {0.0, 1.0}).ok());
}

TEST(ParseDouble, TheLocaleDoesNotMatter) {
  const std::string before = std::setlocale(LC_ALL, nullptr);
  // Where the machine lacks the locale this repeats the test above; it is installed on ours.
  std::setlocale(LC_ALL, "de_DE.UTF-8");
  EXPECT_EQ(*parse_double("0.5"), 0.5);
  EXPECT_FALSE(parse_double("0,5").ok());
  std::setlocale(LC_ALL, before.c_str());
}

TEST(ParseBool, KnowsEightWords) {
  for (const std::string_view text : {"1", "true", "yes", "on"}) {
    EXPECT_TRUE(*parse_bool(text)) << text;
  }
  for (const std::string_view text : {"0", "false", "no", "off"}) {
    EXPECT_FALSE(*parse_bool(text)) << text;
  }
  EXPECT_FALSE(parse_bool("True").ok());
  EXPECT_FALSE(parse_bool("").ok());
}

TEST(ParseSeconds, RoundsToANanosecond) {
  EXPECT_EQ(*parse_seconds("2.5"), milliseconds(2500));
  EXPECT_EQ(*parse_seconds("0.000000001"), Duration(1));
  EXPECT_EQ(*parse_seconds("0"), Duration::zero());
}

TEST(ParseSeconds, RefusesNegativeHugeAndOutOfRange) {
  EXPECT_FALSE(parse_seconds("-1").ok());
  EXPECT_FALSE(parse_seconds("1e300").ok());
  EXPECT_FALSE(parse_seconds("5s").ok());
  EXPECT_EQ(error_of(parse_seconds("9", {seconds(1), seconds(5)})),
            "'9' is not a duration in range; allowed: 1 .. 5 seconds");
}

TEST(ParseByteSize, UnderstandsBinaryUnits) {
  EXPECT_EQ(*parse_byte_size("0"), 0U);
  EXPECT_EQ(*parse_byte_size("17"), 17U);
  EXPECT_EQ(*parse_byte_size("17B"), 17U);
  EXPECT_EQ(*parse_byte_size("64MiB"), 64ULL << 20);
  EXPECT_EQ(*parse_byte_size("1.5GiB"), (3ULL << 30) / 2);
  EXPECT_EQ(*parse_byte_size("16777215TiB"), 16777215ULL << 40);
}

TEST(ParseByteSize, RefusesWhatIsAmbiguousOrDoesNotFit) {
  for (const std::string_view text :
       {"", "MiB", "64MB", "64M", "64 MiB", "-1KiB", "1.5", "1.5B", "16777216TiB", "1e30TiB"}) {
    EXPECT_FALSE(parse_byte_size(text).ok()) << text;
  }
  EXPECT_FALSE(parse_byte_size("2KiB", {0, 2047}).ok());
}

TEST(ParseChoice, ReturnsTheIndexOrListsTheChoices) {
  EXPECT_EQ(*parse_choice("off", {"auto", "off"}), 1U);
  EXPECT_EQ(error_of(parse_choice("OFF", {"auto", "off"})),
            "'OFF' is not a known choice; allowed: auto, off");
}

TEST(ParseRankToken, TakesTwoNumbersAroundAColon) {
  EXPECT_EQ(parse_rank_token("3:17")->rank, 3);
  EXPECT_EQ(parse_rank_token("3:17")->token, 17);
  for (const std::string_view text : {"", "3", ":", "3:", ":17", "-1:2", "1:-2", "1:2:3", "a:b"}) {
    EXPECT_FALSE(parse_rank_token(text).ok()) << text;
  }
}

TEST(ParseHostPort, TakesNamesAddressesAndBracketedIpv6) {
  EXPECT_EQ(parse_host_port("node-1:29500")->host, "node-1");
  EXPECT_EQ(parse_host_port("node-1:29500")->port, 29500);
  EXPECT_EQ(parse_host_port("[::1]:80")->host, "::1");
  for (const std::string_view text :
       {"", "host", "host:", ":80", "host:0", "host:65536", "::1:80"}) {
    EXPECT_FALSE(parse_host_port(text).ok()) << text;
  }
}

TEST(ParseList, SplitsAtCommasAndAllowsNoEmptyPart) {
  EXPECT_EQ(*parse_list("a,bc,d"), (std::vector<std::string_view>{"a", "bc", "d"}));
  EXPECT_TRUE(parse_list("")->empty());
  for (const std::string_view text : {",", "a,", ",a", "a,,b"}) {
    EXPECT_FALSE(parse_list(text).ok()) << text;
  }
}

TEST(ParseList, EveryNumberOfAListIsChecked) {
  EXPECT_EQ(*parse_int64_list("1,2,3"), (std::vector<std::int64_t>{1, 2, 3}));
  EXPECT_FALSE(parse_int64_list("1,2,x").ok());
  EXPECT_FALSE(parse_int64_list("1,9", {0, 8}).ok());
}

TEST(Quote, StaysOnOneLineAndIsBounded) {
  EXPECT_EQ(quote("a\nb\x1b"), "'a\\x0ab\\x1b'");
  EXPECT_EQ(quote(std::string(1000, 'x')).size(), 80U + 5);
}

TEST(NearestName, FindsTypingErrorsAndNothingElse) {
  const std::vector<std::string_view> names = {"CROSSDOCK_TIMEOUT", "CROSSDOCK_TRACE"};
  EXPECT_EQ(nearest_name("CROSSDOCK_TIMEUOT", names), "CROSSDOCK_TIMEOUT");
  EXPECT_EQ(nearest_name("PATH", names), "");
}

}  // namespace
}  // namespace crossdock
