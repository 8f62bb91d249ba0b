// SPDX-License-Identifier: Apache-2.0
#include "protocol/protocol.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <memory>
#include <regex>
#include <sstream>
#include <string>
#include <string_view>

#include "crossdock/status.h"
#include "crossdock/types.h"
#include "fabric/guarantees.h"
#include "protocol/contract.h"

namespace crossdock::protocol {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::unique_ptr<Protocol> make(std::string_view name) {
  return make_protocol(name, {RankId{0}, 2, 1}).value();
}

std::string refusal(std::string_view name, const Team& team) {
  return std::string(make_protocol(name, team).status().message());
}

TEST(MakeProtocol, EveryNameMakesTheProtocolOfThatName) {
  EXPECT_THAT(protocol_names(), ::testing::ElementsAre("barrier", "counted", "tail_fence"));
  for (const std::string_view name : protocol_names()) {
    EXPECT_EQ(make(name)->contract().name, name);
  }
}

TEST(MakeProtocol, UnknownNameIsRefusedWithTheKnownOnes) {
  const std::string message = refusal("tail-fence", {RankId{0}, 2, 1});
  EXPECT_EQ(message, "unknown protocol 'tail-fence'; allowed: barrier, counted, tail_fence");
}

TEST(MakeProtocol, TeamsOutsideTheDomainAreRefusedWithTheValue) {
  EXPECT_THAT(refusal("barrier", {RankId{0}, 0, 1}), HasSubstr("rank_count 0; allowed: 1 or more"));
  EXPECT_THAT(refusal("barrier", {RankId{4}, 4, 1}), HasSubstr("rank 4; allowed: 0 to 3"));
  EXPECT_THAT(refusal("tail_fence", {RankId{-1}, 4, 1}), HasSubstr("rank -1; allowed: 0 to 3"));
  EXPECT_THAT(refusal("tail_fence", {RankId{0}, 4, 17}),
              HasSubstr("lane_count 17; allowed: 1 to 16"));
  EXPECT_EQ(refusal("tail_fence", {RankId{0}, 4, 16}), "");
}

TEST(CheckFit, FabricWithAllGuaranteesFitsEveryProtocol) {
  for (const std::string_view name : protocol_names()) {
    EXPECT_TRUE(check_fit(make(name)->contract(), fabric::Guarantees{}).ok()) << name;
  }
}

TEST(CheckFit, UnorderedQueuesLeaveBarrierAndCounted) {
  fabric::Guarantees guarantees;
  guarantees.queue_order = fabric::QueueOrder::kNone;
  EXPECT_TRUE(check_fit(make("barrier")->contract(), guarantees).ok());
  const Status status = check_fit(make("tail_fence")->contract(), guarantees);
  EXPECT_EQ(status.kind(), StatusKind::kUnsupported);
  EXPECT_EQ(status.message(),
            "protocol 'tail_fence' needs queue order strong-only (the fabric has none); "
            "would fit: barrier, counted");
}

TEST(CheckFit, LocalFlushLeavesCountedAndTailFence) {
  fabric::Guarantees guarantees;
  guarantees.remote_completion = false;
  EXPECT_TRUE(check_fit(make("tail_fence")->contract(), guarantees).ok());
  const Status status = check_fit(make("barrier")->contract(), guarantees);
  EXPECT_THAT(std::string(status.message()), HasSubstr("remote completion"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("would fit: counted, tail_fence"));
}

TEST(CheckFit, EarlyEventsLeaveAllButCounted) {
  fabric::Guarantees guarantees;
  guarantees.event_after_data = false;
  const Status status = check_fit(make("counted")->contract(), guarantees);
  EXPECT_THAT(std::string(status.message()), HasSubstr("events behind their data"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("would fit: barrier, tail_fence"));
}

TEST(CheckFit, EveryLackIsNamedAlsoWhenNothingFits) {
  fabric::Guarantees guarantees;
  guarantees.atomic_bytes = 4;
  guarantees.delivered_once = false;
  const Status status = check_fit(make("barrier")->contract(), guarantees);
  EXPECT_THAT(std::string(status.message()), HasSubstr("8 bytes (the fabric has 4) and delivery"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("no protocol fits"));
  EXPECT_THAT(std::string(status.message()), Not(HasSubstr("\n")));
}

/// True when the text has a definition of the function: its name, parameters, and a body.
bool defines(const std::string& text, std::string_view function) {
  const std::regex definition(
      "\\b(?:\\w+::)?" + std::string(function) +
      R"(\s*\([^;{}]*\)\s*(?:const\s*)?(?:noexcept\s*)?(?:override\s*)?\{)");
  return std::regex_search(text, definition);
}

std::string read_source(const std::string& path) {
  std::ifstream file(std::filesystem::path(CROSSDOCK_SOURCE_DIR) / path);
  std::ostringstream text;
  text << file.rdbuf();
  return file ? text.str() : std::string();
}

TEST(Contract, DefinitionIsToldFromACall) {
  EXPECT_TRUE(defines("void A::f(int x) {\n}", "f"));
  EXPECT_TRUE(defines("int f() const {", "f"));
  EXPECT_FALSE(defines("void g() { f(1); }", "f"));
  EXPECT_FALSE(defines("void f(int);", "f"));
  EXPECT_FALSE(defines("void ff() {", "f"));
}

TEST(Contract, EveryQuestionIsAnsweredByAFunctionThatExists) {
  for (const std::string_view name : protocol_names()) {
    const auto protocol = make(name);
    const Contract& contract = protocol->contract();
    EXPECT_FALSE(contract.unit.empty());
    EXPECT_FALSE(contract.proof.empty());
    for (std::size_t index = 0; index < contract.answers.size(); ++index) {
      const Answer& answer = contract.answers[index];
      EXPECT_EQ(answer.question, static_cast<Question>(index)) << name;
      EXPECT_FALSE(answer.words.empty()) << name;
      const std::size_t colon = answer.implemented_by.find(':');
      ASSERT_NE(colon, std::string_view::npos) << answer.implemented_by;
      const std::string path(answer.implemented_by.substr(0, colon));
      const std::string text = read_source(path);
      EXPECT_FALSE(text.empty()) << "src/" << path << " cannot be read";
      EXPECT_TRUE(defines(text, answer.implemented_by.substr(colon + 1))) << answer.implemented_by;
    }
  }
}

}  // namespace
}  // namespace crossdock::protocol
