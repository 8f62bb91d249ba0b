// SPDX-License-Identifier: Apache-2.0
#include "explore/facts/marks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "explore/graph/reach.h"

namespace crossdock::explore {
namespace {

/// Every name of a function, counted outside definitions and declarations of it.
MentionTable count_mentions(const Project& project) {
  MentionTable mentions;
  for (const Function& function : project.functions) {
    mentions.try_emplace(function.name);
  }
  std::set<std::pair<int, std::size_t>> definitions;
  for (const Function& function : project.functions) {
    definitions.emplace(function.file, function.found.name_at.begin);
  }
  const auto count = [&](std::string_view name, int Mentions::* counter) {
    if (const auto found = mentions.find(name); found != mentions.end()) {
      ++(found->second.*counter);
    }
  };
  for (std::size_t index = 0; index < project.files.size(); ++index) {
    const SourceFile& file = *project.files[index];
    for (std::size_t token = 0; token < file.code.size(); ++token) {
      const bool is_declared =
          file.is_cpp() && file.owners[token] == kNone && file.code.text(token + 1) == "(";
      if (file.code.is_name(token) && !is_declared &&
          !definitions.contains({static_cast<int>(index), file.code[token].begin})) {
        count(file.code.text(token), &Mentions::in_code);
      }
    }
    for (const Token& token : file.tokens.all()) {
      const bool is_directive = token.kind == TokenKind::kDirective;
      const bool is_string = token.kind == TokenKind::kString;
      if (!is_directive && !is_string && token.kind != TokenKind::kComment) {
        continue;
      }
      const std::string_view text = file.tokens.text(token);
      for (const Token& word :
           lex(text.substr(std::min<std::size_t>(1, text.size())), LexerMode::kPython, 1)) {
        if (word.kind == TokenKind::kName) {
          count(text.substr(word.begin, word.end - word.begin),
                token.kind == TokenKind::kComment ? &Mentions::in_comments : &Mentions::in_code);
        }
      }
    }
  }
  return mentions;
}

bool is_compiled_out(const Project& project, const std::vector<int>& in, const Function& function) {
  if (function.compiled_out) {
    return true;
  }
  bool any = false;
  for (const int index : in) {
    const Edge& edge = project.edges[static_cast<std::size_t>(index)];
    const SourceFile& file = project.file_of(project.function(edge.from));
    for (const Site& site : edge.sites) {
      const ConditionedLines* const region = file.directives.at(site.line);
      if (region == nullptr || !region->never) {
        return false;
      }
      any = true;
    }
  }
  return any;
}

/// Ids end in an ordinal when one rule finds several things in one function.
void set_ids(Project& project) {
  std::map<std::string, int> seen;
  for (Mark& mark : project.marks) {
    const std::string& place =
        mark.function == kNone ? project.file(mark.file).path : project.function(mark.function).id;
    mark.id = fmt::format("{}@{}", mark.rule, place);
    const int count = ++seen[mark.id];
    if (count > 1) {
      mark.id += fmt::format(".{}", count);
    }
  }
}

}  // namespace

void MarkContext::add(std::string_view rule, int function, int file, std::vector<LineRange> lines,
                      std::string text, std::vector<int> related) const {
  Mark mark;
  mark.rule = rule;
  mark.function = function;
  mark.file = file;
  mark.lines = std::move(lines);
  mark.text = std::move(text);
  mark.related = std::move(related);
  project.marks.push_back(std::move(mark));
}

void mark_unreachable(const MarkContext& context) {
  const Project& project = context.project;
  const auto in = edges_in(project);
  for (std::size_t index = 0; index < project.functions.size(); ++index) {
    const Function& function = project.functions[index];
    const bool is_inner = function.parent != kNone || function.kind == FunctionKind::kLambda;
    if (function.reach != Reach::kUnreachable || is_inner || function.is_implicit) {
      continue;
    }
    const Mentions& mentions = context.mentions.find(function.name)->second;
    const bool is_called = std::any_of(in[index].begin(), in[index].end(), [&](int edge) {
      return project.edges[static_cast<std::size_t>(edge)].from != static_cast<int>(index);
    });
    const std::vector<LineRange> lines = {function.lines};
    if (is_compiled_out(project, in[index], function)) {
      context.add("unreachable/compiled-out", static_cast<int>(index), function.file, lines,
                  fmt::format("suspect: {} is compiled out", function.name));
    } else if (is_called || mentions.in_code > 0) {
      context.add(
          "unreachable/only-from-unreachable", static_cast<int>(index), function.file, lines,
          fmt::format("suspect: no root reaches {}, though it is named elsewhere", function.name));
    } else if (mentions.in_comments > 0) {
      context.add("unreachable/only-in-comments", static_cast<int>(index), function.file, lines,
                  fmt::format("suspect: {} is named in comments only", function.name));
    } else {
      context.add("unreachable/never-referenced", static_cast<int>(index), function.file, lines,
                  fmt::format("suspect: nothing refers to {}", function.name));
    }
  }
}

void find_marks(Project& project, const Rules& rules, const Symbols& symbols,
                const FileMechanisms& mechanisms) {
  const MarkContext context{project, rules, symbols, mechanisms, count_mentions(project)};
  mark_unreachable(context);
  mark_placeholders(context);
  mark_unread_parameters(context);
  mark_unused_sizes(context);
  mark_unwritten_budgets(context);
  mark_missing_layouts(context);
  mark_version_families(context);
  mark_comments(context);
  mark_lonely_sync(context);
  mark_unreleased_stores(context);
  std::stable_sort(project.marks.begin(), project.marks.end(), [](const Mark& a, const Mark& b) {
    return std::make_pair(a.file, a.lines.front().first) <
           std::make_pair(b.file, b.lines.front().first);
  });
  set_ids(project);
}

}  // namespace crossdock::explore
