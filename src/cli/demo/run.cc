// SPDX-License-Identifier: Apache-2.0
#include "cli/demo/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/npy.h"
#include "base/status_macros.h"
#include "cli/bench/arena.h"
#include "cli/console.h"
#include "cli/demo/dense.h"
#include "cli/demo/facts.h"
#include "cli/demo/local_experts.h"
#include "cli/demo/options.h"
#include "cli/demo/reference.h"
#include "cli/demo/workload.h"
#include "cli/shared_arena.h"
#include "crossdock/communicator.h"
#include "crossdock/elastic_buffer.h"
#include "crossdock/status.h"
#include "crossdock/types.h"
#include "ep/access.h"
#include "trace/recorder.h"
#include "trace/serialise.h"
#include "trace/stages.h"

namespace crossdock::demo {
namespace {

/// Every rank combines straight into memory that rank 0 can read: [rank][round][token][H].
class Results {
 public:
  static Result<Results> open(const DemoOptions& options, const Workload& workload,
                              Communicator& communicator) {
    const std::uint64_t row_bytes =
        static_cast<std::uint64_t>(workload.hidden()) * element_bytes(workload.element());
    const std::uint64_t round_bytes =
        static_cast<std::uint64_t>(workload.max_tokens_per_rank()) * row_bytes;
    CROSSDOCK_ASSIGN_OR_RETURN(
        bench::Arena arena,
        cli::open_shared_arena(
            communicator,
            {.ranks = communicator.size(),
             .window_bytes = round_bytes * static_cast<std::uint64_t>(options.rounds)}));
    return Results(std::move(arena), round_bytes, row_bytes);
  }
  [[nodiscard]] std::byte* of(int rank, int round) const {
    return arena_.window(rank) + static_cast<std::uint64_t>(round) * round_bytes_;
  }
  [[nodiscard]] std::uint64_t row_bytes() const { return row_bytes_; }

 private:
  Results(bench::Arena arena, std::uint64_t round_bytes, std::uint64_t row_bytes)
      : arena_(std::move(arena)), round_bytes_(round_bytes), row_bytes_(row_bytes) {}

  bench::Arena arena_;
  std::uint64_t round_bytes_;
  std::uint64_t row_bytes_;
};

CallTime since(Instant begin) { return {begin.ns, monotonic_clock().now().ns}; }

DispatchInput to_library(const RankInput& input) {
  DispatchInput same;
  same.tokens = input.tokens.data();
  same.token_count = input.token_count;
  same.topk_ids = TopkIds(input.topk_ids);
  same.topk_weights = input.topk_weights;
  return same;
}

/// One rank's rounds.
class RankDemo {
 public:
  RankDemo(const DemoOptions& options, Workload& workload, Communicator& communicator,
           const Results& results)
      : options_(options), workload_(workload), communicator_(communicator), results_(results) {}

  Status run() {
    CROSSDOCK_ASSIGN_OR_RETURN(
        ElasticBuffer buffer,
        ElasticBuffer::open(communicator_, buffer_options(options_, workload_)));
    trace::Recorder& recorder = detail::recorder(buffer);
    recorder.enable(kSpansPerRound * static_cast<std::size_t>(options_.rounds));
    facts_.rank = communicator_.rank();
    facts_.token_count = workload_.tokens_of(facts_.rank);
    facts_.first_expert = buffer.first_local_expert();
    facts_.reserved_bytes = buffer.memory().reserved_bytes;
    cli::Progress progress("demo");
    for (int round = 0; round < options_.rounds; ++round) {
      if (facts_.rank == 0) {
        progress.tell(fmt::format("round {} of {}", round + 1, options_.rounds));
      }
      CROSSDOCK_RETURN_IF_ERROR(run_round(round, buffer, recorder));
    }
    trace_ = recorder.trace();
    return communicator_.barrier();  // Nobody closes while a peer still reads.
  }

  [[nodiscard]] const RankFacts& facts() const { return facts_; }
  [[nodiscard]] const trace::RankTrace& trace() const { return trace_; }

 private:
  static constexpr std::size_t kSpansPerRound = 64;

