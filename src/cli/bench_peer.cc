// SPDX-License-Identifier: Apache-2.0
#include "cli/bench_peer.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/parse.h"
#include "base/settings.h"
#include "base/status_macros.h"
#include "cli/bench_options.h"
#include "cli/console.h"
#include "cli/exit_code.h"
#include "cli/launch.h"
#include "cli/subprocess.h"
#include "crossdock/status.h"
#include "crossdock/types.h"

namespace crossdock::cli {
namespace {

constexpr const char* kMpirun = "mpirun";
constexpr const char* kPeerBesideProgram = "../libexec/crossdock/peers/crossdock-peer-mpi";

/// "" when the peer can be run.
std::string why_absent(const BenchOptions& options, const std::string& program) {
  if (options.layout != RowLayout::kExpanded) {
    return "the peer has the expanded layout only";
  }
  if (find_in_path(kMpirun).empty()) {
    return "mpirun is not in PATH";
  }
  if (access(program.c_str(), X_OK) != 0) {
    return fmt::format("{} is not there (built only where MPI is found)", program);
  }
  return "";
}

std::vector<std::string> mpirun_line(const BenchOptions& options, const PeerPlan& plan,
                                     int algorithm) {
  const bench::Shape& shape = options.shape;
  std::vector<std::string> line = {kMpirun, "-n", fmt::format("{}", shape.ranks), "--oversubscribe",
                                   "--allow-run-as-root"};
  // Ranks that outnumber the cores must give them away while they wait, as ours do.
  for (const std::string& setting :
       {std::string("mpi_yield_when_idle 1"), std::string("btl self,vader"),
        std::string("coll_tuned_use_dynamic_rules 1"),
        fmt::format("coll_tuned_alltoallv_algorithm {}", algorithm)}) {
    const std::size_t space = setting.find(' ');
    line.insert(line.end(), {"--mca", setting.substr(0, space), setting.substr(space + 1)});
  }
  line.insert(
      line.end(),
      {plan.program, "--operation", std::string(to_string(options.operation)), "--tokens",
       fmt::format("{}", shape.tokens), "--hidden", fmt::format("{}", shape.hidden), "--experts",
       fmt::format("{}", shape.experts), "--topk", fmt::format("{}", shape.topk), "--dtype",
       std::string(to_string(shape.element)), "--seed", fmt::format("{}", shape.seed),
       "--iterations", fmt::format("{}", options.rounds.timed), "--warmup",
       fmt::format("{}", options.rounds.warmup)});
  return line;
}

Result<PeerRun> parse_run(const std::string& out, int algorithm) {
  const Json document = Json::parse(out, nullptr, false);
  PeerRun run;
  run.algorithm = algorithm;
  try {
    run.verified = document.at("verified").get<bool>();
    for (const Json& round : document.at("rounds")) {
      const auto start_ns = round.at("start_ns").get<std::int64_t>();
      run.times_us.push_back(
          static_cast<double>(round.at("end_ns").get<std::int64_t>() - start_ns) / 1e3);
      run.counts_us.push_back(round.at("counts_us").get<double>());
      run.permute_us.push_back(round.at("permute_us").get<double>());
      run.exchange_us.push_back(round.at("exchange_us").get<double>());
    }
  } catch (const Json::exception&) {
    return Status(StatusKind::kIo, Scope::kProcess,
                  fmt::format("the MPI peer wrote {}; expected: its JSON", quote(out)));
  }
  return run;
}

}  // namespace

Result<PeerPlan> plan_peer(const BenchOptions& options) {
  if (options.peer == PeerChoice::kNone) {
    return PeerPlan{.program = "", .absent_because = "--peer none"};
  }
  CROSSDOCK_ASSIGN_OR_RETURN(const std::string own, own_program());
  const std::filesystem::path beside = std::filesystem::path(own).parent_path();
  PeerPlan plan{.program = (beside / kPeerBesideProgram).lexically_normal().string(),
                .absent_because = ""};
  plan.absent_because = why_absent(options, plan.program);
  if (!plan.absent_because.empty() && options.peer == PeerChoice::kMpi) {
    return Status(StatusKind::kInvalidArgument, Scope::kProcess,
                  fmt::format("--peer mpi: {}", plan.absent_because));
  }
  return plan;
}

Result<PeerRun> run_peer(const BenchOptions& options, const PeerPlan& plan, int algorithm) {
  CROSSDOCK_ASSIGN_OR_RETURN(
      const Captured captured,
      run_captured(mpirun_line(options, plan, algorithm), settings().timeout * 6));
  if (captured.exit_code > kExitFailedCheck) {
    return Status(StatusKind::kIo, Scope::kProcess,
                  fmt::format("mpirun ended with exit code {}", captured.exit_code));
  }
  return parse_run(captured.out, algorithm);
}

std::vector<int> peer_algorithms() { return {0, 1, 2}; }

}  // namespace crossdock::cli
