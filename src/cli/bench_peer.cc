// SPDX-License-Identifier: Apache-2.0
#include "cli/bench_peer.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <utility>
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
constexpr const char* kPeersBesideProgram = "../libexec/crossdock/peers";

bool needs_mpirun(PeerKind kind) {
  return kind == PeerKind::kMpiAllToAll || kind == PeerKind::kMpiAllGather;
}

std::string program_name(PeerKind kind) {
  switch (kind) {
    case PeerKind::kMpiAllToAll:
    case PeerKind::kMpiAllGather:
      return "crossdock-peer-mpi";
    case PeerKind::kGlooAllToAll:
      return "crossdock-peer-gloo";
    case PeerKind::kOpenMp:
      return "crossdock-peer-openmp";
  }
  return "";
}

/// "" when the peer can be run.
std::string why_absent(const BenchOptions& options, PeerKind kind, const std::string& program) {
  if (options.layout != RowLayout::kExpanded) {
    return "the peer has the expanded layout only";
  }
  if (needs_mpirun(kind) && find_in_path(kMpirun).empty()) {
    return "mpirun is not in PATH";
  }
  if (access(program.c_str(), X_OK) != 0) {
    return fmt::format("{} is not there (built only where its library is found)", program);
  }
  return "";
}

/// A folder that is gone with this object.
class ScratchFolder {
 public:
  static Result<ScratchFolder> make() {
    std::error_code error;
    std::string path = std::filesystem::temp_directory_path(error) / "crossdock-bench-XXXXXX";
    if (error || ::mkdtemp(path.data()) == nullptr) {
      return Status(StatusKind::kIo, Scope::kProcess,
                    fmt::format("cannot make a folder like {}", quote(path)));
    }
    return ScratchFolder(std::move(path));
  }
  ScratchFolder(ScratchFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  ScratchFolder& operator=(ScratchFolder&& other) noexcept {
    std::swap(path_, other.path_);
    return *this;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    if (!path_.empty()) {
      std::filesystem::remove_all(path_, ignored);
    }
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  explicit ScratchFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

std::vector<std::string> mpirun_line(const BenchOptions& options, int algorithm) {
  std::vector<std::string> line = {kMpirun, "-n", fmt::format("{}", options.shape.ranks),
                                   "--oversubscribe", "--allow-run-as-root"};
  // Ranks that outnumber the cores must give them away while they wait, as ours do.
  for (const std::string& setting :
       {std::string("mpi_yield_when_idle 1"), std::string("btl self,vader"),
        std::string("coll_tuned_use_dynamic_rules 1"),
        fmt::format("coll_tuned_alltoallv_algorithm {}", algorithm)}) {
    const std::size_t space = setting.find(' ');
    line.insert(line.end(), {"--mca", setting.substr(0, space), setting.substr(space + 1)});
  }
  return line;
}

void add_shape(const BenchOptions& options, std::vector<std::string>& line) {
  const bench::Shape& shape = options.shape;
  for (const auto& [name, value] : std::vector<std::pair<std::string, std::string>>{
           {"--operation", std::string(to_string(options.operation))},
           {"--tokens", fmt::format("{}", shape.tokens)},
           {"--hidden", fmt::format("{}", shape.hidden)},
           {"--experts", fmt::format("{}", shape.experts)},
           {"--topk", fmt::format("{}", shape.topk)},
           {"--dtype", std::string(to_string(shape.element))},
           {"--seed", fmt::format("{}", shape.seed)},
           {"--routing", shape.routing.text},
           {"--iterations", fmt::format("{}", options.rounds.timed)},
           {"--warmup", fmt::format("{}", options.rounds.warmup)}}) {
    line.insert(line.end(), {name, value});
  }
}

Result<PeerRun> parse_run(const std::string& out, const PeerPlan& plan, int algorithm) {
  const Json document = Json::parse(out, nullptr, false);
  PeerRun run;
  run.kind = plan.kind;
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
                  fmt::format("{} wrote {}; expected: its JSON", plan.program, quote(out)));
  }
  return run;
}

std::vector<PeerKind> wanted_kinds(PeerChoice choice) {
  switch (choice) {
    case PeerChoice::kAuto:
    case PeerChoice::kMpi:
      return {PeerKind::kMpiAllToAll};
    case PeerChoice::kAll:
      return {PeerKind::kMpiAllToAll, PeerKind::kMpiAllGather, PeerKind::kGlooAllToAll,
              PeerKind::kOpenMp};
    case PeerChoice::kNone:
      return {};
  }
  return {};
}

}  // namespace