  Status run_round(int round, ElasticBuffer& buffer, trace::Recorder& recorder) {
    const RankInput input = workload_.input(static_cast<std::uint64_t>(round), facts_.rank);
    DispatchOptions how;
    how.layout = options_.layout;
    how.mode = options_.mode;
    const Clock& clock = monotonic_clock();
    RoundFacts facts;
    CROSSDOCK_RETURN_IF_ERROR(communicator_.barrier());
    const Instant dispatch_begin = clock.now();
    CROSSDOCK_ASSIGN_OR_RETURN(Dispatched dispatched, buffer.dispatch(to_library(input), how));
    facts.dispatch = since(dispatch_begin);
    facts.round = dispatched.handle.round();
    facts.row_count = dispatched.row_count;
    facts.rows_per_expert.assign(dispatched.rows_per_expert.begin(),
                                 dispatched.rows_per_expert.end());
    const Instant experts_begin = clock.now();
    apply_local_experts(workload_, dispatched, facts_.first_expert);
    facts.experts = since(experts_begin);
    recorder.add_span(trace::kCompute, trace::Operation::kNone, facts.round, experts_begin,
                      Instant{facts.experts.end_ns});
    CROSSDOCK_RETURN_IF_ERROR(communicator_.barrier());
    const Instant combine_begin = clock.now();
    CROSSDOCK_RETURN_IF_ERROR(
        buffer.combine({.rows = dispatched.outputs, .row_count = dispatched.row_count},
                       dispatched.handle, results_.of(facts_.rank, round)));
    facts.combine = since(combine_begin);
    if (round == 0) {
      describe_first_round(input, dispatched);
    }
    facts_.rounds.push_back(std::move(facts));
    return {};
  }

  void describe_first_round(const RankInput& input, const Dispatched& dispatched) {
    facts_.mode = to_string(dispatched.handle.mode());
    facts_.protocol = dispatched.handle.protocol();
    facts_.schedule = dispatched.handle.schedule();
    facts_.rows_address = reinterpret_cast<std::uintptr_t>(dispatched.rows);
    facts_.routes_to_expert.assign(static_cast<std::size_t>(workload_.experts()), 0);
    for (const std::int32_t expert : input.topk_ids) {
      if (expert >= 0) {
        ++facts_.routes_to_expert[static_cast<std::size_t>(expert)];
      }
    }
    if (options_.follow && options_.follow->rank == facts_.rank) {
      const std::int64_t token = options_.follow->token;
      const auto topk = static_cast<std::ptrdiff_t>(workload_.topk());
      const auto first = static_cast<std::ptrdiff_t>(token) * topk;
      facts_.followed = FollowedToken{
          .rank = facts_.rank,
          .token = token,
          .origin = workload_.describe_token(0, facts_.rank, token),
          .topk_ids = {input.topk_ids.begin() + first, input.topk_ids.begin() + first + topk},
          .topk_weights = {input.topk_weights.begin() + first,
                           input.topk_weights.begin() + first + topk},
          .routes = dispatched.handle.routes(token)};
    }
  }

