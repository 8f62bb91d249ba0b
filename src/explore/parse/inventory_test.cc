// SPDX-License-Identifier: Apache-2.0
// Which functions are found where parsers lose their place.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "explore/testing/tree.h"

namespace crossdock::explore {
namespace {

// One construct of real CUDA and C++ after the other, each of which has hidden a definition from
// some parser. Line numbers matter.
constexpr const char* kHardCuda = R"cuda(int with_default(int* p = NULL, int n = 0) { return n; }
std::vector<std::vector<int>> nested(std::map<int, std::vector<std::pair<int, int>>> m) { g(); }
const char* kText = R"x(kernel } { void not_a_function() {)x";
static void after_raw_string() {}
EXPORT_API
int exported(int a) {
  return a;
}
void bare_macros() {
  BEGIN_TRACE
  PIN_THREAD
  NO_YIELD
  END_TRACE
}
__launch_bounds__(128) __global__ void bounds_before(int* p) { p[0] = 1; }
__global__ void __launch_bounds__(128, 2) bounds_after(int* p) { p[0] = 1; }
template <int N> __global__ void templated(Cfg* c, int* p) { p[0] = N; }
void launches(Cfg* c, int* p) {
  templated<4><<<c->grid, c->block, 0, c->stream>>>(c, p);
  bounds_after<<<1, 1>>>(p);
}
)cuda";
constexpr const char* kHardHeader = R"cuda(#define DEFINE_SCALE(name) __device__ void name(float* x)
DEFINE_SCALE(scale_rows) {
  x[0] = 2;
}
__device__ void trailing(int a) __attribute__((noinline));
__device__ int trailing_body(int a) __attribute__((noinline)) {
  return a;
}
extern "C" __global__ __aicore__ void entry(GM_ADDR x) {
  trailing_body(1);
}
template <typename T>
  requires std::integral<T> && (sizeof(T) > 2)
T constrained(T value) {
  return value;
}
int branches(int a) {
#ifdef FAST
  if (a > 1) {
#else
  if (a > 2) {
#endif
    return a;
  }
  return 0;
}
)cuda";

struct Expected {
  const char* name;
  int line;
  const char* execution;
};

void expect_functions(const Project& project, std::string_view path,
                      const std::vector<Expected>& expected) {
  std::vector<std::string> found;
  std::vector<std::string> wanted;
  for (const Function& function : project.functions) {
    if (project.file_of(function).path == path) {
      found.push_back(
          fmt::format("{}:{} {}", function.name, function.name_line, function.execution));
    }
  }
  for (const Expected& entry : expected) {
    wanted.push_back(fmt::format("{}:{} {}", entry.name, entry.line, entry.execution));
  }
  EXPECT_EQ(found, wanted);
}

TEST(Inventory, AConstructOfRealCodeHidesNothingAfterIt) {
  const auto project = Tree().add("hard.cu", kHardCuda).add("hard.cuh", kHardHeader).explore();
  expect_functions(*project, "hard.cu",
                   {{"with_default", 1, "host"},
                    {"nested", 2, "host"},
                    {"after_raw_string", 4, "host"},
                    {"exported", 6, "host"},
                    {"bare_macros", 9, "host"},
                    {"bounds_before", 15, "kernel"},
                    {"bounds_after", 16, "kernel"},
                    {"templated", 17, "kernel"},
                    {"launches", 18, "host"}});
  expect_functions(*project, "hard.cuh",
                   {{"scale_rows", 2, "device"},
                    {"trailing_body", 6, "device"},
                    {"entry", 9, "kernel"},
                    {"constrained", 14, "host"},
                    {"branches", 17, "host"}});
  const Edge* const launch = find_edge(*project, "launches", "templated");
  ASSERT_NE(launch, nullptr);
  EXPECT_EQ(launch->form, EdgeForm::kLaunch);
  EXPECT_EQ(launch->sites.front().line, 19);
  EXPECT_NE(find_edge(*project, "launches", "bounds_after"), nullptr);
  // What could not be read together is listed with its lines.
  const SourceFile& header = project->file(1);
  EXPECT_TRUE(std::any_of(header.masked.masked.begin(), header.masked.masked.end(),
                          [&](const Masked& entry) {
                            return entry.kind == MaskKind::kConditional &&
                                   header.text.line_at(entry.bytes.end - 2) == 21;
                          }));
}

TEST(Inventory, OverloadsStayApartAndIdsSurviveEditsElsewhere) {
  constexpr const char* kSource = "int f(int a) { return a; }\nint f(long a) { return 1; }\n";
  const auto before = Tree().add("a.cc", kSource).explore();
  const auto after =
      Tree()
          .add("a.cc", "// A comment.\n\nint g() {\n  return 1;\n}\n" + std::string(kSource))
          .explore();
  ASSERT_EQ(before->functions.size(), 2U);
  ASSERT_EQ(after->functions.size(), 3U);
  EXPECT_NE(before->functions[0].id, before->functions[1].id);
  EXPECT_EQ(before->functions[0].id, after->functions[1].id);
  EXPECT_EQ(before->functions[1].id, after->functions[2].id);
  EXPECT_EQ(before->functions[0].body_hash, after->functions[1].body_hash);
}

TEST(Inventory, ReformattingAFunctionKeepsItsIdAndHash) {
  const auto before = Tree().add("a.cc", "int f(int a,int b){return a+b;}\n").explore();
  const auto after =
      Tree().add("a.cc", "int f(int a,\n      int b) {\n  // Sum.\n  return a + b;\n}\n").explore();
  EXPECT_EQ(before->functions.at(0).id, after->functions.at(0).id);
  EXPECT_EQ(before->functions.at(0).body_hash, after->functions.at(0).body_hash);
}

TEST(Inventory, ConstexprIfIsNoFunction) {
  const auto project =
      Tree()
          .add("a.cc",
               "template <bool B> int f(int a) {\n  if constexpr (B) {\n    return a;\n  } else if "
               "constexpr (sizeof(a) > 2) {\n    return 2;\n  }\n  return 1;\n}\n")
          .explore();
  EXPECT_EQ(names_of_functions(*project), std::vector<std::string>{"f"});
}

TEST(Inventory, WhatOnlyTheScannerFindsIsKeptAndTold) {
  // The grammar takes the macro for a type and loses the constructor's initialisers.
  const auto project = Tree()
                           .add("a.cc",
                                "#define DECLARE(name) int lazy_##name(int x) { return x; }\n"
                                "DECLARE(open);\nint after() { return lazy_open(1); }\n")
                           .explore();
  ASSERT_NE(find_function(*project, "lazy_open"), nullptr);
  EXPECT_EQ(find_function(*project, "lazy_open")->found_by,
            std::vector<std::string_view>{"scanner"});
  EXPECT_NE(find_edge(*project, "after", "lazy_open"), nullptr);
}

}  // namespace
}  // namespace crossdock::explore
