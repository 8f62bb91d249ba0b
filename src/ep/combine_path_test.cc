// SPDX-License-Identifier: Apache-2.0
#include "ep/combine_path.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace crossdock::ep {
namespace {

std::string read_source(const std::string& path) {
  std::ifstream file(std::filesystem::path(CROSSDOCK_SOURCE_DIR) / path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(CombineContract, EveryQuestionIsAnsweredByAFunctionThatExists) {
  for (const CombinePath path : {CombinePath::kPull, CombinePath::kPush}) {
    const protocol::Contract& contract = combine_contract(path);
    EXPECT_EQ(contract.name, to_string(path));
    for (std::size_t index = 0; index < contract.answers.size(); ++index) {
      const protocol::Answer& answer = contract.answers[index];
      EXPECT_EQ(answer.question, static_cast<protocol::Question>(index)) << contract.name;
      EXPECT_FALSE(answer.words.empty()) << contract.name;
      const std::size_t colon = answer.implemented_by.find(':');
      ASSERT_NE(colon, std::string_view::npos);
      const std::string file(answer.implemented_by.substr(0, colon));
      const std::string function(answer.implemented_by.substr(colon + 1));
      EXPECT_NE(read_source(file).find("::" + function + "("), std::string::npos)
          << answer.implemented_by;
    }
  }
}

TEST(CombinePath, AutoPullsWhereWindowsCanBeLoadedAndPushesElsewhere) {
  fabric::Guarantees host;
  fabric::Guarantees network;
  network.load_store_reach = false;
  EXPECT_EQ(resolve_path(CombinePath::kAuto, host), CombinePath::kPull);
  EXPECT_EQ(resolve_path(CombinePath::kAuto, network), CombinePath::kPush);
  EXPECT_EQ(resolve_path(CombinePath::kPush, host), CombinePath::kPush);
  EXPECT_EQ(resolve_path(CombinePath::kPull, network), CombinePath::kPull);
  EXPECT_TRUE(check_path(CombinePath::kPush, network).ok());
  EXPECT_TRUE(check_path(CombinePath::kPull, host).ok());
  const Status status = check_path(CombinePath::kPull, network);
  EXPECT_EQ(status.kind(), StatusKind::kUnsupported);
  EXPECT_NE(status.message().find("allowed: auto, push"), std::string_view::npos);
}

TEST(CombineContractDeathTest, AutoHasNone) {
  EXPECT_DEATH(static_cast<void>(combine_contract(CombinePath::kAuto)), "path 0");
}

}  // namespace
}  // namespace crossdock::ep
