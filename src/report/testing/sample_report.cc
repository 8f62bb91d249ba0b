// SPDX-License-Identifier: Apache-2.0
#include "report/testing/sample_report.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "report/report.h"
#include "trace/recorder.h"
#include "trace/stages.h"

namespace crossdock::report::testing {
namespace {

using trace::Operation;

RouteMap sample_routes(int rank_count, int expert_count) {
  std::mt19937_64 random(5);
  std::gamma_distribution<double> popularity(3.0, 1.0 / 3.0);
  std::vector<double> weight;
  for (int expert = 0; expert < expert_count; ++expert) {
    weight.push_back(popularity(random) + (expert == 41 ? 1.2 : 0.0));
  }
  RouteMap routes;
  routes.rank_count = rank_count;
  for (int expert = 0; expert < expert_count; ++expert) {
    routes.expert_rank.push_back(expert * rank_count / expert_count);
  }
  for (int rank = 0; rank < rank_count; ++rank) {
    for (int expert = 0; expert < expert_count; ++expert) {
      std::poisson_distribution<int> draws(128 * weight[static_cast<std::size_t>(expert)]);
      routes.routes.push_back(static_cast<std::uint64_t>(draws(random)));
    }
  }
  routes.routes[3] = 0;
  return routes;
}

Journey sample_journey() {
  Journey journey{.rank = 1, .token = 17, .round = 6, .steps = {}};
  const auto add = [&](Operation operation, const trace::Stage& stage, const char* what) {
    JourneyStep& step = journey.steps.emplace_back();
    step.operation = operation;
    step.stage = stage.id;
    step.what = what;
    return &step;
  };
  JourneyStep* step = add(Operation::kDispatch, trace::kValidate, "gate chose experts 41 and 12");
  step->rank = 1;
  step->begin_ns = 1'210;
  step->end_ns = 39'480;
  for (int lane = 0; lane < 2; ++lane) {
    step = add(Operation::kDispatch, trace::kPost, "row written into the expert's window");
    step->rank = lane == 0 ? 5 : 1;
    step->lane = lane;
    step->expert = lane == 0 ? 41 : 12;
    step->slot = lane == 0 ? 1'377 : 402;
    step->address = lane == 0 ? 0x562000 : 0x193000;
    step->row_bytes = 4096;
    step->begin_ns = 118'300 + 2'400 * lane;
    step->end_ns = 118'900 + 2'400 * lane;
  }
  step = add(Operation::kDispatch, trace::kArrive, "rows are there for expert 41");
  step->rank = 5;
  step->proof = "tail of epoch 6 from rank 1";
  step->begin_ns = 1'420'000;
  step->end_ns = 1'961'512;
  step = add(Operation::kCombine, trace::kReady, "expert rows may be read");
  step->rank = 5;
  step->proof = "ready flag of epoch 6 from rank 5";
  step->begin_ns = 2'701'000;
  step->end_ns = 2'893'127;
  step = add(Operation::kCombine, trace::kReduce,
             "2 rows read in place, summed in fp32, rounded once");
  step->rank = 1;
  step->row_bytes = 8192;
  step->begin_ns = 2'911'004;
  step->end_ns = 2'913'998;
  step->proof = "equals the reference bit for bit";
  return journey;
}

std::vector<BarGroup> sample_bars() {
  return {
      {.title = "Dispatch, median",
       .unit = "ms",
       .better = Better::kLower,
       .bars = {{"crossdock", 10.6, BarKind::kOurs, Origin::kMeasured, "p99 12.1 ms, tail_fence"},
                {"MPI_Alltoallv + permute", 58.2, BarKind::kPeer, Origin::kMeasured, "p99 63.0 ms"},
                {"gloo all_to_all + permute", 81.9, BarKind::kPeer, Origin::kMeasured,
                 "p99 96.4 ms"},
                {"copy limit", 10.2, BarKind::kLimit, Origin::kMeasured,
                 "best of 4 pre-faulted copy kernels"}}},
      {.title = "Combine, median",
       .unit = "ms",
       .better = Better::kLower,
       .bars = {
           {"crossdock", 12.3, BarKind::kOurs, Origin::kMeasured, "p99 13.9 ms, pull"},
           {"MPI_Alltoallv + reduce", 71.4, BarKind::kPeer, Origin::kMeasured, "p99 80.7 ms"},
           {"read limit", 11.5, BarKind::kLimit, Origin::kMeasured, "all ranks read at once"}}}};
}

}  // namespace

Report sample_report() {
  Report report;
  report.title = "Dispatch and combine on 8 ranks";
  report.summary = "8 ranks, 1,024 tokens of 2,048 bf16 each, 64 experts, top-8, expanded layout.";
  report.provenance = {.command =
                           "crossdock demo -n 8 --tokens 1024 --hidden 2048 --experts 64 --topk 8 "
                           "--rounds 6 --follow 1:17 --report report.html",
                       .host = "AMD EPYC 7763",
                       .core_count = 2,
                       .date = "2026-03-14 09:26 UTC",
                       .version = "0.1.0"};
  report.verdict = Verdict::kVerified;
  report.verdict_text =
      "65,536 received rows and 8,192 combined tokens equal the reference bit for bit, in 6 of 6 "
      "rounds.";
  report.facts = {{"dispatch, median", "1.96 ms", Origin::kMeasured, "p99 2.31 ms over 6 rounds"},
                  {"combine, median", "2.14 ms", Origin::kMeasured, "p99 2.40 ms over 6 rounds"},
                  {"moved per round", "512 MiB", Origin::kMeasured, ""},
                  {"throughput", "12.4 GB/s", Origin::kDerived, "bytes moved / median time"},
                  {"of the copy limit", "0.96", Origin::kDerived, "limit 10.2 ms in the same run"},
                  {"protocol", "tail_fence", Origin::kAssumed, "chosen by name"},
                  {"fabric", "shm, direct", Origin::kMeasured, ""},
                  {"memory per rank", "68.2 MiB", Origin::kDerived, "reserved after alignment"}};
  report.routes = sample_routes(8, 64);
  report.traces = sample_traces(8, 6);
  report.journey = sample_journey();
  report.bars = sample_bars();
  report.plots = {{.title = "Dispatch + combine over tokens, 8 ranks",
                   .x = "tokens per rank",
                   .unit = "us",
                   .lines = {{.name = "crossdock",
                              .kind = BarKind::kOurs,
                              .origin = Origin::kMeasured,
                              .points = {{1, 540}, {8, 610}, {128, 2300}, {1024, 21000}}},
                             {.name = "limit",
                              .kind = BarKind::kLimit,
                              .origin = Origin::kMeasured,
                              .points = {{1, 21}, {8, 95}, {128, 1700}, {1024, 18500}}},
                             {.name = "MPI_Alltoallv + permute",
                              .kind = BarKind::kPeer,
                              .origin = Origin::kMeasured,
                              .points = {{1, 900}, {8, 2100}, {128, 14000}, {1024, 130000}}}}}};
  return report;
}

}  // namespace crossdock::report::testing
