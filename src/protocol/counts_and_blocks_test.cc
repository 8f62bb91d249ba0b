// SPDX-License-Identifier: Apache-2.0
// Counts and rows that race, under delivery orders as bad as they may be: counts, rows and flags of
// every pair arrive in any order, but for a flag, which stays behind its own row. Rows carry the
// number of their round, so that every claim is compared with memory; the mutants must be caught.
#include "protocol/counts_and_blocks.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace crossdock::protocol {
namespace {

constexpr std::uint64_t kSeed = 20'261'201;
constexpr std::uint32_t kBlockMax = 3;
constexpr int kSources = 2;
constexpr int kRounds = 6;

// Uneven, and different two rounds later, so that what is stale differs from what is right.
constexpr std::uint32_t kBlocks[kRounds][kSources] = {{2, 0}, {1, 3}, {0, 2},
                                                      {3, 1}, {1, 0}, {2, 2}};
constexpr std::uint32_t blocks_in(int round, int source) { return kBlocks[round][source]; }

constexpr std::uint64_t epoch_of(int round) { return static_cast<std::uint64_t>(round) * 3 + 1; }

/// Trusts a count as soon as it is there: flags of older rounds pass for this one's.
class CountEarlyStaleFlags : public CountsAndBlocks {
 public:
  using CountsAndBlocks::CountsAndBlocks;
  void open_round(std::uint64_t epoch) {
    epoch_of_mine_ = epoch;
    CountsAndBlocks::open_round(epoch);
  }
  [[nodiscard]] Seen observe_flag(int expert, int source, std::uint64_t flag) {
    return CountsAndBlocks::observe_flag(expert, source, flag == 0 ? 0 : epoch_of_mine_);
  }

 private:
  std::uint64_t epoch_of_mine_ = 0;
};

/// Takes the flags it has seen for all that come: the first missing one ends the pair.
class FlagsEarlyNoCount : public CountsAndBlocks {
 public:
  using CountsAndBlocks::CountsAndBlocks;
  void open_round(std::uint64_t epoch) {
    epoch_of_mine_ = epoch;
    CountsAndBlocks::open_round(epoch);
  }
  [[nodiscard]] Seen observe_flag(int expert, int source, std::uint64_t flag) {
    const Seen seen = CountsAndBlocks::observe_flag(expert, source, flag);
    const std::uint32_t blocks = next_block(expert, source);
    if (seen == Seen::kNothing && blocks > 0 && awaits_count(expert, source)) {
      return observe_count(expert, source, count_word(epoch_of_mine_, blocks));
    }
    return seen;
  }

