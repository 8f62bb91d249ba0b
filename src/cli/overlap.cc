// SPDX-License-Identifier: Apache-2.0
#include "cli/overlap.h"

#include <time.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstddef>
#include <limits>
#include <memory>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/settings.h"
#include "base/status_macros.h"
#include "cli/bench/placement.h"
#include "cli/bench/statistics.h"
#include "cli/bench/verify_rows.h"
#include "cli/page_buffer.h"
#include "communicator/access.h"
#include "crossdock/communicator.h"
#include "crossdock/elastic_buffer.h"
#include "fabric/fabric.h"

namespace crossdock::cli {
namespace {

enum Phase : std::uint8_t { kDispatchAlone, kComputeAlone, kBoth, kPhaseCount };

/// What the ranks share: where they meet, and when each of them was in a phase.
struct Meeting {
  explicit Meeting(const OverlapOptions& chosen)
      : options(chosen),
        placement(chosen.shape, RowLayout::kExpanded),
        meet(chosen.shape.ranks),
        team(chosen.shape.ranks),
        begins(static_cast<std::size_t>(chosen.shape.ranks)),
        ends(begins.size()),
        statuses(begins.size()) {}

  const OverlapOptions& options;
  bench::Placement placement;
  std::barrier<> meet;
  ThreadTeam team;
  std::vector<Instant> begins;   // [rank]
  std::vector<Instant> ends;     // [rank]
  std::vector<Status> statuses;  // [rank]
  std::atomic<bool> has_failed{false};
  std::atomic<std::uint64_t> compute_steps{1 << 20};
  OverlapResult result;  // rank 0's, but for the counts of rows
  std::atomic<std::uint64_t> rows_checked{0};
  std::atomic<std::uint64_t> rows_wrong{0};
};

// A chain of multiplications: no memory, so that it competes with the dispatch for nothing but a
// core. `between` runs every few microseconds.
template <typename Between>
std::uint64_t compute(std::uint64_t step_count, const Between& between) {
  constexpr std::uint64_t kSlice = 4096;
  std::uint64_t value = step_count;
  for (std::uint64_t step = 0; step < step_count; ++step) {
    value = value * 6364136223846793005ULL + 1442695040888963407ULL;
    if (step % kSlice == 0) {
      between();
    }
  }
  return value;
}

// Processor time of the calling thread: what other work on the machine takes is not in it.
Duration thread_time() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + Duration(time.tv_nsec);
}

class Rank {
 public:
  Rank(Meeting& meeting, int rank) : meeting_(meeting), rank_(rank) {}

  Status run() {
    CROSSDOCK_RETURN_IF_ERROR(open());
    constexpr int kWarmup = 3;
    for (int round = 0; round < kWarmup; ++round) {
      CROSSDOCK_RETURN_IF_ERROR(dispatch_alone());
    }
    CROSSDOCK_RETURN_IF_ERROR(fit_compute());
    const fabric::QueueCounters before = counters();
    for (int iteration = 0; iteration < meeting_.options.iterations; ++iteration) {
      CROSSDOCK_RETURN_IF_ERROR(run_iteration());
    }
    if (rank_ == 0) {
      count_requests(before);
      CROSSDOCK_RETURN_IF_ERROR(measure_posts());
    }
    return communicator_->barrier();
  }

 private:
  Status open() {
    const bench::Shape& shape = meeting_.options.shape;
    CommunicatorOptions options;
    options.way = meeting_.options.way;
    options.progress = meeting_.options.progress;
    options.queue_depth = meeting_.options.queue_depth;
    CROSSDOCK_ASSIGN_OR_RETURN(auto communicator,
                               Communicator::open(meeting_.team, rank_, options));
    communicator_ = std::make_unique<Communicator>(std::move(communicator));
    BufferOptions buffer;
    buffer.max_tokens_per_rank = shape.tokens;
    buffer.hidden = shape.hidden;
    buffer.topk = shape.topk;
    buffer.experts = shape.experts;
    buffer.element = shape.element;
    CROSSDOCK_ASSIGN_OR_RETURN(auto opened, ElasticBuffer::open(*communicator_, buffer));
    buffer_ = std::make_unique<ElasticBuffer>(std::move(opened));
    tokens_ = PageBuffer(static_cast<std::size_t>(shape.tokens) * shape.row_bytes());
    // Rows of posts that measure posting: as many as fit into a queue.
    constexpr std::int64_t kPutsMax = 256;
    const std::int64_t depth =
        options.queue_depth == 0 ? settings().queue_depth : options.queue_depth;
    const std::int64_t put_count = std::min({kPutsMax, depth, shape.tokens});
    CROSSDOCK_ASSIGN_OR_RETURN(
        window_, detail::CommunicatorAccess::fabric(*communicator_)
                     ->make_window(static_cast<std::size_t>(put_count) * shape.row_bytes()));
    return {};
  }

