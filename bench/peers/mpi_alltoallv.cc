// SPDX-License-Identifier: Apache-2.0
// Expanded dispatch and combine as MPI users write them: counts by MPI_Alltoall, rows permuted into
// destination order (one copy per route), MPI_Alltoallv, and a permute from source-major to
// expert-major order; combine is the way back with a sum in fp32. Measured like the library's own
// rounds: isolated, from the first rank's start to the last rank's end on CLOCK_MONOTONIC, rows
// fresh every round and compared bit by bit outside the timed part.
//
//   mpirun -n 8 crossdock-peer-mpi --operation dispatch --tokens 1024 --hidden 2048 --experts 64
//       --topk 8 --dtype bf16 --seed 1 --iterations 20 --warmup 3
// prints one JSON object on rank 0; exit code 0, 1 (a row differs) or 2 (usage).
#include <fmt/format.h>
#include <mpi.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/parse.h"
#include "base/status_macros.h"
#include "bench/peers/mpi_exchange.h"
#include "cli/bench/placement.h"
#include "cli/bench/verify_rows.h"
#include "cli/bench/workload.h"
#include "crossdock/status.h"
#include "crossdock/types.h"

namespace crossdock::bench {
namespace {

struct PeerOptions {
  std::string operation = "dispatch";
  Shape shape;
  int iterations = 20;
  int warmup = 3;
};

Status set_option(std::string_view name, std::string_view text, PeerOptions& options) {
  if (name == "--operation" || name == "--dtype") {
    const bool is_operation = name == "--operation";
    const std::vector<std::string_view> allowed =
        is_operation ? std::vector<std::string_view>{"dispatch", "combine", "roundtrip"}
                     : std::vector<std::string_view>{"bf16", "fp32", "bytes"};
    CROSSDOCK_ASSIGN_OR_RETURN(const std::size_t index, parse_choice(text, allowed));
    if (is_operation) {
      options.operation = allowed[index];
    } else {
      options.shape.element = static_cast<ElementType>(index);
    }
    return {};
  }
  CROSSDOCK_ASSIGN_OR_RETURN(const std::int64_t value, parse_int64(text, {0, 1LL << 40}));
  if (name == "--tokens") {
    options.shape.tokens = value;
  } else if (name == "--hidden") {
    options.shape.hidden = value;
  } else if (name == "--experts") {
    options.shape.experts = static_cast<int>(value);
  } else if (name == "--topk") {
    options.shape.topk = static_cast<int>(value);
  } else if (name == "--seed") {
    options.shape.seed = static_cast<std::uint64_t>(value);
  } else if (name == "--iterations") {
    options.iterations = static_cast<int>(value);
  } else if (name == "--warmup") {
    options.warmup = static_cast<int>(value);
  } else {
    return {StatusKind::kInvalidArgument, Scope::kProcess,
            fmt::format("unknown option {}", quote(name))};
  }
  return {};
}

Result<PeerOptions> parse_options(const std::vector<std::string_view>& arguments) {
  PeerOptions options;
  for (std::size_t index = 0; index < arguments.size(); index += 2) {
    if (index + 1 == arguments.size()) {
      return Status(StatusKind::kInvalidArgument, Scope::kProcess,
                    fmt::format("{} needs a value", quote(arguments[index])));
    }
    CROSSDOCK_RETURN_IF_ERROR(set_option(arguments[index], arguments[index + 1], options));
  }
  return options;
}

/// Start and end of one rank's round, and how much of it each part took.
struct PeerSample {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t counts_ns = 0;
  std::int64_t permute_ns = 0;
  std::int64_t exchange_ns = 0;
};

class PeerBench {
 public:
  PeerBench(const PeerOptions& options, int rank)
      : options_(options),
        rank_(rank),
        placement_(options.shape, RowLayout::kExpanded),
        exchange_(options.shape, rank),
        tokens_(static_cast<std::size_t>(options.shape.tokens) * options.shape.row_bytes()),
        combined_(tokens_.size()) {}

  void run() {
    for (int iteration = 0; iteration < options_.warmup + options_.iterations; ++iteration) {
      const PeerSample sample = run_round(static_cast<std::uint64_t>(iteration) + 1);
      if (iteration >= options_.warmup) {
        samples_.push_back(sample);
      }
    }
  }

