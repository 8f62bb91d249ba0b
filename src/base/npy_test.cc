// SPDX-License-Identifier: Apache-2.0
#include "base/npy.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace crossdock {
namespace {

using namespace std::string_literals;

/// A version 1 file with this dict and so many data bytes.
std::string file_of(std::string_view dict, std::size_t data_bytes) {
  const std::string text = std::string(dict) + "\n";
  std::string file = "\x93NUMPY\x01\x00"s;
  file += static_cast<char>(text.size() & 0xff);
  file += static_cast<char>(text.size() >> 8);
  return file + text + std::string(data_bytes, 'd');
}

Result<NpyArray> parse(const std::string& file) {
  return parse_npy(std::as_bytes(std::span(file)), "x.npy");
}

std::string error_of(const std::string& file) {
  const Result<NpyArray> result = parse(file);
  return result.ok() ? "no error" : std::string(result.status().message());
}

constexpr std::string_view kGood = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";

TEST(Npy, ReadsWhatNumpyWrites) {
  // numpy.save of numpy.array([[1, 2, 3], [4, 5, 6]], dtype='<u2')
  const std::string file =
      "\x93NUMPY\x01\x00\x76\x00{'descr': '<u2', 'fortran_order': False, 'shape': (2, 3), }"s +
      std::string(58, ' ') + "\n\x01\x00\x02\x00\x03\x00\x04\x00\x05\x00\x06\x00"s;
  const NpyArray array = parse(file).value();
  EXPECT_EQ(array.type, NpyType::kU2);
  EXPECT_EQ(array.shape, (std::vector<std::uint64_t>{2, 3}));
  EXPECT_EQ(array.element_count(), 6U);
  EXPECT_EQ(array.as<std::uint16_t>()[4], 5);
}

TEST(Npy, AcceptsEveryOrderOfKeysBothQuotesAndEveryShape) {
  EXPECT_TRUE(parse(file_of(kGood, 24)).ok());
  EXPECT_TRUE(
      parse(file_of("{\"shape\":(6,),\"descr\":\"<f4\",\"fortran_order\":False}", 24)).ok());
  EXPECT_TRUE(parse(file_of("{'descr': '|u1', 'fortran_order': False, 'shape': (), }", 1)).ok());
  EXPECT_TRUE(
      parse(file_of("{'descr': '<i8', 'fortran_order': False, 'shape': (0, 9), }", 0)).ok());
  EXPECT_TRUE(
      parse(file_of("{'descr': '<f2', 'fortran_order': False, 'shape': (1, 2, 1, 2), }", 8)).ok());
}

TEST(Npy, ReadsVersionTwo) {
  const std::string dict = std::string(kGood) + "\n";
  std::string file = "\x93NUMPY\x02\x00"s + static_cast<char>(dict.size()) + "\0\0\0"s + dict;
  EXPECT_TRUE(parse(file + std::string(24, 'd')).ok());
}

TEST(Npy, EachKindOfBadHeaderSaysWhatWasFoundAndWhatIsAllowed) {
  EXPECT_EQ(error_of("not a file at all"),
            "'x.npy': no .npy file; allowed: files that begin with \\x93NUMPY");
  EXPECT_EQ(error_of("\x93NUMPY\x03\x00\x00\x00\x00\x00"s),
            "'x.npy': format version 3.0; allowed: 1.0 and 2.0");
  EXPECT_EQ(error_of(file_of("{'descr': '>f4', 'fortran_order': False, 'shape': (2,), }", 8)),
            "'x.npy': element type '>f4'; allowed: <f2, <f4, <f8, <i4, <i8, |u1, <u2");
  EXPECT_EQ(error_of(file_of("{'descr': '<f4', 'fortran_order': True, 'shape': (2,), }", 8)),
            "'x.npy': fortran_order True; allowed: False (numpy.ascontiguousarray helps)");
  EXPECT_EQ(
      error_of(file_of("{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1), }", 4)),
      "'x.npy': 5 dimensions; allowed: at most 4");
  EXPECT_EQ(error_of(file_of(kGood, 23)),
            "'x.npy': 23 bytes of data; allowed: 24 for shape (2, 3) of <f4");
}

TEST(Npy, AHeaderThatIsNotTheDictIsRefused) {
  for (const std::string_view dict :
       {"", "{", "{}", "{'descr': '<f4'}", "{'descr': '<f4', 'fortran_order': False}",
        "{'descr': '<f4', 'fortran_order': 0, 'shape': (2, 3), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2 3), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (6), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-2, 3), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3, }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), } x",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), 'more': 1}",
        "{'descr': '<f4' 'fortran_order': False, 'shape': (2, 3), }",
        "{,'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1), }",
        "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2, 3), }",
        "{'descr': '<f4, 'fortran_order': False, 'shape': (2, 3), }"}) {
    EXPECT_NE(error_of(file_of(dict, 24)).find("wrong at byte"), std::string::npos) << dict;
  }
}