  DispatchTicket post() {
    const bench::Shape& shape = meeting_.options.shape;
    return buffer_->post_dispatch({.tokens = tokens_.data(),
                                   .token_count = shape.tokens,
                                   .topk_ids = TopkIds(meeting_.placement.routes(rank_))},
                                  {.layout = RowLayout::kExpanded, .mode = Mode::kThroughput});
  }

  // All ranks begin together; the time is from the first begin to the last end.
  template <typename Work>
  Result<double> time(const Work& work) {
    meeting_.meet.arrive_and_wait();
    const auto self = static_cast<std::size_t>(rank_);
    meeting_.begins[self] = monotonic_clock().now();
    const Duration busy_before = thread_time();
    const Status status = work();
    last_busy_us_ = static_cast<double>((thread_time() - busy_before).count()) / 1e3;
    meeting_.ends[self] = monotonic_clock().now();
    meeting_.has_failed = meeting_.has_failed || !status.ok();
    meeting_.meet.arrive_and_wait();
    if (meeting_.has_failed) {
      return status.ok() ? Status(StatusKind::kPeerRefused, Scope::kCommunicator,
                                  "another rank could not go on")
                         : status;
    }
    const Duration took = *std::max_element(meeting_.ends.begin(), meeting_.ends.end()) -
                          *std::min_element(meeting_.begins.begin(), meeting_.begins.end());
    return static_cast<double>(took.count()) / 1e3;
  }

  Status dispatch_alone() {
    fill_tokens();
    CROSSDOCK_ASSIGN_OR_RETURN(const double took, time([&] { return post().wait(); }));
    last_us_[kDispatchAlone] = took;
    return {};
  }

  // The loop is made as long as the dispatch alone: the case in which overlap can hide most. By the
  // shortest times of a few, which other work on the machine disturbs least.
  Status fit_compute() {
    constexpr int kTries = 5;
    double dispatch_us = std::numeric_limits<double>::max();
    double compute_us = dispatch_us;
    for (int attempt = 0; attempt < kTries; ++attempt) {
      CROSSDOCK_RETURN_IF_ERROR(dispatch_alone());
      CROSSDOCK_RETURN_IF_ERROR(compute_alone());
      dispatch_us = std::min(dispatch_us, last_us_[kDispatchAlone]);
      compute_us = std::min(compute_us, last_us_[kComputeAlone]);
    }
    meeting_.meet.arrive_and_wait();
    if (rank_ == 0) {
      const double wanted = dispatch_us / std::max(compute_us, 1.0);
      meeting_.compute_steps = static_cast<std::uint64_t>(
          std::max(1.0, wanted * static_cast<double>(meeting_.compute_steps.load())));
    }
    meeting_.meet.arrive_and_wait();
    return {};
  }

  Status compute_alone() {
    CROSSDOCK_ASSIGN_OR_RETURN(const double took, time([&] {
                                 sink_ = sink_ + compute(meeting_.compute_steps, [] {});
                                 return Status();
                               }));
    last_us_[kComputeAlone] = took;
    busy_us_[kComputeAlone] = last_busy_us_;
    return {};
  }

  Status both() {
    fill_tokens();
    DispatchTicket ticket;
    CROSSDOCK_ASSIGN_OR_RETURN(const double took, time([&] {
                                 ticket = post();
                                 sink_ =
                                     sink_ + compute(meeting_.compute_steps, [&] { poll(ticket); });
                                 return ticket.wait();
                               }));
    last_us_[kBoth] = took;
    busy_us_[kBoth] = last_busy_us_;
    CROSSDOCK_ASSIGN_OR_RETURN(const Dispatched dispatched, ticket.take());
    const bench::Verdict verdict = bench::verify_received(
        {meeting_.options.shape, meeting_.placement, round_, rank_}, dispatched.rows);
    meeting_.rows_checked += verdict.checked;
    meeting_.rows_wrong += verdict.wrong;
    return {};
  }

  // The thread needs nobody's help.
  void poll(DispatchTicket& ticket) const {
    if (meeting_.options.progress == crossdock::Progress::kCaller) {
      ticket.poll();
    }
  }