std::string peer_name(PeerKind kind) {
  switch (kind) {
    case PeerKind::kMpiAllToAll:
      return "mpi_alltoallv";
    case PeerKind::kMpiAllGather:
      return "mpi_allgather";
    case PeerKind::kGlooAllToAll:
      return "gloo_alltoallv";
    case PeerKind::kOpenMp:
      return "openmp_permute";
  }
  return "";
}

std::string peer_title(PeerKind kind) {
  switch (kind) {
    case PeerKind::kMpiAllToAll:
      return "MPI_Alltoallv + permute";
    case PeerKind::kMpiAllGather:
      return "MPI all-gather, reduce-scatter";
    case PeerKind::kGlooAllToAll:
      return "gloo alltoallv + permute";
    case PeerKind::kOpenMp:
      return "OpenMP permute, one process";
  }
  return "";
}

Result<std::vector<PeerPlan>> plan_peers(const BenchOptions& options) {
  CROSSDOCK_ASSIGN_OR_RETURN(const std::string own, own_program());
  const std::filesystem::path beside = std::filesystem::path(own).parent_path();
  std::vector<PeerPlan> plans;
  for (const PeerKind kind : wanted_kinds(options.peer)) {
    const std::string program =
        (beside / kPeersBesideProgram / program_name(kind)).lexically_normal().string();
    plans.push_back({kind, program, why_absent(options, kind, program)});
  }
  if (options.peer == PeerChoice::kMpi && !plans.front().absent_because.empty()) {
    return Status(StatusKind::kInvalidArgument, Scope::kProcess,
                  fmt::format("--peer mpi: {}", plans.front().absent_because));
  }
  return plans;
}

Result<PeerRun> run_peer(const BenchOptions& options, const PeerPlan& plan, int algorithm) {
  CROSSDOCK_ASSIGN_OR_RETURN(const ScratchFolder store, ScratchFolder::make());
  std::vector<std::string> line;
  if (needs_mpirun(plan.kind)) {
    line = mpirun_line(options, algorithm);
    line.insert(line.end(), {plan.program, "--exchange",
                             plan.kind == PeerKind::kMpiAllToAll ? "alltoallv" : "allgather"});
  } else if (plan.kind == PeerKind::kGlooAllToAll) {
    CROSSDOCK_ASSIGN_OR_RETURN(const std::string own, own_program());
    line = {own,        "launch",    "-n", fmt::format("{}", options.shape.ranks),
            "--output", "lines",     "--", plan.program,
            "--store",  store.path()};
  } else {
    line = {plan.program, "--ranks", fmt::format("{}", options.shape.ranks)};
  }
  add_shape(options, line);
  CROSSDOCK_ASSIGN_OR_RETURN(const Captured captured, run_captured(line, settings().timeout * 6));
  if (captured.exit_code > kExitFailedCheck) {
    return Status(
        StatusKind::kIo, Scope::kProcess,
        fmt::format("{} ended with exit code {}", peer_title(plan.kind), captured.exit_code));
  }
  return parse_run(captured.out, plan, algorithm);
}

std::vector<int> peer_algorithms(PeerKind kind) {
  return kind == PeerKind::kMpiAllToAll ? std::vector<int>{0, 1, 2} : std::vector<int>{0};
}

}  // namespace crossdock::cli
