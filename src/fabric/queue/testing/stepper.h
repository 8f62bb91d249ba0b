// SPDX-License-Identifier: Apache-2.0
// Runs agents one step at a time in an order drawn from a seed, and knows what each of them may
// see: every agent has a vector clock, words hand clocks on by release and acquire, and plain data
// that is touched without such an order is a race. So a missing release is found on any machine, in
// any build, by the value of a seed.
//
// An agent is a thread that runs only while it has the baton; a *step* is what it does between two
// accesses. Thread rule: agents call from their own thread, all else is the test's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <semaphore>
#include <string>
#include <vector>

namespace crossdock::fabric::testing {

inline constexpr std::size_t kAgentsMax = 8;

/// [agent]: how many of its steps are known.
using VectorClock = std::array<std::uint32_t, kAgentsMax>;

class Stepper {
 public:
  explicit Stepper(std::uint64_t seed, std::uint64_t step_limit = 200'000);
  Stepper(const Stepper&) = delete;
  Stepper& operator=(const Stepper&) = delete;

  void add_agent(std::function<void()> body);
  /// Runs all agents to their end, or until something is wrong.
  void run();
  /// The first thing that went wrong, "" when nothing did.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }
  [[nodiscard]] std::uint64_t step_count() const { return step_count_; }

  /// The stepper whose agent this thread is; null elsewhere (then accesses are not checked).
  static Stepper* current();

  // For agents.
  /// Perhaps somebody else goes on first. Unwinds the agent once there is trouble.
  void step();
  void fail(const std::string& trouble);
  [[nodiscard]] std::size_t agent() const { return running_; }
  [[nodiscard]] VectorClock& clock() { return agents_[running_]->clock; }

 private:
  struct Agent {
    std::function<void()> body;
    std::binary_semaphore baton{0};
    VectorClock clock{};
    bool is_over = false;
  };
  struct Stopped {};  // thrown through an agent to end it

  void run_agent(std::size_t index);
  void hand_over();

  std::mt19937_64 random_;
  std::uint64_t step_limit_;
  std::uint64_t step_count_ = 0;
  std::vector<std::unique_ptr<Agent>> agents_;
  std::size_t running_ = 0;
  std::string trouble_;
};

}  // namespace crossdock::fabric::testing