TEST(Npy, AHeaderLongerThanTheFileOrTheLimitIsRefused) {
  EXPECT_NE(error_of("\x93NUMPY\x01\x00\xff\xff{}\n"s).find("a header of 65535 bytes"),
            std::string::npos);
  EXPECT_NE(error_of("\x93NUMPY\x02\x00\xff\xff\xff\xff{}\n"s).find("a header of 4294967295 bytes"),
            std::string::npos);
}

TEST(Npy, AShapeThatWouldOverflowOrOverAllocateIsRefusedByTheFileLength) {
  for (const std::string_view shape :
       {"(18446744073709551615, 2)", "(4294967296, 4294967296)", "(1000000000000,)"}) {
    const std::string dict =
        "{'descr': '<f4', 'fortran_order': False, 'shape': " + std::string(shape) + ", }";
    EXPECT_NE(error_of(file_of(dict, 4)).find("4 bytes of data"), std::string::npos) << shape;
  }
  EXPECT_NE(error_of(file_of("{'descr': '<f4', 'fortran_order': False, "
                             "'shape': (18446744073709551616,), }",
                             4))
                .find("wrong at byte"),
            std::string::npos);
}

TEST(Npy, EveryCutOfAGoodFileIsRefused) {
  const std::string file = file_of(kGood, 24);
  for (std::size_t length = 0; length < file.size(); ++length) {
    EXPECT_FALSE(parse(file.substr(0, length)).ok()) << length;
  }
  EXPECT_FALSE(parse(file + "x").ok());
}

class NpyFile : public testing::Test {
 protected:
  NpyFile()
      : folder_(std::filesystem::path(testing::TempDir()) /
                ("npy_test_" +
                 std::string(testing::UnitTest::GetInstance()->current_test_info()->name()))) {
    std::filesystem::create_directories(folder_);
  }
  ~NpyFile() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string path(const char* name) const { return (folder_ / name).string(); }

  std::filesystem::path folder_;
};

TEST_F(NpyFile, WhatIsSavedIsLoadedAgain) {
  const std::vector<float> values = {1.5F, -2.0F, 3.25F, 0.0F, 7.0F, 8.0F};
  for (const std::vector<std::uint64_t>& shape :
       {std::vector<std::uint64_t>{6}, {2, 3}, {1, 2, 3}, {1, 6, 1, 1}}) {
    ASSERT_TRUE(
        save_npy(path("a.npy"), NpyType::kF4, shape, std::as_bytes(std::span(values))).ok());
    const NpyArray array = load_npy(path("a.npy")).value();
    EXPECT_EQ(array.type, NpyType::kF4);
    EXPECT_EQ(array.shape, shape);
    const auto loaded = array.as<float>();
    EXPECT_EQ(std::vector<float>(loaded.begin(), loaded.end()), values);
  }
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1) << "left-overs";
}

TEST_F(NpyFile, DataBeginAtAMultipleOf64) {
  for (std::uint64_t rows = 1; rows < 1'000'000'000'000; rows *= 10) {
    const std::vector<std::uint64_t> shape = {rows, rows};
    EXPECT_EQ(make_npy_header(NpyType::kI8, shape).size() % 64, 0U);
  }
}

TEST_F(NpyFile, WhatTheSystemRefusesIsAnIoErrorWithTheReason) {
  EXPECT_EQ(load_npy(path("absent.npy")).status().kind(), StatusKind::kIo);
  EXPECT_NE(load_npy(path("absent.npy")).status().message().find("No such file"),
            std::string_view::npos);
  EXPECT_EQ(save_npy(path("absent/a.npy"), NpyType::kU1, {}, std::vector<std::byte>(1)).kind(),
            StatusKind::kIo);
  EXPECT_EQ(load_npy(folder_.string()).status().kind(), StatusKind::kInvalidArgument);
}

TEST_F(NpyFile, ASparseFileBeyondTheLimitIsRefusedUnread) {
  constexpr std::uint64_t kHuge = std::uint64_t{1} << 35;
  const std::vector<std::uint64_t> shape = {kHuge};
  const std::string header = make_npy_header(NpyType::kU1, shape);
  std::ofstream(path("sparse.npy"), std::ios::binary) << header;
  std::filesystem::resize_file(path("sparse.npy"), header.size() + kHuge);
  const Result<NpyArray> result = load_npy(path("sparse.npy"));
  EXPECT_EQ(result.status().kind(), StatusKind::kCapacity);
}

TEST_F(NpyFile, ASaveThatFailsLeavesTheOldFile) {
  const std::vector<std::byte> byte(1);
  ASSERT_TRUE(save_npy(path("a.npy"), NpyType::kU1, {}, byte).ok());
  std::filesystem::create_directory(path("b.npy"));
  EXPECT_FALSE(save_npy(path("b.npy"), NpyType::kU1, {}, byte).ok());
  EXPECT_TRUE(std::filesystem::is_directory(path("b.npy")));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 2) << "left-overs";
}

TEST(NpyDeathTest, ElementsOfAnotherSizeAreAProgrammerError) {
  const NpyArray array{.type = NpyType::kF4, .shape = {1}, .bytes = std::vector<std::byte>(4)};
  EXPECT_DEATH(static_cast<void>(array.as<double>()), "wanted 8 bytes, element <f4 has 4");
}

}  // namespace
}  // namespace crossdock
