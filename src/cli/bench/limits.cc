// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/limits.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/copy.h"
#include "cli/bench/arena.h"
#include "cli/bench/contender.h"
#include "cli/bench/limit_kernels.h"
#include "cli/bench/placement.h"
#include "cli/bench/verify_rows.h"
#include "cli/bench/workload.h"
#include "cli/page_buffer.h"
#include "crossdock/status.h"

namespace crossdock::bench {
namespace {

enum class Order : std::uint8_t {
  kByToken,        // every token's rows together: the source stays in the cache
  kByDestination,  // ranks after the own one first, rows ascending: the targets are contiguous
  kContiguous,     // the n-th row of a source as long as the target to the n-th row: STREAM
};

std::string_view to_string(Order order) {
  switch (order) {
    case Order::kByToken:
      return "by token";
    case Order::kByDestination:
      return "by destination";
    case Order::kContiguous:
      return "contiguous";
  }
  return "?";
}

struct RowAddress {
  std::int64_t token = 0;
  RowTarget target;
};

std::vector<RowAddress> addresses_by(Order order, const Ground& ground) {
  std::vector<RowAddress> addresses;
  for (std::int64_t token = 0; token < ground.shape.tokens; ++token) {
    for (const RowTarget& target : ground.placement.targets(ground.rank, token)) {
      addresses.push_back({token, target});
    }
  }
  if (order == Order::kByDestination) {
    const auto step_of = [&](const RowAddress& address) {
      return (address.target.rank - ground.rank + ground.shape.ranks) % ground.shape.ranks;
    };
    std::stable_sort(
        addresses.begin(), addresses.end(), [&](const RowAddress& a, const RowAddress& b) {
          return step_of(a) != step_of(b) ? step_of(a) < step_of(b) : a.target.row < b.target.row;
        });
  }
  return addresses;
}

class CopyLimit final : public Contender {
 public:
  CopyLimit(const Ground& ground, CopyKernel kernel, Order order)
      : ground_(ground),
        kernel_(kernel),
        order_(order),
        tokens_(static_cast<std::size_t>(ground.shape.tokens) * ground.shape.row_bytes()) {
    const std::size_t row_bytes = ground.shape.row_bytes();
    for (const RowAddress& address : addresses_by(order, ground)) {
      moves_.push_back(
          {.to = ground.arena.window(address.target.rank) +
                 static_cast<std::size_t>(address.target.row) * row_bytes,
           .from = tokens_.data() + static_cast<std::size_t>(address.token) * row_bytes});
    }
  }
  [[nodiscard]] std::string name() const override {
    return std::string(bench::to_string(kernel_)) + ", " + std::string(to_string(order_));
  }
  Status prepare(std::uint64_t round) override {
    fill_tokens(ground_.shape, round, ground_.rank, tokens_.span());
    return {};
  }
  Status run() override {
    copy_rows(kernel_, moves_, ground_.shape.row_bytes());
    return {};
  }
  Result<Verdict> verify(std::uint64_t round) override {
    return verify_received(ground_.shape, ground_.placement, round, ground_.rank,
                           ground_.arena.window(ground_.rank));
  }

 private:
  Ground ground_;
  CopyKernel kernel_;
  Order order_;
  PageBuffer tokens_;
  std::vector<RowCopy> moves_;
};

/// STREAM's copy: as many rows as this rank receives, from a private array to its window, one large
/// copy after the other.
class StreamCopy final : public Contender {
 public:
  StreamCopy(const Ground& ground, CopyKernel kernel)
      : ground_(ground),
        kernel_(kernel),
        byte_count_(ground.placement.origins(ground.rank).size() * ground.shape.row_bytes()),
        source_(byte_count_) {}
  [[nodiscard]] std::string name() const override {
    return std::string(bench::to_string(kernel_)) + ", contiguous";
  }
  Status prepare(std::uint64_t round) override {
    fill_row(ground_.shape, {.round = round, .source = ground_.rank}, source_.data());
    return {};
  }
  Status run() override {
    const RowCopy all{.to = ground_.arena.window(ground_.rank), .from = source_.data()};
    copy_rows(kernel_, std::span(&all, 1), byte_count_);
    return {};
  }
  Result<Verdict> verify(std::uint64_t round) override {
    const bool matches = row_matches(ground_.shape, {.round = round, .source = ground_.rank},
                                     ground_.arena.window(ground_.rank));
    return Verdict{.checked = 1, .wrong = matches ? 0U : 1U};
  }

