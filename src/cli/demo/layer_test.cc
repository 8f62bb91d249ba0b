// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/npy.h"
#include "cli/demo/dense.h"
#include "cli/demo/moe_layer.h"
#include "cli/demo/reference.h"
#include "cli/demo/workload.h"
#include "crossdock/status.h"
#include "crossdock/types.h"

namespace crossdock::demo {
namespace {

using ::testing::HasSubstr;

const LayerShape kShape{.hidden = 48, .ffn = 20, .experts = 12, .topk = 3, .seed = 5};

std::vector<float> embedded(const MoeLayer& layer, const std::string& text, std::size_t position) {
  std::vector<float> row(static_cast<std::size_t>(layer.shape().hidden));
  layer.embed(std::span(reinterpret_cast<const unsigned char*>(text.data()), text.size()), position,
              row);
  return row;
}

TEST(Dense, OutputsDependOnTheirOwnColumnOnly) {
  for (const std::size_t out_count : {1U, 7U, 63U, 64U, 130U}) {
    const std::vector<float> in = {1.5F, -2.0F, 0.25F};
    std::vector<float> weights(3 * out_count);
    std::iota(weights.begin(), weights.end(), 1.0F);
    std::vector<float> out(out_count);
    multiply(in, weights, out);
    for (std::size_t column = 0; column < out_count; ++column) {
      const float expected = 1.5F * weights[column] - 2.0F * weights[out_count + column] +
                             0.25F * weights[2 * out_count + column];
      EXPECT_FLOAT_EQ(out[column], expected);
    }
  }
}

TEST(MoeLayer, TheGateChoosesDistinctExpertsWithWeightsThatSumToOne) {
  const MoeLayer layer(kShape);
  const Gate gate = layer.gate(embedded(layer, "crossdock", 5));
  EXPECT_EQ(std::set<std::int32_t>(gate.experts.begin(), gate.experts.end()).size(), 3U);
  EXPECT_NEAR(std::accumulate(gate.weights.begin(), gate.weights.end(), 0.0), 1.0, 1e-5);
  EXPECT_TRUE(std::is_sorted(gate.weights.rbegin(), gate.weights.rend()));
}

TEST(MoeLayer, ATokenDependsOnItsByteItsPastAndItsPlace) {
  const MoeLayer layer(kShape);
  const std::vector<float> row = embedded(layer, "abcabc", 2);
  EXPECT_NE(row, embedded(layer, "abdabc", 2));
  EXPECT_NE(row, embedded(layer, "bacabc", 2));
  EXPECT_NE(row, embedded(layer, "abcabc", 5));
  EXPECT_EQ(row, embedded(layer, "abcxyz", 2)) << "the future does not matter";
  double squares = 0;
  for (const float value : row) {
    squares += static_cast<double>(value) * static_cast<double>(value);
  }
  EXPECT_NEAR(squares / 48.0, 1.0, 1e-3);
}

TEST(MoeLayer, ExpertsDifferAndTheSeedMakesThemAgain) {
  MoeLayer layer(kShape);
  MoeLayer again(kShape);
  const std::vector<float> row = embedded(layer, "text", 3);
  std::vector<float> first(48);
  std::vector<float> second(48);
  layer.expert(1, row, first);
  layer.expert(2, row, second);
  EXPECT_NE(first, second);
  again.expert(1, row, second);
  EXPECT_EQ(first, second);
  EXPECT_TRUE(std::all_of(first.begin(), first.end(), [](float v) { return std::isfinite(v); }));
}

/// A folder of .npy files that is gone after the test.
class RecordedTest : public ::testing::Test {
 protected:
  RecordedTest()
      : folder_(std::filesystem::temp_directory_path() /
                ("crossdock_demo_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~RecordedTest() override { std::filesystem::remove_all(folder_); }

  template <typename T>
  std::string save(const std::string& name, NpyType type, std::vector<std::uint64_t> shape,
                   const std::vector<T>& values) {
    const std::string path = (folder_ / name).string();
    EXPECT_TRUE(save_npy(path, type, shape, std::as_bytes(std::span(values))).ok());
    return path;
  }
  RecordedOptions good() {
    RecordedOptions options;
    options.tokens_path = save<float>("x.npy", NpyType::kF4, {3, 2}, {1, 2, 3, 4, 5, 6});
    options.ids_path = save<std::int64_t>("i.npy", NpyType::kI8, {3, 2}, {0, 3, -1, 1, 2, 0});
    options.weights_path = save<float>("w.npy", NpyType::kF4, {3, 2}, {0.5F, 0.25F, 9, 1, 2, -1});
    options.ranks = 2;
    return options;
  }
  static std::string reason(const RecordedOptions& options) {
    const auto workload = make_recorded_workload(options);
    EXPECT_EQ(workload.status().kind(), StatusKind::kInvalidArgument);
    return std::string(workload.status().message());
  }

 private:
  std::filesystem::path folder_;
};

TEST_F(RecordedTest, RowsAreSplitOverTheRanksInOrder) {
  const auto workload = make_recorded_workload(good()).value();
  EXPECT_EQ(workload->experts(), 4);
  EXPECT_EQ(workload->tokens_of(0), 1);
  EXPECT_EQ(workload->tokens_of(1), 2);
  EXPECT_THAT(workload->input(0, 1).topk_ids, ::testing::ElementsAre(-1, 1, 2, 0));
}

TEST_F(RecordedTest, IdentityExpertsGiveTheWeightedSum) {
  const auto workload = make_recorded_workload(good()).value();
  const std::vector<std::byte> bytes = reference_tokens(*workload, 0, 1, 2, RowLayout::kExpanded);
  std::array<float, 4> tokens{};
  std::memcpy(tokens.data(), bytes.data(), sizeof(tokens));
  EXPECT_THAT(tokens, ::testing::ElementsAre(3, 4, 5, 6));
}

TEST_F(RecordedTest, ABadIdIsNamedWithItsPlace) {
  RecordedOptions options = good();
  options.experts = 3;
  EXPECT_THAT(reason(options), HasSubstr("row 0, column 1: expert 3; allowed: -1 .. 2"));
  options = good();
  options.ids_path = save<std::int32_t>("j.npy", NpyType::kI4, {3, 2}, {0, 1, 1, 2, -2, 0});
  EXPECT_THAT(reason(options), HasSubstr("row 2, column 0: expert -2; allowed: -1 .. 2"));
  options.ids_path = save<std::int32_t>("j.npy", NpyType::kI4, {3, 2}, {0, 1, 2, 2, 1, 0});
  EXPECT_THAT(reason(options), HasSubstr("row 1: expert 2 in columns 0 and 1; allowed: once"));
}

TEST_F(RecordedTest, ArraysOfOtherTypesAndShapesAreRefused) {
  RecordedOptions options = good();
  options.weights_path = save<std::int32_t>("v.npy", NpyType::kI4, {3, 2}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(reason(options), HasSubstr("type <i4; allowed: <f4"));
  options.weights_path = save<float>("v.npy", NpyType::kF4, {2, 2}, {1, 2, 3, 4});
  EXPECT_THAT(reason(options), HasSubstr("shape 2 x 2; allowed: that of"));
  options = good();
  options.ids_path = save<std::int32_t>("k.npy", NpyType::kI4, {2, 2}, {0, 1, 1, 0});
  EXPECT_THAT(reason(options), HasSubstr("2 rows, but"));
  options = good();
  options.tokens_path = save<float>("y.npy", NpyType::kF4, {6}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(reason(options), HasSubstr("1 dimensions; allowed: 2"));
}

TEST_F(RecordedTest, ATextThatIsNotThereOrEmptyIsRefused) {
  TextOptions options;
  options.path = "/nonexistent/text";
  EXPECT_THAT(std::string(make_text_workload(options).status().message()),
              HasSubstr("'/nonexistent/text': No such file"));
  options.path = "/dev/null";
  EXPECT_THAT(std::string(make_text_workload(options).status().message()), HasSubstr("0 bytes"));
}

}  // namespace
}  // namespace crossdock::demo
