// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "base/clock.h"
#include "report/testing/sample_report.h"
#include "trace/recorder.h"
#include "trace/stages.h"

namespace crossdock::report::testing {
namespace {

using trace::Operation;
using trace::Recorder;
using trace::Stage;

// All ranks advance together: a wait ends when the last rank has done what is waited for.
class Machine {
 public:
  Machine(int rank_count, std::uint64_t seed) : random_(seed) {
    for (int rank = 0; rank < rank_count; ++rank) {
      recorders_.emplace_back(rank, rank_count);
      recorders_.back().enable(1 << 14);
      now_.push_back(Instant{987'654'321'000'000});
    }
  }

  void work(const Stage& stage, Operation operation, double mean_us) {
    for (std::size_t rank = 0; rank < now_.size(); ++rank) {
      const bool is_late = rank == 5 || (rank == 2 && round_ == 3);
      const double factor = (is_late ? 1.45 : 1.0) * spread_(random_);
      const Instant end =
          now_[rank] + std::chrono::nanoseconds(static_cast<std::int64_t>(1000 * mean_us * factor));
      recorders_[rank].add_span(stage, operation, round_, now_[rank], end);
      now_[rank] = end;
    }
  }

  void wait(const Stage& stage, Operation operation) {
    std::vector<std::size_t> by_arrival(now_.size());
    for (std::size_t rank = 0; rank < now_.size(); ++rank) {
      by_arrival[rank] = rank;
    }
    const std::vector<Instant> arrival = now_;
    std::sort(by_arrival.begin(), by_arrival.end(),
              [&](std::size_t a, std::size_t b) { return arrival[a] < arrival[b]; });
    const Instant last = arrival[by_arrival.back()];
    for (std::size_t rank = 0; rank < now_.size(); ++rank) {
      Instant since = arrival[rank];
      for (const std::size_t peer : by_arrival) {
        if (arrival[peer] > since) {
          recorders_[rank].waited(static_cast<int>(peer), arrival[peer] - since);
          since = arrival[peer];
        }
      }
      now_[rank] = last + std::chrono::nanoseconds(300 + 40 * static_cast<int>(rank));
      recorders_[rank].add_span(stage, operation, round_, arrival[rank], now_[rank]);
    }
  }

  void move(const Stage& stage, std::uint64_t mean_bytes) {
    for (Recorder& recorder : recorders_) {
      for (int peer = 0; peer < static_cast<int>(recorders_.size()); ++peer) {
        const auto rows =
            static_cast<std::uint64_t>(spread_(random_) * static_cast<double>(mean_bytes) / 4096);
        recorder.moved(stage, peer, rows * 4096, rows);
      }
    }
  }

  void begin_round(std::uint64_t round) {
    round_ = round;
    for (Instant& now : now_) {
      now += std::chrono::nanoseconds(static_cast<std::int64_t>(30'000 * spread_(random_)));
    }
  }

  [[nodiscard]] std::vector<trace::RankTrace> traces() const {
    std::vector<trace::RankTrace> traces;
    for (const Recorder& recorder : recorders_) {
      traces.push_back(recorder.trace());
    }
    return traces;
  }

 private:
  std::mt19937_64 random_;
  std::lognormal_distribution<double> spread_{0.0, 0.09};
  std::vector<Recorder> recorders_;
  std::vector<Instant> now_;
  std::uint64_t round_ = 0;
};

}  // namespace

std::vector<trace::RankTrace> sample_traces(int rank_count, int round_count) {
  Machine machine(rank_count, 17);
  for (int round = 1; round <= round_count; ++round) {
    machine.begin_round(static_cast<std::uint64_t>(round));
    machine.work(trace::kValidate, Operation::kDispatch, 38);
    machine.work(trace::kAnnounce, Operation::kDispatch, 6);
    machine.wait(trace::kReconcile, Operation::kDispatch);
    machine.work(trace::kLocate, Operation::kDispatch, 21);
    machine.work(trace::kPost, Operation::kDispatch, 1180);
    machine.move(trace::kPost, 4 << 20);
    machine.work(trace::kDoorbell, Operation::kDispatch, 5);
    machine.wait(trace::kArrive, Operation::kDispatch);
    machine.work(trace::kPad, Operation::kDispatch, 24);
    machine.work(trace::kCompute, Operation::kNone, 420);
    machine.work(trace::kStageOutput, Operation::kCombine, 90);
    machine.wait(trace::kReady, Operation::kCombine);
    machine.work(trace::kReduce, Operation::kCombine, 1320);
    machine.move(trace::kReduce, 4 << 20);
    machine.wait(trace::kCredit, Operation::kCombine);
  }
  return machine.traces();
}

}  // namespace crossdock::report::testing
