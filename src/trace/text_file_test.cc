// SPDX-License-Identifier: Apache-2.0
#include "trace/text_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "crossdock/status.h"

namespace crossdock::trace {
namespace {

namespace fs = std::filesystem;

class TextFile : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "crossdock-text-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path folder_;
};

std::string read(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

TEST_F(TextFile, ReplacesWhatWasThereAndLeavesNothingBeside) {
  const fs::path path = folder_ / "out.json";
  ASSERT_TRUE(write_text_file(path, "first").ok());
  ASSERT_TRUE(write_text_file(path, "second").ok());
  EXPECT_EQ(read(path), "second");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1);
}

TEST_F(TextFile, AFolderThatDoesNotExistIsAnErrorWithPathAndReason) {
  const Status status = write_text_file(folder_ / "absent" / "out.json", "text");
  EXPECT_EQ(status.kind(), StatusKind::kIo);
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("absent/out.json"));
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("No such file or directory"));
}

TEST_F(TextFile, ADeviceIsWrittenNotReplaced) {
  EXPECT_TRUE(write_text_file("/dev/null", "text").ok());
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_FALSE(write_text_file("/dev/full", std::string(1 << 16, 'x')).ok());
}

}  // namespace
}  // namespace crossdock::trace