 private:
  Ground ground_;
  CopyKernel kernel_;
  std::size_t byte_count_;
  PageBuffer source_;
};

class ReadLimit final : public Contender {
 public:
  ReadLimit(const Ground& ground, SumKernel kernel, Order order)
      : ground_(ground),
        kernel_(kernel),
        order_(order),
        tokens_(static_cast<std::size_t>(ground.shape.tokens) * ground.shape.row_bytes()) {
    std::size_t own_row = 0;
    const std::size_t own_rows = ground.placement.origins(ground.rank).size();
    for (std::int64_t token = 0; token < ground.shape.tokens; ++token) {
      begin_.push_back(rows_.size());
      for (const RowTarget& target : ground.placement.targets(ground.rank, token)) {
        // Contiguous: ranks receive unequal numbers of rows, so the last ones may start again.
        const int rank = order == Order::kContiguous ? ground.rank : target.rank;
        const std::size_t row = order == Order::kContiguous
                                    ? own_row++ % std::max<std::size_t>(own_rows, 1)
                                    : static_cast<std::size_t>(target.row);
        rows_.push_back(ground.arena.window(rank) + row * ground.shape.row_bytes());
      }
    }
    begin_.push_back(rows_.size());
  }
  [[nodiscard]] std::string name() const override {
    return std::string(bench::to_string(kernel_)) + ", " + std::string(to_string(order_));
  }
  Status prepare(std::uint64_t round) override {
    fill_outputs(ground_.shape, ground_.placement, round, ground_.rank,
                 ground_.arena.window(ground_.rank));
    return {};
  }
  Status run() override {
    const auto hidden = static_cast<std::size_t>(ground_.shape.hidden);
    for (std::int64_t token = 0; token < ground_.shape.tokens; ++token) {
      const bool last = token + 1 == ground_.shape.tokens;
      sum_rows(kernel_, ground_.shape.element,
               tokens_.data() + static_cast<std::size_t>(token) * ground_.shape.row_bytes(),
               rows_of(token), last ? std::span<const std::byte* const>() : rows_of(token + 1),
               hidden);
    }
    finish_sums();
    return {};
  }
  Result<Verdict> verify(std::uint64_t round) override {
    if (order_ == Order::kContiguous) {
      return Verdict{};  // Sums of unrelated rows.
    }
    return verify_combined(ground_.shape, ground_.placement, round, ground_.rank,
                           RowContent::kExpertOutput, tokens_.data());
  }

 private:
  [[nodiscard]] std::span<const std::byte* const> rows_of(std::int64_t token) const {
    const auto index = static_cast<std::size_t>(token);
    return std::span(rows_).subspan(begin_[index], begin_[index + 1] - begin_[index]);
  }

  Ground ground_;
  SumKernel kernel_;
  Order order_;
  PageBuffer tokens_;
  std::vector<const std::byte*> rows_;
  std::vector<std::size_t> begin_;  // [T + 1]
};

}  // namespace

std::vector<std::unique_ptr<Contender>> make_copy_limits(const Ground& ground) {
  std::vector<std::unique_ptr<Contender>> limits;
  for (const CopyKernel kernel :
       {CopyKernel::kMemcpy, CopyKernel::kStreaming, CopyKernel::kLibrary}) {
    limits.push_back(std::make_unique<CopyLimit>(ground, kernel, Order::kByToken));
    limits.push_back(std::make_unique<CopyLimit>(ground, kernel, Order::kByDestination));
  }
  limits.push_back(std::make_unique<StreamCopy>(ground, CopyKernel::kMemcpy));
  limits.push_back(std::make_unique<StreamCopy>(ground, CopyKernel::kStreaming));
  return limits;
}

std::vector<std::unique_ptr<Contender>> make_read_limits(const Ground& ground) {
  std::vector<std::unique_ptr<Contender>> limits;
  for (const SumKernel kernel :
       {SumKernel::kColumns, SumKernel::kColumnsStreaming, SumKernel::kRows, SumKernel::kLibrary}) {
    limits.push_back(std::make_unique<ReadLimit>(ground, kernel, Order::kByToken));
  }
  limits.push_back(std::make_unique<ReadLimit>(ground, SumKernel::kColumns, Order::kContiguous));
  limits.push_back(
      std::make_unique<ReadLimit>(ground, SumKernel::kColumnsStreaming, Order::kContiguous));
  return limits;
}

}  // namespace crossdock::bench
