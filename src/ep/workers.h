// SPDX-License-Identifier: Apache-2.0
// The threads of one rank: the caller's and helpers that sleep between calls. Work is cut by rows,
// so that every row is moved or summed by one thread and results do not depend on how many there
// are. Thread rule: one thread at a time makes, uses and destroys it; work runs on all of them at
// once.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>

#include "base/helper_thread.h"

namespace crossdock::ep {

class Workers {
 public:
  /// `thread_count`: the caller's included, 1 or more; fewer when the system has none left (a
  /// warning), and only the caller's in a forked child. `bytes_min`: a thread is not woken for
  /// less.
  Workers(int thread_count, std::uint64_t bytes_min);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  /// Whether work on so many bytes is worth more than one thread.
  [[nodiscard]] bool is_worth(std::uint64_t byte_count) const { return share_of(byte_count) > 1; }

  /// Calls work(first, end) on disjoint ranges of 0 .. item_count - 1, on as many threads as
  /// `byte_count` is worth. What they did happens before the return. On one thread: a plain call.
  template <typename Work>
  void run(std::size_t item_count, std::uint64_t byte_count, const Work& work) {
    if (is_worth(byte_count)) {
      share_out(item_count, share_of(byte_count), std::cref(work));
    } else {
      work(std::size_t{0}, item_count);
    }
  }

 private:
  using Range = std::function<void(std::size_t first, std::size_t end)>;

  void share_out(std::size_t item_count, std::size_t share_count, const Range& work);
  [[nodiscard]] std::size_t share_of(std::uint64_t byte_count) const;
  void serve(std::size_t index);
  void do_share(std::size_t index) const;

  const std::uint64_t bytes_min_;
  // Of the call in progress; written before `call_` grows.
  const Range* work_ = nullptr;
  std::size_t item_count_ = 0;
  std::size_t share_count_ = 0;
  std::atomic<std::uint32_t> call_ = 0;     // calls begun
  std::atomic<std::uint32_t> pending_ = 0;  // helpers that have not finished this call
  std::atomic<bool> is_over_ = false;
  std::deque<HelperThread> helpers_;  // shares 1, 2, ...; the caller has share 0
};

}  // namespace crossdock::ep
