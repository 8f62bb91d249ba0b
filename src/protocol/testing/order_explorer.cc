// SPDX-License-Identifier: Apache-2.0
#include "protocol/testing/order_explorer.h"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "protocol/testing/order_world.h"

namespace crossdock::protocol::testing {
namespace {

/// How eager each rank and each queue is in one run; a factor of 256 lets a rank get far ahead.
struct Speeds {
  std::vector<std::uint64_t> of_rank;
  std::vector<std::uint64_t> of_queue;

  Speeds(const Scenario& scenario, std::mt19937_64& random) {
    constexpr std::array<std::uint64_t, 3> kWeights = {1, 16, 256};
    const auto draw = [&](int count) {
      std::vector<std::uint64_t> weights(static_cast<std::size_t>(count));
      for (std::uint64_t& weight : weights) {
        weight = kWeights[random() % kWeights.size()];
      }
      return weights;
    };
    of_rank = draw(scenario.rank_count);
    of_queue = draw(scenario.rank_count * scenario.rank_count * scenario.lane_count);
  }
  [[nodiscard]] std::uint64_t of(const Choice& choice) const {
    const auto& weights = choice.kind == ChoiceKind::kDeliver ? of_queue : of_rank;
    return weights[static_cast<std::size_t>(choice.a)];
  }
};

const Choice& draw_choice(const std::vector<Choice>& choices, const Speeds& speeds,
                          std::mt19937_64& random) {
  std::uint64_t sum = 0;
  for (const Choice& choice : choices) {
    sum += speeds.of(choice);
  }
  std::uint64_t left = random() % sum;
  for (const Choice& choice : choices) {
    const std::uint64_t weight = speeds.of(choice);
    if (left < weight) {
      return choice;
    }
    left -= weight;
  }
  return choices.back();
}

/// The last steps before a failure, one a line.
std::string describe_end(const ProtocolMaker& make, const Scenario& scenario,
                         const std::vector<Choice>& taken) {
  constexpr std::size_t kShown = 40;
  World world(make, scenario);
  std::string text;
  for (std::size_t at = 0; at < taken.size(); ++at) {
    if (at + kShown >= taken.size()) {
      text += fmt::format("\n  {}. {}", at + 1, world.describe(taken[at]));
    }
    world.take(taken[at]);
  }
  return text;
}

/// A state on the way from the first to the one looked at, and what was not yet tried from it.
struct Frame {
  World world;
  std::string key;
  std::vector<Choice> choices;
  std::size_t tried = 0;
  bool moved = false;  // some choice led elsewhere
};

std::vector<Choice> path_of(const std::vector<std::unique_ptr<Frame>>& frames) {
  std::vector<Choice> path;
  for (const auto& frame : frames) {
    if (frame->tried > 0) {
      path.push_back(frame->choices[frame->tried - 1]);
    }
  }
  return path;
}

}  // namespace

void Reached::add(const Reached& other) {
  step_count += other.step_count;
  state_count += other.state_count;
  overtaken_count += other.overtaken_count;
  stale_count += other.stale_count;
  early_count += other.early_count;
  while_posting_count += other.while_posting_count;
}

Verdict explore_random(const ProtocolMaker& make, const Scenario& scenario,
                       std::mt19937_64& random) {
  World world(make, scenario);
  const Speeds speeds(scenario, random);
  std::vector<Choice> taken;
  std::string failure;
  while (failure.empty()) {
    const std::vector<Choice> choices = world.choices();
    if (choices.empty()) {
      failure = world.is_finished() ? "" : world.describe_stuck();
      break;
    }
    taken.push_back(draw_choice(choices, speeds, random));
    world.take(taken.back());
    failure = world.failure();
  }
  if (!failure.empty()) {
    failure += describe_end(make, scenario, taken);
  }
  return {failure, world.reached()};
}

// Depth first. A state is done when all choices from it were tried; it is stuck when none of them
// led to another state (reading a stale word changes nothing).
Verdict explore_all(const ProtocolMaker& make, const Scenario& scenario,
                    std::uint64_t state_count_max) {
  Verdict verdict;
  std::unordered_set<std::string> seen;
  std::vector<std::unique_ptr<Frame>> path;
  const auto enter = [&](World world, std::string key) {
    seen.insert(key);
    std::vector<Choice> choices = world.choices();
    path.push_back(std::make_unique<Frame>(std::move(world), std::move(key), std::move(choices)));
  };
  World first(make, scenario);
  std::string first_key = first.key();
  enter(std::move(first), std::move(first_key));
  while (!path.empty() && verdict.failure.empty()) {
    Frame& frame = *path.back();
    if (frame.tried == frame.choices.size()) {
      if (frame.moved || frame.world.is_finished()) {
        path.pop_back();
      } else {
        verdict.failure = frame.world.describe_stuck();
      }
      continue;
    }
    World next(frame.world);
    next.take(frame.choices[frame.tried++]);
    verdict.reached.add(next.reached());
    std::string key = next.key();
    frame.moved = frame.moved || key != frame.key;
    if (!next.failure().empty()) {
      verdict.failure = next.failure();
    } else if (seen.size() > state_count_max) {
      verdict.failure = fmt::format("more than {} states", state_count_max);
    } else if (!seen.contains(key)) {
      enter(std::move(next), std::move(key));
    }
  }
  verdict.reached.state_count = seen.size();
  if (!verdict.failure.empty()) {
    verdict.failure += describe_end(make, scenario, path_of(path));
  }
  return verdict;
}

}  // namespace crossdock::protocol::testing