 private:
  std::uint64_t epoch_of_mine_ = 0;
};

/// Takes an older round's count for this one's.
class StaleCount : public CountsAndBlocks {
 public:
  using CountsAndBlocks::CountsAndBlocks;
  void open_round(std::uint64_t epoch) {
    epoch_of_mine_ = epoch;
    CountsAndBlocks::open_round(epoch);
  }
  [[nodiscard]] Seen observe_count(int expert, int source, std::uint64_t word) {
    return CountsAndBlocks::observe_count(
        expert, source, word == 0 ? 0 : (word & 0xffff'ffff) | epoch_of_mine_ << 32);
  }

 private:
  std::uint64_t epoch_of_mine_ = 0;
};

/// One receiver, two sources, one expert. A source may write round n once the receiver has opened
/// n - 1 and so given up n - 2, whose half it is.
template <typename Receiver>
class Race {
 public:
  explicit Race(std::uint64_t seed) : random_(seed), receiver_(1, kSources, kBlockMax) {}

  /// Empty, or the first claim that was not true.
  std::string run() {
    open();
    for (int step = 0; step < 4000 && failure_.empty() && round_ < kRounds; ++step) {
      if (random_() % 4 == 0) {
        post(static_cast<int>(random_() % kSources));
      } else if (random_() % 3 == 0) {
        deliver();
      } else {
        look();
      }
    }
    if (failure_.empty() && round_ < kRounds) {
      failure_ = fmt::format("round {} never ended", round_);
    }
    return failure_;
  }

  [[nodiscard]] bool saw_block_before_count() const { return saw_block_before_count_; }

 private:
  struct Source {
    int posted = 0;                         // rounds
    std::uint64_t count[2] = {};            // by half
    std::uint64_t flag[2][kBlockMax] = {};  // likewise
    int row[2][kBlockMax] = {{-1, -1, -1}, {-1, -1, -1}};
  };
  enum class Kind : std::uint8_t { kCount, kRow, kFlag };
  struct Operation {
    Kind kind;
    int source;
    int round;
    std::uint32_t block;
  };

  void open() { receiver_.open_round(epoch_of(round_)); }

  void post(int source) {
    const int round = sources_[source].posted;
    if (round >= kRounds || round > round_ + 1) {
      return;
    }
    ++sources_[source].posted;
    pending_.push_back({Kind::kCount, source, round, 0});
    for (std::uint32_t block = 0; block < blocks_in(round, source); ++block) {
      pending_.push_back({Kind::kRow, source, round, block});
      pending_.push_back({Kind::kFlag, source, round, block});
    }
  }

  void deliver() {
    if (pending_.empty()) {
      return;
    }
    const std::size_t at = random_() % pending_.size();
    const Operation chosen = pending_[at];
    const bool is_held = chosen.kind == Kind::kFlag &&
                         std::any_of(pending_.begin(), pending_.end(), [&](const Operation& other) {
                           return other.kind == Kind::kRow && other.source == chosen.source &&
                                  other.round == chosen.round && other.block == chosen.block;
                         });
    if (is_held) {
      return;
    }
    pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(at));
    Source& source = sources_[chosen.source];
    const int half = chosen.round & 1;
    switch (chosen.kind) {
      case Kind::kCount:
        source.count[half] = CountsAndBlocks::count_word(epoch_of(chosen.round),
                                                         blocks_in(chosen.round, chosen.source));
        break;
      case Kind::kRow:
        source.row[half][chosen.block] = chosen.round;
        break;
      case Kind::kFlag:
        source.flag[half][chosen.block] = epoch_of(chosen.round);
        break;
    }
  }

  void look() {
    const int index = static_cast<int>(random_() % kSources);
    Source& source = sources_[index];
    const int half = round_ & 1;
    using Seen = CountsAndBlocks::Seen;
    Seen seen = Seen::kNothing;
    if (random_() % 2 == 0 && receiver_.awaits_count(0, index)) {
      seen = receiver_.observe_count(0, index, source.count[half]);
    } else if (receiver_.awaits_block(0, index)) {
      const std::uint32_t block = receiver_.next_block(0, index);
      seen = receiver_.observe_flag(0, index, source.flag[half][block]);
      if (seen == Seen::kNews && receiver_.next_block(0, index) > block) {
        expect_row(index, block);
        saw_block_before_count_ |= receiver_.awaits_count(0, index);
      }
    }
    if (seen == Seen::kFault) {
      fail(fmt::format("round {}: a fault was seen", round_));
    }
    if (receiver_.is_round_proven() && failure_.empty()) {
      finish();
    }
  }

  void finish() {
    for (int index = 0; index < kSources; ++index) {
      if (receiver_.count(0, index) != blocks_in(round_, index)) {
        fail(fmt::format("round {}, source {}: {} blocks instead of {}", round_, index,
                         receiver_.count(0, index), blocks_in(round_, index)));
      }
    }
    if (++round_ < kRounds) {
      open();
    }
  }

  void expect_row(int source, std::uint32_t block) {
    if (const int found = sources_[source].row[round_ & 1][block]; found != round_) {
      fail(
          fmt::format("round {}, source {}: row {} was of round {}", round_, source, block, found));
    }
  }

  void fail(std::string what) {
    if (failure_.empty()) {
      failure_ = std::move(what);
    }
  }

  std::mt19937_64 random_;
  Receiver receiver_;
  Source sources_[kSources];
  std::vector<Operation> pending_;
  int round_ = 0;
  bool saw_block_before_count_ = false;
  std::string failure_;
};

template <typename Receiver>
std::string first_failure(int run_count) {
  for (int run = 0; run < run_count; ++run) {
    const std::uint64_t seed = kSeed + static_cast<std::uint64_t>(run);
    if (std::string failure = Race<Receiver>(seed).run(); !failure.empty()) {
      return fmt::format("seed {}: {}", seed, failure);
    }
  }
  return {};
}

TEST(CountsAndBlocks, ClaimsHoldInDrawnOrders) {
  EXPECT_EQ(first_failure<CountsAndBlocks>(3000), "");
}

TEST(CountsAndBlocks, TheSweepSeesBlocksBeforeTheirCount) {
  int seen = 0;
  for (std::uint64_t seed = kSeed; seed < kSeed + 100; ++seed) {
    Race<CountsAndBlocks> race(seed);
    EXPECT_EQ(race.run(), "");
    seen += race.saw_block_before_count() ? 1 : 0;
  }
  EXPECT_GT(seen, 10);
}

TEST(CountsAndBlocksMutants, CountEarlyStaleFlagsIsCaught) {
  EXPECT_NE(first_failure<CountEarlyStaleFlags>(3000).find("was of round"), std::string::npos);
}

TEST(CountsAndBlocksMutants, FlagsEarlyNoCountIsCaught) {
  EXPECT_NE(first_failure<FlagsEarlyNoCount>(3000).find("blocks instead of"), std::string::npos);
}

TEST(CountsAndBlocksMutants, StaleCountIsCaught) { EXPECT_NE(first_failure<StaleCount>(3000), ""); }

TEST(CountsAndBlocks, FaultsAreToldFromWhatIsOnlyOld) {
  using Seen = CountsAndBlocks::Seen;
  CountsAndBlocks pairs(1, 1, 4);
  pairs.open_round(9);
  EXPECT_EQ(pairs.observe_count(0, 0, 0), Seen::kNothing);
  EXPECT_EQ(pairs.observe_count(0, 0, CountsAndBlocks::count_word(7, 2)), Seen::kNothing);
  EXPECT_EQ(pairs.observe_count(0, 0, CountsAndBlocks::count_word(10, 2)), Seen::kFault);
  EXPECT_EQ(pairs.observe_count(0, 0, CountsAndBlocks::count_word(9, 5)), Seen::kFault);
  EXPECT_EQ(pairs.observe_flag(0, 0, 8), Seen::kNothing);
  EXPECT_EQ(pairs.observe_flag(0, 0, 10), Seen::kFault);
  EXPECT_EQ(pairs.observe_flag(0, 0, 9), Seen::kNews);
  EXPECT_EQ(pairs.observe_flag(0, 0, 9), Seen::kNews);
  EXPECT_EQ(pairs.observe_count(0, 0, CountsAndBlocks::count_word(9, 1)), Seen::kFault)
      << "two blocks were seen";
  EXPECT_EQ(pairs.observe_count(0, 0, CountsAndBlocks::count_word(9, 2)), Seen::kNews);
  EXPECT_TRUE(pairs.is_round_proven());
}

TEST(CountsAndBlocks, TheTagOfTheEpochMayWrap) {
  using Seen = CountsAndBlocks::Seen;
  CountsAndBlocks pairs(1, 1, 4);
  pairs.open_round((std::uint64_t{1} << 32) + 1);
  EXPECT_EQ(pairs.observe_count(0, 0, CountsAndBlocks::count_word(0xffff'ffff, 2)), Seen::kNothing);
  EXPECT_EQ(pairs.observe_count(0, 0, CountsAndBlocks::count_word((std::uint64_t{1} << 32) + 1, 0)),
            Seen::kNews);
  EXPECT_TRUE(pairs.is_round_proven());
}

}  // namespace
}  // namespace crossdock::protocol
