// SPDX-License-Identifier: Apache-2.0
#include "fabric/queue/testing/stepper.h"

#include <thread>

#include "base/check.h"

namespace crossdock::fabric::testing {
namespace {

thread_local Stepper* current_stepper = nullptr;

}  // namespace

Stepper::Stepper(std::uint64_t seed, std::uint64_t step_limit)
    : random_(seed), step_limit_(step_limit) {}

Stepper* Stepper::current() { return current_stepper; }

void Stepper::add_agent(std::function<void()> body) {
  CROSSDOCK_CHECK(agents_.size() < kAgentsMax);
  agents_.push_back(std::make_unique<Agent>());
  agents_.back()->body = std::move(body);
}

void Stepper::run() {
  std::vector<std::thread> threads;
  for (std::size_t index = 0; index < agents_.size(); ++index) {
    agents_[index]->clock[index] = 1;
    threads.emplace_back([this, index] { run_agent(index); });
  }
  running_ = random_() % agents_.size();
  agents_[running_]->baton.release();
  for (std::thread& thread : threads) {
    thread.join();
  }
}

void Stepper::run_agent(std::size_t index) {
  Agent& self = *agents_[index];
  self.baton.acquire();
  current_stepper = this;
  try {
    if (trouble_.empty()) {
      self.body();
    }
  } catch (const Stopped&) {
  }
  self.is_over = true;
  hand_over();
}

// The baton goes to a random agent that is not over; to nobody when none is left.
void Stepper::hand_over() {
  std::vector<std::size_t> candidates;
  for (std::size_t index = 0; index < agents_.size(); ++index) {
    if (!agents_[index]->is_over) {
      candidates.push_back(index);
    }
  }
  if (!candidates.empty()) {
    running_ = candidates[random_() % candidates.size()];
    agents_[running_]->baton.release();
  }
}

void Stepper::step() {
  Agent& self = *agents_[running_];
  ++self.clock[running_];
  if (++step_count_ > step_limit_) {
    fail("no end in sight: somebody waits for what never comes");
  }
  // Long runs of one agent and quick changes both occur: the odds change with the step count.
  if (random_() % (1 + step_count_ / 16 % 4) == 0) {
    hand_over();
    self.baton.acquire();
  }
  if (!trouble_.empty()) {
    throw Stopped{};
  }
}

void Stepper::fail(const std::string& trouble) {
  if (trouble_.empty()) {
    trouble_ = trouble;
  }
  throw Stopped{};
}

}  // namespace crossdock::fabric::testing
