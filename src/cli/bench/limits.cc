// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/copy.h"
#include "cli/bench/contender.h"
#include "cli/bench/limit_kernels.h"
#include "cli/bench/placement.h"
#include "cli/bench/verify_rows.h"
#include "cli/bench/workload.h"
#include "crossdock/status.h"

namespace crossdock::bench {
namespace {

std::string_view to_string(LimitOrder order) {
  switch (order) {
    case LimitOrder::kByToken:
      return "by token";
    case LimitOrder::kByDestination:
      return "by destination";
    case LimitOrder::kContiguous:
      return "contiguous";
  }
  return "?";
}

struct RowAddress {
  std::int64_t token = 0;
  RowTarget target;
};

std::vector<RowAddress> addresses_by(LimitOrder order, const Ground& ground) {
  std::vector<RowAddress> addresses;
  for (std::int64_t token = 0; token < ground.shape.tokens; ++token) {
    for (const RowTarget& target : ground.placement.targets(ground.rank, token)) {
      addresses.push_back({token, target});
    }
  }
  if (order == LimitOrder::kByDestination) {
    const auto step_of = [&](const RowAddress& address) {
      return (address.target.rank - ground.rank + ground.shape.ranks) % ground.shape.ranks;
    };
    std::sort(addresses.begin(), addresses.end(), [&](const RowAddress& a, const RowAddress& b) {
      return step_of(a) != step_of(b) ? step_of(a) < step_of(b) : a.target.row < b.target.row;
    });
  }
  return addresses;
}

class RowCopies final : public Contender {
 public:
  RowCopies(const Ground& ground, const CopyLimit& limit) : ground_(ground), limit_(limit) {
    const std::size_t row_bytes = ground.shape.row_bytes();
    for (const RowAddress& address : addresses_by(limit.order, ground)) {
      rows_.push_back(
          {.to = ground.arena.window(address.target.rank) +
                 static_cast<std::size_t>(address.target.row) * row_bytes,
           .from = ground.tokens.data() + static_cast<std::size_t>(address.token) * row_bytes});
    }
  }
  Status prepare(std::uint64_t round) override {
    fill_tokens(ground_.shape, round, ground_.rank, ground_.tokens.span());
    return {};
  }
  Status run() override {
    copy_rows(limit_.kernel, rows_, ground_.shape.row_bytes());
    return {};
  }
  Result<Verdict> verify(std::uint64_t round) override {
    return verify_received(view_of(ground_, round), ground_.arena.window(ground_.rank));
  }

 private:
  Ground ground_;
  CopyLimit limit_;
  std::vector<RowCopy> rows_;
};

class ContiguousCopy final : public Contender {
 public:
  ContiguousCopy(const Ground& ground, const CopyLimit& limit)
      : ground_(ground),
        limit_(limit),
        copy_{.to = ground.arena.window(ground.rank), .from = ground.scratch.data()} {
    long_row_ = ground.shape;  // All rows as one, so that it can be made and checked like a row.
    long_row_.hidden *= static_cast<std::int64_t>(ground.placement.origins(ground.rank).size());
  }
  Status prepare(std::uint64_t round) override {
    fill_row(long_row_, {.round = round, .source = ground_.rank}, ground_.scratch.data());
    return {};
  }
  Status run() override {
    copy_rows(limit_.kernel, std::span(&copy_, 1), long_row_.row_bytes());
    return {};
  }
  Result<Verdict> verify(std::uint64_t round) override {
    const bool matches = row_matches(long_row_, {.round = round, .source = ground_.rank},
                                     ground_.arena.window(ground_.rank));
    return Verdict{.checked = 1, .wrong = matches ? 0U : 1U};
  }

