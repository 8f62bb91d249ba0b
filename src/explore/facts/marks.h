// SPDX-License-Identifier: Apache-2.0
// What is suspicious or missing, by rules that can be tested. Thread rule: one thread.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "explore/facts/segments.h"
#include "explore/graph/symbols.h"
#include "explore/model.h"

namespace crossdock::explore {

struct MarkRule {
  std::string_view id;
  std::string_view title;
  std::string_view meaning;
  std::string_view severity;  // "hint" or "suspect"
};
[[nodiscard]] std::span<const MarkRule> mark_rules();

/// Fills marks of a project that has everything else.
void find_marks(Project& project, const Rules& rules, const Symbols& symbols,
                const FileMechanisms& mechanisms);

/// Where a name occurs, definitions and declarations aside.
struct Mentions {
  int in_code = 0;
  int in_comments = 0;
};
using MentionTable = std::map<std::string, Mentions, std::less<>>;

/// What every rule gets.
struct MarkContext {
  Project& project;
  const Rules& rules;
  const Symbols& symbols;
  const FileMechanisms& mechanisms;
  MentionTable mentions;  // of functions' names

  /// Adds a mark of a function, or of a file when `function` is kNone.
  void add(std::string_view rule, int function, int file, std::vector<LineRange> lines,
           std::string text, std::vector<int> related = {}) const;
};

void mark_unreachable(const MarkContext& context);
void mark_placeholders(const MarkContext& context);
void mark_unread_parameters(const MarkContext& context);
void mark_unused_sizes(const MarkContext& context);
void mark_unwritten_budgets(const MarkContext& context);
void mark_missing_layouts(const MarkContext& context);
void mark_version_families(const MarkContext& context);
void mark_comments(const MarkContext& context);
void mark_lonely_sync(const MarkContext& context);
void mark_unreleased_stores(const MarkContext& context);

}  // namespace crossdock::explore