  const DemoOptions& options_;
  Workload& workload_;
  Communicator& communicator_;
  const Results& results_;
  RankFacts facts_;
  trace::RankTrace trace_;
};

/// Collective: what the ranks saw, on rank 0.
Result<std::optional<DemoFacts>> gather(Communicator& communicator, const RankDemo& mine) {
  const std::string text = to_json(mine.facts()).dump();
  CROSSDOCK_ASSIGN_OR_RETURN(const auto texts,
                             communicator.all_gather(std::as_bytes(std::span(text))));
  const std::vector<std::byte> bytes = trace::serialise(mine.trace());
  CROSSDOCK_ASSIGN_OR_RETURN(const auto traces, communicator.all_gather(bytes));
  if (communicator.rank() != 0) {
    return std::optional<DemoFacts>();
  }
  DemoFacts facts;
  for (std::size_t rank = 0; rank < texts.size(); ++rank) {
    const std::string json(reinterpret_cast<const char*>(texts[rank].data()), texts[rank].size());
    CROSSDOCK_ASSIGN_OR_RETURN(RankFacts rank_facts, rank_facts_from_json(json));
    CROSSDOCK_ASSIGN_OR_RETURN(trace::RankTrace trace, trace::parse_rank_trace(traces[rank]));
    facts.ranks.push_back(std::move(rank_facts));
    facts.traces.push_back(std::move(trace));
  }
  return std::optional<DemoFacts>(std::move(facts));
}

/// The first element that differs, or nothing.
std::optional<std::size_t> first_difference(const std::byte* got, const std::byte* expected,
                                            std::size_t byte_count, std::size_t element_size) {
  const auto* const end = expected + byte_count;
  const auto place = std::mismatch(expected, end, got).first;
  if (place == end) {
    return std::nullopt;
  }
  return static_cast<std::size_t>(place - expected) / element_size;
}

Verdict compare_all(const DemoOptions& options, Workload& workload, const Results& results) {
  Verdict verdict;
  cli::Progress progress("demo");
  const std::size_t row_bytes = results.row_bytes();
  for (int round = 0; round < options.rounds; ++round) {
    for (int rank = 0; rank < options.ranks; ++rank) {
      progress.tell(fmt::format("computing the reference: round {} of {}, rank {} of {}", round + 1,
                                options.rounds, rank + 1, options.ranks));
      const std::vector<std::byte> expected = reference_tokens(
          workload, static_cast<std::uint64_t>(round), rank, options.ranks, options.layout);
      const std::byte* const got = results.of(rank, round);
      for (std::size_t at = 0; at < expected.size(); at += row_bytes) {
        ++verdict.tokens_compared;
        verdict.bits_compared += row_bytes * 8;
        const auto element = first_difference(got + at, expected.data() + at, row_bytes,
                                              element_bytes(workload.element()));
        if (element && verdict.tokens_wrong++ == 0) {
          verdict.first_wrong = fmt::format("round {}, rank {}, token {}, element {}", round, rank,
                                            at / row_bytes, *element);
        }
      }
    }
  }
  return verdict;
}

/// Combined tokens of the last round of all ranks, in the order of the recording.
Status write_out(const DemoOptions& options, const Workload& workload, const Results& results) {
  std::vector<std::byte> tokens;
  for (int rank = 0; rank < options.ranks; ++rank) {
    const std::byte* const begin = results.of(rank, options.rounds - 1);
    const auto count = static_cast<std::size_t>(workload.tokens_of(rank)) * results.row_bytes();
    tokens.insert(tokens.end(), begin, begin + count);
  }
  const std::array<std::uint64_t, 2> shape = {tokens.size() / results.row_bytes(),
                                              static_cast<std::uint64_t>(workload.hidden())};
  const NpyType type = workload.element() == ElementType::kBf16 ? NpyType::kU2 : NpyType::kF4;
  return save_npy(options.out, type, shape, tokens);
}

Result<std::optional<DemoFacts>> run_and_check(const DemoOptions& options, Workload& workload,
                                               Communicator& communicator) {
  CROSSDOCK_ASSIGN_OR_RETURN(const Results results, Results::open(options, workload, communicator));
  RankDemo mine(options, workload, communicator, results);
  CROSSDOCK_RETURN_IF_ERROR(mine.run());
  CROSSDOCK_ASSIGN_OR_RETURN(std::optional<DemoFacts> facts, gather(communicator, mine));
  if (!facts) {
    return facts;
  }
  facts->workload = workload.describe();
  facts->verdict = compare_all(options, workload, results);
  if (options.follow) {
    facts->followed_row.resize(static_cast<std::size_t>(workload.hidden()));
    widen(workload.element(),
          results.of(options.follow->rank, 0) +
              static_cast<std::uint64_t>(options.follow->token) * results.row_bytes(),
          facts->followed_row);
  }
  if (!options.out.empty()) {
    CROSSDOCK_RETURN_IF_ERROR(write_out(options, workload, results));
  }
  return facts;
}

}  // namespace

Result<std::unique_ptr<Workload>> make_workload(const DemoOptions& options) {
  return options.recorded ? make_recorded_workload(*options.recorded)
                          : make_text_workload(options.text);
}

BufferOptions buffer_options(const DemoOptions& options, const Workload& workload) {
  BufferOptions buffer;
  buffer.max_tokens_per_rank = workload.max_tokens_per_rank();
  buffer.hidden = workload.hidden();
  buffer.topk = workload.topk();
  buffer.experts = workload.experts();
  buffer.element = workload.element();
  if (options.mode == Mode::kLatency) {
    buffer.latency_tokens = workload.max_tokens_per_rank();
  }
  buffer.protocol = options.protocol;
  buffer.schedule = options.schedule;
  return buffer;
}

Result<std::optional<DemoFacts>> run_demo(const DemoOptions& options, Workload& workload,
                                          Communicator& communicator) {
  Result<std::optional<DemoFacts>> facts = run_and_check(options, workload, communicator);
  if (!facts.ok()) {
    communicator.abort(facts.status().message());
  }
  return facts;
}

}  // namespace crossdock::demo
