// SPDX-License-Identifier: Apache-2.0
#include "cli/bench_contenders.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status_macros.h"
#include "cli/bench/contender.h"
#include "cli/bench/limits.h"
#include "cli/bench/placement.h"
#include "cli/bench/verify_rows.h"
#include "cli/bench/workload.h"
#include "cli/bench_options.h"
#include "cli/page_buffer.h"
#include "crossdock/elastic_buffer.h"
#include "crossdock/status.h"
#include "crossdock/types.h"

namespace crossdock::cli {
namespace {

using bench::Ground;
using bench::RowContent;
using bench::Verdict;

/// What the three have in common: input and the one dispatch.
class LibraryContender : public bench::Contender {
 public:
  LibraryContender(const BenchOptions& options, const Ground& ground, ElasticBuffer& buffer)
      : options_(options), ground_(ground), buffer_(buffer) {}

 protected:
  [[nodiscard]] const Ground& ground() const { return ground_; }
  [[nodiscard]] Dispatched& dispatched() { return dispatched_; }

  void fill_tokens(std::uint64_t round) {
    bench::fill_tokens(ground_.shape, round, ground_.rank, ground_.tokens.span());
  }
  Status dispatch() {
    CROSSDOCK_ASSIGN_OR_RETURN(dispatched_, dispatch_once(options_, ground_, buffer_));
    return {};
  }
  void close_round() { dispatched_ = Dispatched(); }
  Status combine(const std::byte* rows, std::byte* tokens) {
    return buffer_.combine({.rows = rows, .row_count = dispatched_.row_count}, dispatched_.handle,
                           tokens);
  }
  /// Rows and where they say that they come from.
  Verdict verify_dispatched(std::uint64_t round) {
    const auto& origins = ground_.placement.origins(ground_.rank);
    if (dispatched_.row_count != static_cast<std::int64_t>(origins.size())) {
      return {.checked = origins.size(), .wrong = origins.size()};
    }
    Verdict verdict = bench::verify_received(bench::view_of(ground_, round), dispatched_.rows);
    for (std::size_t row = 0; row < origins.size(); ++row) {
      verdict.wrong += dispatched_.source_rank[row] != origins[row].source ||
                               dispatched_.source_token[row] != origins[row].token
                           ? 1U
                           : 0U;
    }
    return verdict;
  }

 private:
  const BenchOptions& options_;
  Ground ground_;
  ElasticBuffer& buffer_;
  Dispatched dispatched_;
};

class LibraryDispatch final : public LibraryContender {
 public:
  using LibraryContender::LibraryContender;
  void next() override { close_round(); }
  Status prepare(std::uint64_t round) override {
    close_round();
    fill_tokens(round);
    return {};
  }
  Status run() override { return dispatch(); }
  Result<Verdict> verify(std::uint64_t round) override { return verify_dispatched(round); }
};

/// One dispatch, many combines of it: the outputs are new every round.
class LibraryCombine final : public LibraryContender {
 public:
  using LibraryContender::LibraryContender;
  Status prepare(std::uint64_t round) override {
    if (!dispatched().handle.valid()) {
      fill_tokens(round);
      CROSSDOCK_RETURN_IF_ERROR(dispatch());
      if (verify_dispatched(round).wrong != 0) {
        return {StatusKind::kInternal, Scope::kCommunicator, "dispatch delivered wrong rows"};
      }
    }
    bench::fill_outputs(bench::view_of(ground(), round), dispatched().outputs);
    return {};
  }
  Status run() override { return combine(dispatched().outputs, ground().tokens.data()); }
  Result<Verdict> verify(std::uint64_t round) override {
    return bench::verify_combined(bench::view_of(ground(), round), RowContent::kExpertOutput,
                                  ground().tokens.data());
  }
};

/// The experts do nothing: combine sums the rows where dispatch put them.
class LibraryRoundtrip final : public LibraryContender {
 public:
  LibraryRoundtrip(const BenchOptions& options, const Ground& ground, ElasticBuffer& buffer)
      : LibraryContender(options, ground, buffer), combined_(ground.tokens.byte_count()) {}
  void next() override { close_round(); }
  Status prepare(std::uint64_t round) override {
    close_round();
    fill_tokens(round);
    return {};
  }
  Status run() override {
    CROSSDOCK_RETURN_IF_ERROR(dispatch());
    return combine(dispatched().rows, combined_.data());
  }
  Result<Verdict> verify(std::uint64_t round) override {
    Verdict verdict = verify_dispatched(round);
    verdict += bench::verify_combined(bench::view_of(ground(), round), RowContent::kToken,
                                      combined_.data());
    return verdict;
  }

 private:
  PageBuffer combined_;
};

bool needs_copy_limits(BenchOperation operation) { return operation != BenchOperation::kCombine; }
bool needs_read_limits(BenchOperation operation) { return operation != BenchOperation::kDispatch; }

}  // namespace

Result<Dispatched> dispatch_once(const BenchOptions& options, const Ground& ground,
                                 ElasticBuffer& buffer) {
  DispatchInput input;
  input.tokens = ground.tokens.data();
  input.token_count = ground.shape.tokens;
  input.topk_ids = TopkIds(ground.placement.routes(ground.rank));
  DispatchOptions how;
  how.layout = options.layout;
  how.mode = options.mode;
  return buffer.dispatch(input, how);
}

std::vector<std::string> contender_names(BenchOperation operation) {
  std::vector<std::string> names = {"crossdock"};
  if (needs_copy_limits(operation)) {
    for (const bench::CopyLimit& limit : bench::copy_limits()) {
      names.push_back(bench::to_string(limit));
    }
  }
  if (needs_read_limits(operation)) {
    for (const bench::ReadLimit& limit : bench::read_limits()) {
      names.push_back(bench::to_string(limit));
    }
  }
  return names;
}

Contenders make_contenders(const BenchOptions& options, const Ground& ground,
                           ElasticBuffer& buffer) {
  Contenders contenders;
  if (options.operation == BenchOperation::kDispatch) {
    contenders.push_back(std::make_unique<LibraryDispatch>(options, ground, buffer));
  } else if (options.operation == BenchOperation::kCombine) {
    contenders.push_back(std::make_unique<LibraryCombine>(options, ground, buffer));
  } else {
    contenders.push_back(std::make_unique<LibraryRoundtrip>(options, ground, buffer));
  }
  if (needs_copy_limits(options.operation)) {
    for (const bench::CopyLimit& limit : bench::copy_limits()) {
      contenders.push_back(bench::make_contender(limit, ground));
    }
  }
  if (needs_read_limits(options.operation)) {
    for (const bench::ReadLimit& limit : bench::read_limits()) {
      contenders.push_back(bench::make_contender(limit, ground));
    }
  }
  return contenders;
}

BufferOptions buffer_options(const BenchOptions& options) {
  BufferOptions buffer;
  buffer.max_tokens_per_rank = options.shape.tokens;
  buffer.hidden = options.shape.hidden;
  buffer.topk = options.shape.topk;
  buffer.experts = options.shape.experts;
  buffer.element = options.shape.element;
  if (options.mode == Mode::kLatency) {
    buffer.latency_tokens = options.shape.tokens;
  }
  buffer.protocol = options.protocol;
  buffer.schedule = options.schedule;
  return buffer;
}

}  // namespace crossdock::cli
