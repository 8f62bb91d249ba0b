// SPDX-License-Identifier: Apache-2.0
#include "protocol/testing/order_world.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "crossdock/types.h"
#include "fabric/fabric.h"
#include "fabric/guarantees.h"
#include "protocol/contract.h"
#include "protocol/protocol.h"
#include "protocol/testing/order_explorer.h"

namespace crossdock::protocol::testing {

World::World(const ProtocolMaker& make, const Scenario& scenario)
    : make_(&make), scenario_(scenario) {
  const int rank_count = scenario.rank_count;
  for (int rank = 0; rank < rank_count; ++rank) {
    Rank& made = ranks_.emplace_back();
    made.protocol = make({RankId{rank}, rank_count, scenario.lane_count});
    made.proven.assign(static_cast<std::size_t>(rank_count), 0);
  }
  const Needs& needs = ranks_[0].protocol->contract().needs;
  strong_holds_ = needs.queue_order != fabric::QueueOrder::kNone;
  flush_waits_ = needs.remote_completion;
  word_count_ = ranks_[0].protocol->word_count();
  const std::size_t pair_count = ranks_.size() * ranks_.size();
  queues_.resize(pair_count * static_cast<std::size_t>(scenario.lane_count));
  rows_.assign(queues_.size() * 2 * static_cast<std::size_t>(scenario.unit_count), -1);
  words_.assign(pair_count * static_cast<std::size_t>(word_count_), scenario.word_start);
  polled_.resize(words_.size());
}

World::World(const World& other)
    : make_(other.make_),
      scenario_(other.scenario_),
      word_count_(other.word_count_),
      strong_holds_(other.strong_holds_),
      flush_waits_(other.flush_waits_),
      queues_(other.queues_),
      rows_(other.rows_),
      words_(other.words_),
      polled_(other.polled_),
      failure_(other.failure_) {
  for (const Rank& from : other.ranks_) {
    Rank& made = ranks_.emplace_back();
    const int rank = static_cast<int>(ranks_.size()) - 1;
    made.protocol = (*make_)({RankId{rank}, scenario_.rank_count, scenario_.lane_count});
    for (const Event& event : from.events) {
      static_cast<void>(made.protocol->step(event));
    }
    made.events = from.events;
    made.todo = from.todo;
    made.round = from.round;
    made.posted_count = from.posted_count;
    made.all_posted = from.all_posted;
    made.proven = from.proven;
    made.round_proven = from.round_proven;
  }
}

int World::queue_index(int source, int target, int lane) const {
  return (source * scenario_.rank_count + target) * scenario_.lane_count + lane;
}

int World::unit_count(int round, int source, int lane) const {
  return is_empty_queue(round, source, lane) ? 0 : scenario_.unit_count;
}

std::size_t World::row_index(int target, int source, int round, int lane, int unit) const {
  const int pair = target * scenario_.rank_count + source;
  const int half = pair * 2 + static_cast<int>(epoch_of(round) & 1);
  const int index = (half * scenario_.lane_count + lane) * scenario_.unit_count + unit;
  return static_cast<std::size_t>(index);
}

std::size_t World::word_index(int target, int source, int word) const {
  const int index = (target * scenario_.rank_count + source) * word_count_ + word;
  return static_cast<std::size_t>(index);
}

std::uint64_t World::epoch_of(int round) const {
  return scenario_.first_epoch + static_cast<std::uint64_t>(round);
}

bool World::is_drained(int rank) const {
  const auto begin = queues_.begin() + queue_index(rank, 0, 0);
  const auto end = queues_.begin() + queue_index(rank + 1, 0, 0);
  return std::all_of(begin, end, [](const auto& queue) { return queue.empty(); });
}

bool World::can_advance(int rank) const {
  const Rank& state = ranks_[static_cast<std::size_t>(rank)];
  if (!state.todo.empty()) {
    return is_drained(rank);
  }
  if (state.round >= 0 && !state.all_posted) {
    return true;
  }
  return (state.round < 0 || state.protocol->is_round_proven()) &&
         state.round + 1 < scenario_.round_count;
}

bool World::can_deliver(int queue, int operation) const {
  const auto& operations = queues_[static_cast<std::size_t>(queue)];
  if (!strong_holds_ ||
      operations[static_cast<std::size_t>(operation)].order != fabric::Order::kStrong) {
    return true;
  }
  return std::all_of(
      operations.begin(), operations.begin() + operation,
      [](const Operation& earlier) { return earlier.order == fabric::Order::kNone; });
}

std::vector<Choice> World::choices() const {
  std::vector<Choice> open;
  for (int rank = 0; rank < scenario_.rank_count; ++rank) {
    const Rank& state = ranks_[static_cast<std::size_t>(rank)];
    if (can_advance(rank)) {
      open.push_back({ChoiceKind::kAdvance, rank});
    }
    if (state.round < 0 || !state.todo.empty()) {
      continue;
    }
    for (int source = 0; source < scenario_.rank_count; ++source) {
      for (int word = 0; word < word_count_; ++word) {
        const std::size_t index = word_index(rank, source, word);
        // What was read before in this round need not be read again.
        if (state.protocol->awaits(RankId{source}, word) &&
            (polled_[index].round != state.round || polled_[index].value != words_[index])) {
          open.push_back({ChoiceKind::kPoll, rank, source, word});
        }
      }
    }
  }
  for (int queue = 0; queue < static_cast<int>(queues_.size()); ++queue) {
    const int count = static_cast<int>(queues_[static_cast<std::size_t>(queue)].size());
    for (int operation = 0; operation < count; ++operation) {
      if (can_deliver(queue, operation)) {
        open.push_back({ChoiceKind::kDeliver, queue, operation});
      }
    }
  }
  return open;
}

void World::take(const Choice& choice) {
  ++reached_.step_count;
  switch (choice.kind) {
    case ChoiceKind::kAdvance:
      advance(choice.a);
      break;
    case ChoiceKind::kPoll:
      poll(choice.a, choice.b, choice.c);
      break;
    case ChoiceKind::kDeliver:
      deliver(choice.a, choice.b);
      break;
  }
}

void World::advance(int rank) {
  Rank& state = ranks_[static_cast<std::size_t>(rank)];
  if (!state.todo.empty()) {
    state.todo.pop_front();  // the flush that held up the rest
    carry_out(rank);
    check_claims(rank);
  } else if (state.round < 0 || state.all_posted) {
    open_round(rank);
  } else if (state.posted_count + 1 < scenario_.rank_count) {
    ++state.posted_count;
    const int target = (rank + state.posted_count) % scenario_.rank_count;
    const std::uint64_t put_count = post_payload(rank, target);
    feed(rank, {.kind = EventKind::kPayloadPosted, .peer = RankId{target}, .value = put_count});
  } else {
    state.all_posted = true;
    feed(rank, {.kind = EventKind::kAllPosted});
  }
}

void World::open_round(int rank) {
  Rank& state = ranks_[static_cast<std::size_t>(rank)];
  for (int source = 0; state.round >= 0 && source < scenario_.rank_count; ++source) {
    check_rows(rank, source, "before the rows were given up");
  }
  ++state.round;
  state.posted_count = 0;
  state.all_posted = false;
  state.round_proven = false;
  std::fill(state.proven.begin(), state.proven.end(), 0);
  feed(rank, {.kind = EventKind::kRoundOpened, .epoch = epoch_of(state.round)});
}

std::uint64_t World::post_payload(int rank, int target) {
  const Rank& state = ranks_[static_cast<std::size_t>(rank)];
  const int round = state.round;
  std::uint64_t put_count = 0;
  for (int lane = 0; lane < scenario_.lane_count; ++lane) {
    auto& queue = queues_[static_cast<std::size_t>(queue_index(rank, target, lane))];
    for (int unit = 0; unit < unit_count(round, rank, lane); ++unit) {
      queue.push_back({OperationKind::kPut, fabric::Order::kRelaxed, round, unit, 0,
                       state.protocol->notify_word()});
      ++put_count;
    }
  }
  return put_count;
}

void World::poll(int rank, int source, int word) {
  Rank& state = ranks_[static_cast<std::size_t>(rank)];
  const std::size_t index = word_index(rank, source, word);
  const std::uint64_t value = words_[index];
  polled_[index] = {state.round, value};
  reached_.stale_count += value != state.protocol->expected_value(RankId{source}, word);
  reached_.while_posting_count += !state.all_posted;
  feed(rank,
       {.kind = EventKind::kWordObserved, .peer = RankId{source}, .word = word, .value = value});
}

void World::deliver(int queue, int operation) {
  auto& operations = queues_[static_cast<std::size_t>(queue)];
  const Operation performed = operations[static_cast<std::size_t>(operation)];
  operations.erase(operations.begin() + operation);
  reached_.overtaken_count += operation != 0;
  const int lane = queue % scenario_.lane_count;
  const int target = queue / scenario_.lane_count % scenario_.rank_count;
  const int source = queue / scenario_.lane_count / scenario_.rank_count;
  switch (performed.kind) {
    case OperationKind::kPut:
      rows_[row_index(target, source, performed.round, lane, performed.place)] = performed.round;
      if (performed.notify_word < 0) {
        return;
      }
      ++words_[word_index(target, source, performed.notify_word)];  // Fused: never seen apart.
      break;
    case OperationKind::kValue:
      words_[word_index(target, source, performed.place)] = performed.value;
      break;
    case OperationKind::kSignal:
      words_[word_index(target, source, performed.place)] += performed.value;
      break;
  }
  reached_.early_count += performed.round > ranks_[static_cast<std::size_t>(target)].round;
}

void World::feed(int rank, const Event& event) {
  Rank& state = ranks_[static_cast<std::size_t>(rank)];
  state.events.push_back(event);
  const Actions actions = state.protocol->step(event);
  state.todo.insert(state.todo.end(), actions.begin(), actions.end());
  carry_out(rank);
  check_claims(rank);
}

// Posting at once loses no order: the fabric may hold back what was posted as long as it likes.
void World::carry_out(int rank) {
  Rank& state = ranks_[static_cast<std::size_t>(rank)];
  for (; !state.todo.empty(); state.todo.pop_front()) {
    const Action action = state.todo.front();
    auto post = [&](OperationKind kind) {
      queues_[static_cast<std::size_t>(queue_index(rank, action.peer.value, action.lane))]
          .push_back({kind, action.order, state.round, action.word, action.value});
    };
    switch (action.kind) {
      case ActionKind::kFlushAll:
        if (flush_waits_ && !is_drained(rank)) {
          return;
        }
        break;
      case ActionKind::kPostValue:
        post(OperationKind::kValue);
        break;
      case ActionKind::kPostSignal:
        post(OperationKind::kSignal);
        break;
      case ActionKind::kSourceProven:
        note_proven(rank, action.peer.value);
        break;
      case ActionKind::kRoundProven:
        note_round_proven(rank);
        break;
      case ActionKind::kRejected:
        fail(fmt::format("rank {} rejected {} in word {} of rank {}", rank, action.value,
                         action.word, action.peer.value));
        break;
    }
  }
}

void World::note_proven(int rank, int source) {
  char& proven = ranks_[static_cast<std::size_t>(rank)].proven[static_cast<std::size_t>(source)];
  if (proven != 0) {
    fail(fmt::format("rank {} proved source {} twice", rank, source));
  }
  proven = 1;
  check_rows(rank, source, "when it was proven");
}

void World::note_round_proven(int rank) {
  Rank& state = ranks_[static_cast<std::size_t>(rank)];
  if (state.round_proven || !state.all_posted) {
    fail(fmt::format("rank {} proved round {} twice or before all was posted", rank, state.round));
  }
  state.round_proven = true;
  for (int source = 0; source < scenario_.rank_count; ++source) {
    state.proven[static_cast<std::size_t>(source)] = 1;
    check_rows(rank, source, "when the round was proven");
  }
}

// What the protocol answers must be what its actions said. While a flush holds up the actions they
// are behind.
void World::check_claims(int rank) {
  const Rank& state = ranks_[static_cast<std::size_t>(rank)];
  if (!state.todo.empty()) {
    return;
  }
  if (state.protocol->is_round_proven() != state.round_proven) {
    fail(fmt::format("rank {}: is_round_proven() differs from the actions", rank));
  }
  for (int source = 0; source < scenario_.rank_count; ++source) {
    const bool proven = state.proven[static_cast<std::size_t>(source)] != 0;
    if (state.protocol->is_proven(RankId{source}) != proven) {
      fail(fmt::format("rank {}: is_proven({}) differs from the actions", rank, source));
    }
    for (int word = 0; proven && word < word_count_; ++word) {
      if (state.protocol->awaits(RankId{source}, word)) {
        fail(fmt::format("rank {} awaits word {} of proven source {}", rank, word, source));
      }
    }
  }
}

void World::check_rows(int rank, int source, const char* when) {
  if (source == rank) {
    return;
  }
  const int round = ranks_[static_cast<std::size_t>(rank)].round;
  for (int lane = 0; lane < scenario_.lane_count; ++lane) {
    for (int unit = 0; unit < unit_count(round, source, lane); ++unit) {
      if (const int found = rows_[row_index(rank, source, round, lane, unit)]; found != round) {
        fail(fmt::format("rank {}, source {}, lane {}: the row of round {} was of round {} {}",
                         rank, source, lane, round, found, when));
      }
    }
  }
}

void World::fail(std::string what) {
  if (failure_.empty()) {
    failure_ = std::move(what);
  }
}

bool World::is_finished() const {
  return std::all_of(ranks_.begin(), ranks_.end(),
                     [&](const Rank& state) {
                       return state.round + 1 == scenario_.round_count && state.round_proven;
                     }) &&
         std::all_of(queues_.begin(), queues_.end(),
                     [](const auto& queue) { return queue.empty(); });
}

std::string World::key() const {
  std::string key;
  const auto put = [&key](std::uint64_t number) {
    key.push_back(static_cast<char>(number & 0xff));
    key.push_back(static_cast<char>(number >> 8 & 0xff));
  };
  for (const Rank& state : ranks_) {
    put(static_cast<std::uint64_t>(state.round));
    put(static_cast<std::uint64_t>(state.posted_count));
    put(state.all_posted ? 1 : 0);
    put(state.todo.size());
    // What can be asked of a protocol is all of its state that matters here.
    std::uint64_t bits = state.protocol->is_round_proven() ? 1 : 0;
    for (int source = 0; source < scenario_.rank_count; ++source) {
      bits = bits << 1 | (state.protocol->is_proven(RankId{source}) ? 1U : 0U);
      for (int word = 0; word < word_count_; ++word) {
        bits = bits << 1 | (state.protocol->awaits(RankId{source}, word) ? 1U : 0U);
      }
    }
    put(bits);
    put(bits >> 16);
  }
  for (const auto& queue : queues_) {
    put(queue.size());
    for (const Operation& operation : queue) {
      put(static_cast<std::uint64_t>(operation.round) << 8 |
          static_cast<std::uint64_t>(operation.place) << 2 |
          static_cast<std::uint64_t>(operation.kind));
    }
  }
  for (const int row : rows_) {
    put(static_cast<std::uint64_t>(row));
  }
  for (const std::uint64_t word : words_) {
    put(word);
  }
  return key;
}

std::string World::describe(const Choice& choice) const {
  switch (choice.kind) {
    case ChoiceKind::kAdvance:
      return fmt::format("rank {} advances", choice.a);
    case ChoiceKind::kPoll:
      return fmt::format("rank {} reads {} in word {} of rank {}", choice.a,
                         words_[word_index(choice.a, choice.b, choice.c)], choice.c, choice.b);
    case ChoiceKind::kDeliver:
      break;
  }
  const int lane_count = scenario_.lane_count;
  const Operation& operation =
      queues_[static_cast<std::size_t>(choice.a)][static_cast<std::size_t>(choice.b)];
  return fmt::format("{} of round {} arrives, {} -> {} lane {}",
                     operation.kind == OperationKind::kPut ? "row" : "proof", operation.round,
                     choice.a / lane_count / scenario_.rank_count,
                     choice.a / lane_count % scenario_.rank_count, choice.a % lane_count);
}

std::string World::describe_stuck() const {
  std::string text = "nothing can happen any more:";
  for (const Rank& state : ranks_) {
    text += fmt::format(" [round {}{}{}]", state.round, state.all_posted ? " posted" : "",
                        state.round_proven ? " proven" : "");
  }
  return text;
}

}  // namespace crossdock::protocol::testing
