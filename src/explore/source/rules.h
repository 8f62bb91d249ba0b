// SPDX-License-Identifier: Apache-2.0
// What the explorer knows about names: which words hide a definition from a C++ parser, which
// qualifiers say where code runs, which calls are barriers, doorbells or copies. It is read from a
// file that users extend; see rules/default.rules for the format.
// Thread rule: plain values after parse_rules().
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "crossdock/status.h"

namespace crossdock::explore {

/// What a piece of code does; the order is that of precedence when several apply.
enum class Mechanism : std::uint8_t {
  kStraight,
  kBarrier,
  kDoorbell,
  kFlagWrite,
  kFlagPoll,
  kWorkRequest,
  kFence,
  kReserve,
  kPrefixSum,
  kCopy,
  kLaunch,
  kRegister,
  kAllocate,
  kReduce,
  kScan,
  kLoop,
  kGuard,
  kExit,
  kCall,
};
inline constexpr int kMechanismCount = 19;

struct MechanismInfo {
  std::string_view name;  // as in the JSON
  std::string_view title;
  std::string_view plane;  // "data", "control", "sync"
  std::string_view meaning;
};
[[nodiscard]] const MechanismInfo& info(Mechanism mechanism);
[[nodiscard]] std::optional<Mechanism> mechanism_named(std::string_view name);

enum class MaskForm : std::uint8_t {
  kWord,       // the word alone
  kCall,       // the word and the parentheses after it, if any
  kStatement,  // the word up to the ';' of its statement
};

class Rules {
 public:
  /// How to blank a word, if at all.
  [[nodiscard]] std::optional<MaskForm> mask(std::string_view word) const;
  /// "kernel", "device" or "host" when the word is a qualifier that says so, else "".
  [[nodiscard]] std::string_view execution(std::string_view word) const;
  /// By the last part of a callee's name.
  [[nodiscard]] std::optional<Mechanism> mechanism(std::string_view callee) const;
  /// "core", "block", "warp", "thread" or "rank" when the name is such an id, else "".
  [[nodiscard]] std::string_view axis(std::string_view name) const;
  /// "global", "window", "shared", "local" when the word names a memory space, else "".
  [[nodiscard]] std::string_view space(std::string_view word) const;
  /// The engine of a copying call ("dma", "put", ...), else "".
  [[nodiscard]] std::string_view engine(std::string_view callee) const;

  /// Adds the lines of a rules file. kInvalidArgument names file, line and what is allowed.
  Status add(std::string_view text, std::string_view path);

 private:
  struct Entry {
    std::string pattern;  // lower case when it has '*'
    std::string value;
    bool is_glob = false;
  };
  using Table = std::vector<Entry>;
  [[nodiscard]] static std::string_view find(const Table& table, std::string_view word);
  [[nodiscard]] Table* table_named(std::string_view name);
  Status add_line(std::string_view line, std::string_view where);

  Table masks_;
  Table executions_;
  Table mechanisms_;
  Table axes_;
  Table spaces_;
  Table engines_;
};

/// The built-in ones.
[[nodiscard]] const Rules& default_rules();
/// Their text, to start a file of one's own from.
[[nodiscard]] std::string_view default_rules_text();

}  // namespace crossdock::explore
