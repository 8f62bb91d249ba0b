// SPDX-License-Identifier: Apache-2.0
// Test-only: the state that order_explorer walks through: ranks, queues and memory, and the choices
// open in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "crossdock/types.h"
#include "fabric/fabric.h"
#include "protocol/protocol.h"
#include "protocol/testing/order_explorer.h"

namespace crossdock::protocol::testing {

enum class ChoiceKind : std::uint8_t {
  kAdvance,  // rank `a` takes the next step of its program
  kPoll,     // rank `a` reads word `c` of source `b`
  kDeliver,  // operation `b` of queue `a` is performed
};

struct Choice {
  ChoiceKind kind;
  int a = 0;
  int b = 0;
  int c = 0;
};

/// Copying makes an independent world, whose counts start at zero: protocols are made anew and fed
/// the same events.
class World {
 public:
  World(const ProtocolMaker& make, const Scenario& scenario);
  World(const World& other);
  World(World&&) = default;
  World& operator=(const World&) = delete;

  [[nodiscard]] std::vector<Choice> choices() const;
  /// REQUIRES: one of choices(), no failure so far.
  void take(const Choice& choice);
  /// All rounds of all ranks were proven and nothing is on its way.
  [[nodiscard]] bool is_finished() const;
  /// Equal for worlds that go on alike.
  [[nodiscard]] std::string key() const;
  /// For people.
  [[nodiscard]] std::string describe(const Choice& choice) const;
  [[nodiscard]] std::string describe_stuck() const;

  [[nodiscard]] const std::string& failure() const { return failure_; }
  [[nodiscard]] const Reached& reached() const { return reached_; }

 private:
  enum class OperationKind : std::uint8_t { kPut, kValue, kSignal };
  struct Operation {
    OperationKind kind;
    fabric::Order order;
    int round;             // of the poster
    int place;             // unit of a put, else word
    std::uint64_t value;   // of a value or signal
    int notify_word = -1;  // of a put: what its event adds one to
  };
  struct Polled {
    int round = -1;
    std::uint64_t value = 0;
  };
  struct Rank {
    std::unique_ptr<Protocol> protocol;
    std::vector<Event> events;  // all that was fed, to make a copy
    std::deque<Action> todo;    // held up by a flush
    int round = -1;             // 0 .. round_count - 1
    int posted_count = 0;       // peers served in this round
    bool all_posted = false;
    std::vector<char> proven;  // [source], by actions
    bool round_proven = false;
  };

  [[nodiscard]] int queue_index(int source, int target, int lane) const;
  [[nodiscard]] int unit_count(int round, int source, int lane) const;
  [[nodiscard]] std::size_t row_index(int target, int source, int round, int lane, int unit) const;
  [[nodiscard]] std::size_t word_index(int target, int source, int word) const;
  [[nodiscard]] std::uint64_t epoch_of(int round) const;
  [[nodiscard]] bool can_advance(int rank) const;
  [[nodiscard]] bool can_deliver(int queue, int operation) const;
  [[nodiscard]] bool is_drained(int rank) const;

  void advance(int rank);
  void open_round(int rank);
  std::uint64_t post_payload(int rank, int target);  // returns how many puts
  void poll(int rank, int source, int word);
  void deliver(int queue, int operation);
  void feed(int rank, const Event& event);
  void carry_out(int rank);
  void note_proven(int rank, int source);
  void note_round_proven(int rank);
  void check_claims(int rank);
  void check_rows(int rank, int source, const char* when);
  void fail(std::string what);

  const ProtocolMaker* make_;
  Scenario scenario_;
  int word_count_ = 0;
  bool strong_holds_ = false;
  bool flush_waits_ = false;
  std::vector<Rank> ranks_;
  std::vector<std::deque<Operation>> queues_;  // [source][target][lane]
  std::vector<int> rows_;                      // [target][source][parity][lane][unit] = round
  std::vector<std::uint64_t> words_;           // [target][source][word]
  std::vector<Polled> polled_;                 // likewise
  std::string failure_;
  Reached reached_;
};

}  // namespace crossdock::protocol::testing
