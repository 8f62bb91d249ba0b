// SPDX-License-Identifier: Apache-2.0
// A function that can stop in the middle and be gone on with later, on a stack of its own. What
// blocks by calling suspend() in a loop so becomes something that a caller drives step by step.
// Over Boost.Context; the sanitizers are told about every change of stacks.
// Thread rule: one thread at a time; a fiber is resumed by the thread that made it.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace crossdock {

class Fiber {
 public:
  static constexpr std::size_t kStackBytes = std::size_t{256} << 10;  // and a guard page below

  /// Nothing runs before the first resume().
  explicit Fiber(std::function<void()> body);
  ~Fiber();  // REQUIRES: is_over(), or never resumed
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Runs the body until it suspends or ends. REQUIRES: not is_over(), not from inside.
  void resume();
  /// From inside the body: goes back to whoever resumed it.
  void suspend();
  [[nodiscard]] bool is_over() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace crossdock