  /// Collective; true when every rank's every row was right. Rank 0 prints.
  bool report() {
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int byte_count = static_cast<int>(samples_.size() * sizeof(PeerSample));
    std::vector<PeerSample> all(samples_.size() * static_cast<std::size_t>(size));
    MPI_Gather(samples_.data(), byte_count, MPI_BYTE, all.data(), byte_count, MPI_BYTE, 0,
               MPI_COMM_WORLD);
    const std::uint64_t mine[2] = {verdict_.checked, verdict_.wrong};
    std::uint64_t sum[2] = {0, 0};
    MPI_Allreduce(mine, sum, 2, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    const bool verified = sum[0] > 0 && sum[1] == 0;
    if (rank_ == 0) {
      std::string rounds;
      for (std::size_t round = 0; round < samples_.size(); ++round) {
        rounds += (round == 0 ? "" : ",") + round_json(all, round, static_cast<std::size_t>(size));
      }
      fmt::print(R"({{"peer":"mpi_alltoallv","operation":"{}","ranks":{},"rows_checked":{},)"
                 R"("verified":{},"rounds":[{}]}})"
                 "\n",
                 options_.operation, size, sum[0], verified, rounds);
    }
    return verified;
  }

 private:
  PeerSample run_round(std::uint64_t round) {
    const Shape& shape = options_.shape;
    const RankRound part{.shape = shape, .placement = placement_, .round = round, .rank = rank_};
    const Clock& clock = monotonic_clock();
    const bool dispatches = options_.operation != "combine";
    const bool combines = options_.operation != "dispatch";
    if (dispatches) {
      fill_tokens(shape, round, rank_, tokens_);
    } else {
      exchange_.dispatch(placement_.routes(rank_), tokens_.data());  // Only for its counts.
      fill_outputs(part, exchange_.rows());
    }
    exchange_.reset_times();
    MPI_Barrier(MPI_COMM_WORLD);
    PeerSample sample;
    sample.start_ns = clock.now().ns;
    if (dispatches) {
      exchange_.dispatch(placement_.routes(rank_), tokens_.data());
    }
    if (combines) {
      exchange_.combine(placement_.routes(rank_), combined_.data());
    }
    sample.end_ns = clock.now().ns;
    sample.counts_ns = exchange_.times().counts.count();
    sample.permute_ns = exchange_.times().permute.count();
    sample.exchange_ns = exchange_.times().exchange.count();
    MPI_Barrier(MPI_COMM_WORLD);
    if (dispatches) {
      verdict_ += verify_received(part, exchange_.rows());
    }
    if (combines) {
      const RowContent content = dispatches ? RowContent::kToken : RowContent::kExpertOutput;
      verdict_ += verify_combined(part, content, combined_.data());
    }
    return sample;
  }

  /// The parts are means over the ranks.
  std::string round_json(const std::vector<PeerSample>& all, std::size_t round, std::size_t size) {
    PeerSample whole = all[round];
    whole.counts_ns = whole.permute_ns = whole.exchange_ns = 0;
    for (std::size_t rank = 0; rank < size; ++rank) {
      const PeerSample& sample = all[rank * samples_.size() + round];
      whole.start_ns = std::min(whole.start_ns, sample.start_ns);
      whole.end_ns = std::max(whole.end_ns, sample.end_ns);
      whole.counts_ns += sample.counts_ns;
      whole.permute_ns += sample.permute_ns;
      whole.exchange_ns += sample.exchange_ns;
    }
    const double per_rank = 1e3 * static_cast<double>(size);
    return fmt::format(
        R"({{"start_ns":{},"end_ns":{},"counts_us":{:.3f},"permute_us":{:.3f},"exchange_us":{:.3f}}})",
        whole.start_ns, whole.end_ns, static_cast<double>(whole.counts_ns) / per_rank,
        static_cast<double>(whole.permute_ns) / per_rank,
        static_cast<double>(whole.exchange_ns) / per_rank);
  }

  PeerOptions options_;
  int rank_;
  Placement placement_;
  MpiExchange exchange_;
  std::vector<std::byte> tokens_;
  std::vector<std::byte> combined_;
  std::vector<PeerSample> samples_;
  Verdict verdict_;
};

int run_peer(const std::vector<std::string_view>& arguments) {
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  Result<PeerOptions> options = parse_options(arguments);
  Status status = options.status();
  if (status.ok() && (options->shape.experts < size || options->shape.topk < 1 ||
                      options->shape.topk > options->shape.experts || options->shape.hidden < 1)) {
    status = Status(StatusKind::kInvalidArgument, Scope::kProcess,
                    "needs 1 <= topk <= experts, experts >= ranks and hidden >= 1");
  }
  if (status.ok() && options->operation != "dispatch" &&
      options->shape.element == ElementType::kBytes) {
    status = Status(StatusKind::kInvalidArgument, Scope::kProcess, "bytes cannot be summed");
  }
  if (!status.ok()) {
    if (rank == 0) {
      fmt::print(stderr, "crossdock-peer-mpi: {}\n", status.message());
    }
    return 2;
  }
  options->shape.ranks = size;
  PeerBench bench(*options, rank);
  bench.run();
  return bench.report() ? 0 : 1;
}

}  // namespace
}  // namespace crossdock::bench

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int code = crossdock::bench::run_peer({argv + 1, argv + argc});
  MPI_Finalize();
  return code;
}