 private:
  Ground ground_;
  CopyLimit limit_;
  Shape long_row_;
  RowCopy copy_;
};

class RowSums final : public Contender {
 public:
  RowSums(const Ground& ground, const ReadLimit& limit) : ground_(ground), limit_(limit) {
    std::size_t own_row = 0;
    const std::size_t own_rows = ground.placement.origins(ground.rank).size();
    for (std::int64_t token = 0; token < ground.shape.tokens; ++token) {
      begin_.push_back(rows_.size());
      for (const RowTarget& target : ground.placement.targets(ground.rank, token)) {
        auto row = static_cast<std::size_t>(target.row);
        int rank = target.rank;
        if (limit.order == LimitOrder::kContiguous && own_rows > 0) {
          row = own_row++ % own_rows;  // Ranks receive fewer or more rows than they send.
          rank = ground.rank;
        }
        rows_.push_back(ground.arena.window(rank) + row * ground.shape.row_bytes());
      }
    }
    begin_.push_back(rows_.size());
  }
  Status prepare(std::uint64_t round) override {
    fill_outputs(view_of(ground_, round), ground_.arena.window(ground_.rank));
    return {};
  }
  Status run() override {
    const auto hidden = static_cast<std::size_t>(ground_.shape.hidden);
    std::byte* out = ground_.tokens.data();
    for (std::int64_t token = 0; token < ground_.shape.tokens; ++token) {
      const bool last = token + 1 == ground_.shape.tokens;
      sum_rows(limit_.kernel, ground_.shape.element, hidden,
               {.out = out,
                .rows = rows_of(token),
                .next = last ? std::span<const std::byte* const>() : rows_of(token + 1)});
      out += ground_.shape.row_bytes();
    }
    finish_sums();
    return {};
  }
  Result<Verdict> verify(std::uint64_t round) override {
    if (limit_.order == LimitOrder::kContiguous) {
      return Verdict{};  // Sums of unrelated rows.
    }
    return verify_combined(view_of(ground_, round), RowContent::kExpertOutput,
                           ground_.tokens.data());
  }

 private:
  [[nodiscard]] std::span<const std::byte* const> rows_of(std::int64_t token) const {
    const auto index = static_cast<std::size_t>(token);
    return std::span(rows_).subspan(begin_[index], begin_[index + 1] - begin_[index]);
  }

  Ground ground_;
  ReadLimit limit_;
  std::vector<const std::byte*> rows_;
  std::vector<std::size_t> begin_;  // [T + 1]
};

}  // namespace

std::vector<CopyLimit> copy_limits() {
  return {{CopyKernel::kMemcpy, LimitOrder::kByToken},
          {CopyKernel::kMemcpy, LimitOrder::kByDestination},
          {CopyKernel::kStreaming, LimitOrder::kByToken},
          {CopyKernel::kStreaming, LimitOrder::kByDestination},
          {CopyKernel::kLibrary, LimitOrder::kByToken},
          {CopyKernel::kMemcpy, LimitOrder::kContiguous},
          {CopyKernel::kStreaming, LimitOrder::kContiguous}};
}

std::vector<ReadLimit> read_limits() {
  return {{SumKernel::kColumns, LimitOrder::kByToken},
          {SumKernel::kColumnsStreaming, LimitOrder::kByToken},
          {SumKernel::kRows, LimitOrder::kByToken},
          {SumKernel::kLibrary, LimitOrder::kByToken},
          {SumKernel::kColumnsStreaming, LimitOrder::kContiguous}};
}

std::string to_string(const CopyLimit& limit) {
  return fmt::format("copy: {}, {}", to_string(limit.kernel), to_string(limit.order));
}

std::string to_string(const ReadLimit& limit) {
  return fmt::format("read: {}, {}", to_string(limit.kernel), to_string(limit.order));
}

std::unique_ptr<Contender> make_contender(const CopyLimit& limit, const Ground& ground) {
  if (limit.order == LimitOrder::kContiguous) {
    return std::make_unique<ContiguousCopy>(ground, limit);
  }
  return std::make_unique<RowCopies>(ground, limit);
}

std::unique_ptr<Contender> make_contender(const ReadLimit& limit, const Ground& ground) {
  return std::make_unique<RowSums>(ground, limit);
}

}  // namespace crossdock::bench
