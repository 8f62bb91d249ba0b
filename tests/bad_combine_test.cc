// SPDX-License-Identifier: Apache-2.0
// Bad input to combine on one rank, and ranks that are in different operations or rounds.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/support/refusals.h"

namespace crossdock::testing {
namespace {

// --- combine -------------------------------------------------------------------------------------

struct CombineCall {
  CombineInput input;
  Handle* handle = nullptr;
  void* tokens = nullptr;
};

/// A dispatch, a bad combine on the faulty rank, the right combine of the same handle.
void run_bad_combine(const std::function<void(CombineCall&)>& spoil,
                     const std::vector<std::string>& words) {
  const auto on_rank = [&](Communicator& communicator) {
    for (const Path& path : mode_paths()) {
      SCOPED_TRACE(path.describe());
      const ExchangeCase which = small_case(path);
      run_around(which, communicator, [&](ElasticBuffer& buffer) {
        const Call call = good_call(which, communicator.rank());
        auto dispatched = buffer.dispatch(call.input(), call.options);
        ASSERT_TRUE(dispatched.ok()) << dispatched.status().to_string();
        std::vector<std::byte> tokens(call.tokens.size());
        CombineCall combine{
            {dispatched->rows, dispatched->row_count}, &dispatched->handle, tokens.data()};
        CombineCall spoiled = combine;
        if (communicator.rank() == kFaulty) {
          spoil(spoiled);
        }
        expect_refused(buffer.combine(spoiled.input, *spoiled.handle, spoiled.tokens),
                       communicator.rank(), StatusKind::kInvalidArgument, words);
        const Status status = buffer.combine(combine.input, *combine.handle, combine.tokens);
        EXPECT_TRUE(status.ok()) << status.to_string();
      });
    }
  };
  run_ranks(kRankCount, on_rank, patient());
}

TEST(BadCombine, WrongRowCountIsRefused) {
  run_bad_combine([](CombineCall& call) { call.input.row_count += 7; }, {"allowed: exactly"});
}

TEST(BadCombine, NullRowsAreRefused) {
  run_bad_combine([](CombineCall& call) { call.input.rows = nullptr; }, {"rows is null"});
}

TEST(BadCombine, NullTokensAreRefused) {
  run_bad_combine([](CombineCall& call) { call.tokens = nullptr; },
                  {"tokens is null", "16 rows of 128 bytes"});
}

TEST(BadCombine, HandleOfAnotherBufferIsRefused) {
  const ExchangeCase which = small_case({Mode::kThroughput, RowLayout::kPlain, "auto"});
  run_ranks(
      kRankCount,
      [&](Communicator& communicator) {
        const Call call = good_call(which, communicator.rank());
        auto other = ElasticBuffer::open(communicator, which.buffer);
        ASSERT_TRUE(other.ok());
        auto foreign = other->dispatch(call.input(), call.options);
        ASSERT_TRUE(foreign.ok());
        run_around(which, communicator, [&](ElasticBuffer& buffer) {
          auto own = buffer.dispatch(call.input(), call.options);
          ASSERT_TRUE(own.ok());
          const bool is_faulty = communicator.rank() == kFaulty;
          std::vector<std::byte> tokens(call.tokens.size());
          expect_refused(buffer.combine({own->rows, own->row_count},
                                        is_faulty ? foreign->handle : own->handle, tokens.data()),
                         communicator.rank(), StatusKind::kInvalidArgument, {"another buffer"});
        });
      },
      patient());
}

TEST(BadCombine, CombineOnOneRankWhileOthersDispatchIsAMismatchOnEveryRank) {
  for (const RankKind kind : {RankKind::kThreads, RankKind::kProcesses}) {
    const auto on_rank = [](Communicator& communicator) {
      for (const Path& path : mode_paths()) {
        SCOPED_TRACE(path.describe());
        const ExchangeCase which = small_case(path);
        run_around(which, communicator, [&](ElasticBuffer& buffer) {
          const Call call = good_call(which, communicator.rank());
          Dispatched last = buffer.dispatch(call.input(), call.options).value();
          std::vector<std::byte> tokens(call.tokens.size());
          const Status combined =
              buffer.combine({last.rows, last.row_count}, last.handle, tokens.data());
          ASSERT_TRUE(combined.ok()) << combined.to_string();
          Status status;
          if (communicator.rank() == kFaulty) {
            status = buffer.combine({last.rows, last.row_count}, last.handle, tokens.data());
          } else {
            last.handle = Handle();
            status = buffer.dispatch(call.input(), call.options).status();
          }
          expect_mismatch(status, communicator.rank(), "operation");
        });
      }
    };
    run_ranks(kRankCount, on_rank, patient(kind));
  }
}

TEST(BadCombine, HandlesOfDifferentRoundsAreAMismatchOnEveryRank) {
  ExchangeCase which = small_case({Mode::kThroughput, RowLayout::kExpanded, "auto"});
  which.buffer.open_rounds = 2;
  run_ranks(
      kRankCount,
      [&](Communicator& communicator) {
        run_around(which, communicator, [&](ElasticBuffer& buffer) {
          const Call call = good_call(which, communicator.rank());
          Dispatched first = buffer.dispatch(call.input(), call.options).value();
          Dispatched second = buffer.dispatch(call.input(), call.options).value();
          Dispatched& chosen = communicator.rank() == kFaulty ? second : first;
          std::vector<std::byte> tokens(call.tokens.size());
          expect_mismatch(
              buffer.combine({chosen.rows, chosen.row_count}, chosen.handle, tokens.data()),
              communicator.rank(), "round");
        });
      },
      patient());
}

}  // namespace
}  // namespace crossdock::testing
