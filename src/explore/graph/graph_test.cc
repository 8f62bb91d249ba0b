// SPDX-License-Identifier: Apache-2.0
// Calls and how sure they are, roots and reachability, the way from Python to a kernel.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "explore/testing/tree.h"

namespace crossdock::explore {
namespace {

EdgeClass class_of(const Project& project, std::string_view from, std::string_view to) {
  const Edge* const edge = find_edge(project, from, to);
  EXPECT_NE(edge, nullptr) << from << " -> " << to;
  return edge == nullptr ? EdgeClass::kTextual : edge->edge_class;
}

TEST(Resolve, CertaintyFollowsFromScopeReceiverAndArguments) {
  const auto project = Tree()
                           .add("a.cc", R"src(
namespace n {
int once(int a) { return a; }
int twice(int a) { return a; }
int twice(long a) { return 2; }
struct Known { int run(int a) { return a; } };
int caller(Known& known, Unknown& unknown) {
  once(1);
  once(1, 2);
  twice(3);
  known.run(4);
  unknown.run(5);
  std::once(6);
  return 0;
}
}  // namespace n
)src")
                           .explore();
  const Edge* sure = nullptr;
  const Edge* unsure = nullptr;
  for (const Edge& edge : project->edges) {
    if (project->function(edge.to).name == "once") {
      (edge.edge_class == EdgeClass::kExact ? sure : unsure) = &edge;
    }
  }
  ASSERT_TRUE(sure != nullptr && unsure != nullptr);
  EXPECT_EQ(sure->sites, (std::vector<Site>{{8, 2, 4}}));
  EXPECT_EQ(unsure->sites, (std::vector<Site>{{9, 2, 4}}));  // Too many arguments.
  EXPECT_EQ(class_of(*project, "n::caller", "n::twice"), EdgeClass::kAmbiguous);
  EXPECT_EQ(class_of(*project, "n::caller", "n::Known::run"), EdgeClass::kExact);
  EXPECT_EQ(project->external_calls.size(), 2U);  // unknown.run: its type is not in the tree.
}

TEST(Resolve, TemplateArgumentsTablesMacrosAndLambdasAreEdges) {
  const auto project = Tree()
                           .add("a.cc", R"src(
void vector_add(int* p) { p[0] = 1; }
void first(int a) { a++; }
void second(int a) { a++; }
void (*kTable[])(int) = {first, second};
#define TWICE(x) helper(x); helper(x)
void helper(int a) { a++; }
void caller(int* p) {
  VF_CALL<vector_add>(p);
  kTable[1](3);
  TWICE(4);
  auto lambda = [&](int a) { helper(a); };
  lambda(5);
}
)src")
                           .explore();
  EXPECT_EQ(find_edge(*project, "caller", "vector_add")->form, EdgeForm::kTemplateCall);
  EXPECT_EQ(find_edge(*project, "caller", "second")->form, EdgeForm::kTable);
  EXPECT_EQ(find_edge(*project, "caller", "helper")->form, EdgeForm::kMacroCall);
  EXPECT_EQ(find_edge(*project, "caller", "caller::<lambda@1>")->form, EdgeForm::kLambda);
  EXPECT_EQ(class_of(*project, "caller::<lambda@1>", "helper"), EdgeClass::kExact);
}

TEST(Resolve, AVariableOrAComparisonIsNoCall) {
  const auto project = Tree()
                           .add("a.cc", R"src(
int size(int a) { return a; }
int caller(int size, int b) {
  std::vector<int> values(size);
  return size < b && b > (3) ? size : 0;
}
)src")
                           .explore();
  EXPECT_EQ(find_edge(*project, "caller", "size"), nullptr);
}

constexpr const char* kPython = R"py(import pkg._C as _C

class Buffer:
    def __init__(self, rank):
        self.runtime = _C.Runtime(rank)

    def dispatch(self, x):
        return self.runtime.dispatch(x)

    def unbound(self, x):
        return self.runtime.nothing(x)
)py";
constexpr const char* kNative = R"src(
__global__ void dispatch_kernel(int* x) { x[0] = 1; }
void launch_dispatch(int* x) { dispatch_kernel<<<1, 32>>>(x); }
struct Runtime {
  Runtime(int rank) : rank_(rank) {}
  int dispatch(int* x) { launch_dispatch(x); return rank_; }
  int rank_;
};
PYBIND11_MODULE(_C, m) {
  py::class_<Runtime>(m, "Runtime").def(py::init<int>()).def("dispatch", &Runtime::dispatch);
}
)src";

TEST(Paths, LeadFromPythonThroughTheBindingToTheKernel) {
  const auto project = Tree()
                           .add("pkg/__init__.py", "")
                           .add("pkg/buffer.py", kPython)
                           .add("csrc/api.cu", kNative)
                           .explore();
  const Edge* const binding =
      find_edge(*project, "pkg.buffer.Buffer.dispatch", "Runtime::dispatch");
  ASSERT_NE(binding, nullptr);
  EXPECT_EQ(binding->form, EdgeForm::kBinding);
  EXPECT_EQ(binding->edge_class, EdgeClass::kNameOnly);  // An attribute may hold another object.
  std::vector<std::string> names;
  for (const Path& path : project->paths) {
    const int root = project->roots[static_cast<std::size_t>(path.root)].function;
    if (project->function(root).qualified == "pkg.buffer.Buffer.dispatch") {
      for (const int function : path.functions) {
        names.push_back(project->function(function).qualified);
      }
    }
  }
  EXPECT_EQ(names, (std::vector<std::string>{"pkg.buffer.Buffer.dispatch", "Runtime::dispatch",
                                             "launch_dispatch", "dispatch_kernel"}));
}

TEST(Reach, DeclaredRootsDecideAndAMissingOneIsRefused) {
  Tree tree;
  tree.add("a.cc", "void used() {}\nvoid unused() {}\nvoid start() { used(); }\n");
  const auto project = tree.explore({.roots = {"start"}});
  EXPECT_EQ(find_function(*project, "used")->reach, Reach::kReachable);
  EXPECT_EQ(find_function(*project, "unused")->reach, Reach::kUnreachable);
  ExploreOptions options;
  options.paths = {tree.folder().string()};
  options.roots = {"strt"};
  const auto refused = explore(options);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.status().message().find("did you mean start?"), std::string_view::npos);
}

}  // namespace
}  // namespace crossdock::explore