  Status run_iteration() {
    CROSSDOCK_RETURN_IF_ERROR(dispatch_alone());
    CROSSDOCK_RETURN_IF_ERROR(compute_alone());
    CROSSDOCK_RETURN_IF_ERROR(both());
    if (rank_ == 0) {
      meeting_.result.dispatch_us.push_back(last_us_[kDispatchAlone]);
      meeting_.result.compute_us.push_back(last_us_[kComputeAlone]);
      meeting_.result.both_us.push_back(last_us_[kBoth]);
      meeting_.result.compute_busy_us.push_back(busy_us_[kComputeAlone]);
      meeting_.result.both_busy_us.push_back(busy_us_[kBoth]);
    }
    return {};
  }

  void fill_tokens() {
    ++round_;
    bench::fill_tokens(meeting_.options.shape, round_, rank_, tokens_.span());
  }

  fabric::QueueCounters counters() {
    return detail::CommunicatorAccess::fabric(*communicator_)->queue_counters();
  }

  void count_requests(const fabric::QueueCounters& before) {
    const fabric::QueueCounters now = counters();
    const double dispatches = 2.0 * meeting_.options.iterations;
    const auto requests = static_cast<double>(now.request_count - before.request_count);
    OverlapResult& result = meeting_.result;
    result.requests_per_dispatch = requests / dispatches;
    result.doorbells_per_request =
        requests > 0 ? static_cast<double>(now.doorbell_count - before.doorbell_count) / requests
                     : 0;
    result.stalls_per_dispatch =
        static_cast<double>(now.stall_count - before.stall_count) / dispatches;
  }

  // Puts of a row to oneself, one doorbell for all of them, over an idle engine.
  Status measure_posts() {
    constexpr int kRepeats = 41;
    const auto fabric = detail::CommunicatorAccess::fabric(*communicator_);
    fabric::Queue& queue = fabric->queue(RankId{rank_}, 0);
    const std::size_t row_bytes = meeting_.options.shape.row_bytes();
    const std::size_t put_count = window_->byte_count() / row_bytes;
    std::vector<double> times_ns;
    for (int repeat = 0; repeat < kRepeats; ++repeat) {
      const Instant begin = monotonic_clock().now();
      for (std::size_t put = 0; put < put_count; ++put) {
        queue.post_put({window_.get(), put * row_bytes},
                       tokens_.span().subspan(put * row_bytes, row_bytes), fabric::Order::kRelaxed,
                       StoreHint::kKeep);
      }
      queue.ring_doorbell();
      const Duration took = monotonic_clock().now() - begin;
      times_ns.push_back(static_cast<double>(took.count()) / static_cast<double>(put_count));
      CROSSDOCK_RETURN_IF_ERROR(queue.flush(fabric->make_deadline()));
    }
    meeting_.result.submit_ns = bench::median(times_ns);
    return {};
  }

  Meeting& meeting_;
  int rank_;
  std::unique_ptr<Communicator> communicator_;
  std::unique_ptr<ElasticBuffer> buffer_;
  std::unique_ptr<fabric::Window> window_;
  PageBuffer tokens_;
  std::uint64_t round_ = 0;
  double last_us_[kPhaseCount] = {};
  double last_busy_us_ = 0;
  double busy_us_[kPhaseCount] = {};
  volatile std::uint64_t sink_ = 0;  // So that the loop is not optimised away.
};

}  // namespace

double OverlapResult::ratio() const {
  const double larger = std::max(bench::median(dispatch_us), bench::median(compute_us));
  return larger > 0 ? bench::median(both_us) / larger : 0;
}

Result<OverlapResult> measure_overlap(const OverlapOptions& options) {
  Meeting meeting(options);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < options.shape.ranks; ++rank) {
    threads.emplace_back([&meeting, rank] {
      Status& status = meeting.statuses[static_cast<std::size_t>(rank)];
      status = Rank(meeting, rank).run();
      if (!status.ok()) {
        meeting.has_failed = true;
        meeting.meet.arrive_and_drop();
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  Status first;  // A cause rather than its consequence.
  for (const Status& status : meeting.statuses) {
    if (first.ok() || first.kind() == StatusKind::kPeerRefused) {
      first = status.ok() ? first : status;
    }
  }
  CROSSDOCK_RETURN_IF_ERROR(first);
  meeting.result.rows_checked = meeting.rows_checked;
  meeting.result.rows_wrong = meeting.rows_wrong;
  return std::move(meeting.result);
}

}  // namespace crossdock::cli
