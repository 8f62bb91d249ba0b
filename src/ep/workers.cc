// SPDX-License-Identifier: Apache-2.0
#include "ep/workers.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"

namespace crossdock::ep {

Workers::Workers(int thread_count, std::uint64_t bytes_min)
    : bytes_min_(std::max<std::uint64_t>(1, bytes_min)) {
  for (int index = 1; index < thread_count; ++index) {
    HelperThread& helper = helpers_.emplace_back();
    const Status started = helper.start(fmt::format("crossdock-rows{}", index % 10),
                                        [this, index] { serve(static_cast<std::size_t>(index)); });
    if (!started.ok()) {
      log_line(LogLevel::kWarn, fmt::format("{} of {} threads move rows: {}", index, thread_count,
                                            started.message()));
      helpers_.pop_back();
      return;
    }
  }
}

Workers::~Workers() {
  is_over_.store(true, std::memory_order_relaxed);
  call_.fetch_add(1, std::memory_order_release);  // Pairs with serve().
  call_.notify_all();
  for (HelperThread& helper : helpers_) {
    helper.join();
  }
}

std::size_t Workers::share_of(std::uint64_t byte_count) const {
  if (helpers_.empty() || helpers_.front().is_orphan()) {
    return 1;
  }
  return std::min<std::uint64_t>(helpers_.size() + 1,
                                 std::max<std::uint64_t>(1, byte_count / bytes_min_));
}

void Workers::share_out(std::size_t item_count, std::size_t share_count, const Range& work) {
  share_count_ = share_count;
  work_ = &work;
  item_count_ = item_count;
  pending_.store(static_cast<std::uint32_t>(helpers_.size()), std::memory_order_relaxed);
  call_.fetch_add(1, std::memory_order_release);  // Pairs with serve().
  call_.notify_all();
  do_share(0);
  for (std::uint32_t left = pending_.load(std::memory_order_acquire); left != 0;
       left = pending_.load(std::memory_order_acquire)) {
    pending_.wait(left, std::memory_order_acquire);  // Pairs with serve().
  }
}

void Workers::serve(std::size_t index) {
  for (std::uint32_t seen = 0;; ++seen) {
    call_.wait(seen, std::memory_order_acquire);  // Pairs with share_out() and ~Workers().
    if (is_over_.load(std::memory_order_relaxed)) {
      return;
    }
    do_share(index);
    // Pairs with share_out().
    if (pending_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      pending_.notify_one();
    }
  }
}

void Workers::do_share(std::size_t index) const {
  if (index < share_count_) {
    (*work_)(item_count_* index / share_count_, item_count_ * (index + 1) / share_count_);
  }
}

}  // namespace crossdock::ep
