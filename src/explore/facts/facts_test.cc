// SPDX-License-Identifier: Apache-2.0
// Stages, segments, roles, synchronisation, memory and marks.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "explore/facts/dominators.h"
#include "explore/testing/tree.h"

namespace crossdock::explore {
namespace {

constexpr const char* kKernel = R"cuda(
__device__ void send(int* window, int rows) {
  for (int token = 0; token < rows; ++token) {
    if (window[token] > 0) {
      rows -= 1;
    }
  }
  copy_rows(window, rows);
  st_release(flag_address(window), 1);
}
__device__ void wait(int* window) {
  while (ld_acquire(flag_address(window)) != 1) {
  }
}
__device__ int* flag_address(int* window) { return window + 8; }
__global__ void kernel(int* window, int rows) {
  const int warp_id = threadIdx.x / 32;
  if (warp_id < 4) {
    send(window, rows);
    send(window, 1);
  } else {
    wait(window);
  }
  __syncthreads();
  // __threadfence_system();
}
)cuda";

/// Every line is in exactly one run, and segments cover their bodies.
void expect_partition(const Project& project) {
  for (const auto& file : project.files) {
    int next = 1;
    for (const LineStage& run : file->line_stages) {
      EXPECT_EQ(run.lines.first, next);
      EXPECT_GE(run.lines.last, run.lines.first);
      next = run.lines.last + 1;
    }
    EXPECT_EQ(next, file->text.line_count() + 1) << file->path;
  }
  for (const Function& function : project.functions) {
    ASSERT_FALSE(function.segments.empty()) << function.qualified;
    int next = function.body_lines.first;
    for (const Segment& segment : function.segments) {
      EXPECT_EQ(segment.lines.first, next) << function.qualified;
      EXPECT_GE(segment.lines.last, segment.lines.first) << function.qualified;
      next = segment.lines.last + 1;
    }
    EXPECT_EQ(next, function.body_lines.last + 1) << function.qualified;
  }
}

TEST(Facts, AKernelIsTakenApart) {
  const auto project = Tree().add("k.cu", kKernel).explore();
  expect_partition(*project);
  ASSERT_EQ(project->roles.size(), 2U);
  EXPECT_EQ(project->roles[0].condition, "warp_id < 4");
  EXPECT_EQ(project->roles[0].axis, "warp");
  EXPECT_EQ(project->roles[1].condition, "!(warp_id < 4)");
  EXPECT_EQ(project->roles[1].name, "wait");
  ASSERT_EQ(project->forks.size(), 1U);
  EXPECT_EQ(project->forks[0].join, "barrier");
  EXPECT_EQ(project->forks[0].join_line, 24);
  const Function* const send = find_function(*project, "send");
  std::vector<Mechanism> kinds;
  for (const Segment& segment : send->segments) {
    kinds.push_back(segment.mechanism);
  }
  EXPECT_EQ(kinds,
            (std::vector<Mechanism>{Mechanism::kScan, Mechanism::kCopy, Mechanism::kFlagWrite}));
  const auto pair = std::find_if(project->sync.begin(), project->sync.end(),
                                 [](const SyncPair& sync) { return sync.key == "flag_address"; });
  ASSERT_NE(pair, project->sync.end());
  EXPECT_EQ(pair->publishers.size(), 1U);
  EXPECT_EQ(pair->waiters.size(), 1U);
  EXPECT_EQ(pair->edge_class, EdgeClass::kExact);
  EXPECT_TRUE(has_mark(*project, "commented-out/barrier", 25));
  EXPECT_FALSE(has_mark(*project, "publisher-without-waiter", 9));
  ASSERT_EQ(project->transfers.size(), 1U);
  EXPECT_EQ(project->transfers[0].target.space, "window");
}

RC_GTEST_PROP(StageProperty, EveryLineIsInOneStageOrNone, ()) {
  const auto parts = *rc::gen::container<std::vector<std::string>>(
      rc::gen::elementOf(std::vector<std::string>{"void f() {\n",
                                                  "if (threadIdx.x < 4) {\n",
                                                  "} else {\n",
                                                  "}\n",
                                                  "g();\n",
                                                  "}}}\n",
                                                  "for (;;) { wait_until(x); }\n",
                                                  "// note\n",
                                                  "#if A\n",
                                                  "#endif\n",
                                                  "\n",
                                                  "int x = 3;\n",
                                                  "__global__ void k() {\n",
                                                  "auto l = [&] { g(); };\n",
                                                  "namespace n {\n",
                                                  "case 1:\n",
                                                  "else\n",
                                                  "do {\n",
                                                  "while (1);\n",
                                                  "return",
                                                  "{"}));
  std::string source;
  for (const std::string& part : parts) {
    source += part;
  }
  const auto project = Tree().add("a.cu", source).explore();
  if (!project->files.empty()) {
    expect_partition(*project);
  }
}

TEST(Marks, EachRuleFindsItsCase) {
  const auto project = Tree()
                           .add("a.cc", R"src(
int constant(int a) { return 4; }
void empty(int a) {}
void voided(int a) { (void)a; }
void missing() { throw std::runtime_error("not implemented"); }
int unread(int used, int unused) { return used; }
int sized(int n) {
  const int row_bytes = n * 4;
  return n + 1;
}
struct Queue { int credits_left_; bool may_send() { return credits_left_ > 0; } };
int layout(RowLayout* rows) { return rows->first; }
void write_v1(int a) { sized(a); }
void write_v2(int a) { sized(a); }
void start(int a) {
  write_v2(unread(a, layout(nullptr)));
  // write_v1(a);
}
#if 0
void gone() { start(1); }
#endif
)src")
                           .explore({.roots = {"start"}});
  const std::vector<std::pair<const char*, int>> expected = {{"placeholder/constant", 2},
                                                             {"placeholder/empty", 3},
                                                             {"placeholder/arguments-voided", 4},
                                                             {"placeholder/not-implemented", 5},
                                                             {"parameter-never-read", 6},
                                                             {"size-without-consumer", 8},
                                                             {"budget-without-writer", 11},
                                                             {"layout-missing", 12},
                                                             {"version-family", 13},
                                                             {"commented-out/call", 17},
                                                             {"unreachable/only-in-comments", 13},
                                                             {"unreachable/compiled-out", 20},
                                                             {"unreachable/never-referenced", 3}};
  for (const auto& [rule, line] : expected) {
    EXPECT_TRUE(has_mark(*project, rule, line)) << rule << " at " << line;
  }
  EXPECT_FALSE(has_mark(*project, "unreachable/never-referenced", 14));
}

TEST(Marks, AFlagWithoutPartnerAndAStoreWithoutReleaseAreSuspects) {
  const auto project = Tree()
                           .add("a.cu", R"cuda(
__global__ void alone(int* window) {
  copy_rows(window, 4);
}
__global__ void released(int* window) {
  copy_rows(window, 4);
  __threadfence_system();
  st_release(window + kTail, 1);
}
__global__ void waits(int* other) {
  while (ld_acquire(other) != 1) {
  }
}
)cuda")
                           .explore();
  EXPECT_TRUE(has_mark(*project, "store-without-release", 3));
  EXPECT_FALSE(has_mark(*project, "store-without-release", 6));
  EXPECT_TRUE(has_mark(*project, "publisher-without-waiter", 8));
  EXPECT_TRUE(has_mark(*project, "waiter-without-publisher", 11));
}

TEST(Memory, RegionsKnowWhoRegistersThemAndWhichKernelGetsThem) {
  const auto project = Tree()
                           .add("a.cu", R"cuda(
__global__ void kernel(float* rows, int n) { rows[n] = 1; }
void run(std::size_t bytes) {
  void* window = nullptr;
  cudaMalloc(&window, bytes * 2);
  register_memory(window, bytes);
  kernel<<<1, 1>>>(static_cast<float*>(window), 3);
}
)cuda")
                           .explore();
  ASSERT_EQ(project->regions.size(), 1U);
  const Region& region = project->regions[0];
  EXPECT_EQ(region.name, "window");
  EXPECT_EQ(region.requested, "bytes * 2");
  EXPECT_EQ(region.registered.size(), 1U);
  ASSERT_EQ(region.kernel_arguments.size(), 1U);
  EXPECT_EQ(region.kernel_arguments[0].parameter, "rows");
}

TEST(Dominators, AreThoseOfTheTextbook) {
  // 0 -> 1 -> {2, 3} -> 4 -> 5, 2 -> 5; 6 is not reached.
  EXPECT_EQ(immediate_dominators({{1}, {2, 3}, {4, 5}, {4}, {5}, {}, {0}}),
            (std::vector<int>{-1, 0, 1, 1, 1, 1, -1}));
}

}  // namespace
}  // namespace crossdock::explore
