// SPDX-License-Identifier: Apache-2.0
#include "explore/facts/segments.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "explore/facts/statements.h"
#include "explore/graph/reach.h"
#include "explore/parse/cpp_words.h"

namespace crossdock::explore {
namespace {

constexpr int kWholeLinesMax = 10;  // A shorter loop or guard is one segment.
constexpr std::size_t kNamesMax = 40;

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

class Cutter {
 public:
  Cutter(const SourceFile& file, const Function& function,
         const std::vector<MechanismAt>& mechanisms)
      : file_(file), function_(function), mechanisms_(mechanisms) {}

  std::vector<Segment> run() {
    cut(read_statements(file_, function_), 0);
    close();
    return std::move(segments_);
  }

 private:
  [[nodiscard]] LineRange lines(std::size_t first, std::size_t last) const {
    return file_.text.lines_of({file_.code[first].begin, file_.code[last - 1].end});
  }

  /// Mechanisms of the calls in [first, last), strongest first, each once.
  [[nodiscard]] std::vector<Mechanism> in(std::size_t first, std::size_t last) const {
    std::set<Mechanism> found;
    auto at = std::lower_bound(
        mechanisms_.begin(), mechanisms_.end(), first,
        [](const MechanismAt& entry, std::size_t value) { return entry.token < value; });
    for (; at != mechanisms_.end() && at->token < last; ++at) {
      found.insert(at->mechanism);
    }
    return {found.begin(), found.end()};
  }

  void cut(const std::vector<Statement>& statements, int depth) {
    for (const Statement& statement : statements) {
      const int count = lines(statement.first, statement.last).count();
      const bool is_open = !statement.children.empty() && count > kWholeLinesMax;
      if (statement.kind == StatementKind::kBlock && is_open) {
        cut(statement.children, depth);
      } else if (is_open) {
        const Statement head{statement.kind,      statement.is_else,   statement.first,
                             statement.head_last, statement.head_last, {}};
        add(head, depth);
        cut(statement.children, depth + 1);
      } else {
        add(statement, depth);
      }
    }
  }

  void add(const Statement& statement, int depth) {
    Segment segment;
    segment.lines = lines(statement.first, statement.last);
    segment.depth = depth;
    segment.head = one_line(file_.text.line(segment.lines.first), 160);
    std::vector<Mechanism> found = in(statement.first, statement.last);
    segment.mechanism = own_kind(statement, found);
    for (const Mechanism mechanism : found) {
      if (mechanism != segment.mechanism) {
        segment.also.push_back(mechanism);
      }
    }
    if (statement.kind == StatementKind::kLoop && segment.mechanism != Mechanism::kLoop &&
        segment.mechanism != Mechanism::kScan) {
      segment.also.push_back(Mechanism::kLoop);
    }
    if (!segments_.empty() && joins(segments_.back(), segment)) {
      segments_.back().lines.last = std::max(segments_.back().lines.last, segment.lines.last);
      merge_also(segments_.back(), segment);
    } else {
      segments_.push_back(std::move(segment));
    }
  }

  static void merge_also(Segment& into, const Segment& from) {
    std::set<Mechanism> also(into.also.begin(), into.also.end());
    also.insert(from.also.begin(), from.also.end());
    also.insert(from.mechanism);
    also.erase(into.mechanism);
    also.erase(Mechanism::kStraight);
    into.also.assign(also.begin(), also.end());
  }

  /// Two on one line are one; so are neighbours of the same kind, and a plain one before a call.
  static bool joins(const Segment& before, const Segment& next) {
    if (before.lines.last >= next.lines.first) {
      return true;
    }
    const auto is_plain = [](const Segment& segment) {
      return segment.mechanism == Mechanism::kStraight || segment.mechanism == Mechanism::kCall;
    };
    const bool can_repeat = !is_one_of(info(next.mechanism).name, {"loop", "guard", "scan"});
    return before.depth == next.depth &&
           ((before.mechanism == next.mechanism && can_repeat) ||
            (is_plain(before) && next.mechanism == Mechanism::kStraight));
  }

  [[nodiscard]] Mechanism own_kind(const Statement& statement,
                                   const std::vector<Mechanism>& found) const {
    if (!found.empty() && found.front() != Mechanism::kCall) {
      return found.front();
    }
    switch (statement.kind) {
      case StatementKind::kLoop:
        return is_scan(statement) ? Mechanism::kScan : Mechanism::kLoop;
      case StatementKind::kGuard:
        return Mechanism::kGuard;
      case StatementKind::kExit:
        return Mechanism::kExit;
      default:
        return found.empty() ? Mechanism::kStraight : Mechanism::kCall;
    }
  }

  /// A loop over tokens or routes that looks for some of them.
  [[nodiscard]] bool is_scan(const Statement& loop) const {
    bool over_tokens = false;
    for (std::size_t index = loop.first; index < loop.head_last; ++index) {
      const std::string_view word = file_.code.text(index);
      for (const std::string_view part : {"token", "topk", "route", "expert", "Token", "Expert"}) {
        over_tokens = over_tokens || word.find(part) != std::string_view::npos;
      }
    }
    bool compares = false;
    for (std::size_t index = loop.head_last; index < loop.last; ++index) {
      compares = compares || file_.code.text(index) == "if" || file_.code.text(index) == "?";
    }
    return over_tokens && compares;
  }

  /// Makes the segments cover the body.
  void close() {
    const LineRange body = function_.body_lines;
    if (segments_.empty()) {
      Segment whole;
      whole.lines = body;
      whole.head = one_line(file_.text.line(body.first), 160);
      segments_.push_back(std::move(whole));
    }
    segments_.front().lines.first = body.first;
    for (std::size_t index = 0; index + 1 < segments_.size(); ++index) {
      segments_[index].lines.last = segments_[index + 1].lines.first - 1;
    }
    segments_.back().lines.last = body.last;
  }

  const SourceFile& file_;
  const Function& function_;
  const std::vector<MechanismAt>& mechanisms_;
  std::vector<Segment> segments_;
};

bool writes_at(const Tokens& code, std::size_t index) {
  std::size_t next = index + 1;
  if (code.text(next) == "[") {
    next = code.match(next) + 1;
  }
  return is_one_of(
             code.text(next),
             {"=", "+=", "-=", "*=", "/=", "|=", "&=", "^=", "%=", "<<=", ":=", "++", "--"}) ||
         (index > 0 && is_one_of(code.text(index - 1), {"++", "--"}));
}

void add_name(std::vector<std::string>& names, std::string_view name) {
  if (names.size() < kNamesMax && std::find(names.begin(), names.end(), name) == names.end()) {
    names.emplace_back(name);
  }
}

/// Variables only: parameters, locals, and what is assigned.
void set_names(Project& project, const Symbols& symbols, int function_index) {
  Function& function = project.function(function_index);
  const SourceFile& file = project.file_of(function);
  std::size_t segment = 0;
  for (std::size_t index = function.first_token; index < function.last_token; ++index) {
    const int line = static_cast<int>(file.code[index].line);
    while (segment + 1 < function.segments.size() && function.segments[segment].lines.last < line) {
      ++segment;
    }
    if (!file.code.is_name(index) || (index > 0 && file.code.text(index - 1) == "::") ||
        file.code.text(index + 1) == "::" || file.code.text(index + 1) == "(") {
      continue;
    }
    const std::string_view name = file.code.text(index);
    const bool is_member = index > 0 && is_one_of(file.code.text(index - 1), {".", "->"});
    bool is_variable = !is_member && name.ends_with("_");
    for (int around = function_index; around != kNone && !is_member && !is_variable;
         around = project.function(around).parent) {
      is_variable = symbols.locals(around).contains(name);
    }
    if (writes_at(file.code, index)) {
      add_name(function.segments[segment].writes, name);
    } else if (is_variable) {
      add_name(function.segments[segment].reads, name);
    }
  }
}

}  // namespace

int segment_at(const Function& function, int line) {
  for (std::size_t index = 0; index < function.segments.size(); ++index) {
    if (function.segments[index].lines.contains(line)) {
      return static_cast<int>(index);
    }
  }
  return kNone;
}

void cut_segments(Project& project, const Symbols& symbols, const FileMechanisms& mechanisms) {
  for (std::size_t index = 0; index < project.functions.size(); ++index) {
    Function& function = project.functions[index];
    const SourceFile& file = project.file_of(function);
    function.segments =
        Cutter(file, function, mechanisms[static_cast<std::size_t>(function.file)]).run();
    set_names(project, symbols, static_cast<int>(index));
  }
  const auto attach = [&](int function, const std::vector<Site>& sites, int index,
                          std::vector<int> Segment::* list) {
    for (const Site& site : sites) {
      const int segment = segment_at(project.function(function), site.line);
      if (segment != kNone) {
        std::vector<int>& into =
            project.function(function).segments[static_cast<std::size_t>(segment)].*list;
        if (into.empty() || into.back() != index) {
          into.push_back(index);
        }
      }
    }
  };
  for (std::size_t index = 0; index < project.edges.size(); ++index) {
    attach(project.edges[index].from, project.edges[index].sites, static_cast<int>(index),
           &Segment::edges);
  }
  for (std::size_t index = 0; index < project.external_calls.size(); ++index) {
    attach(project.external_calls[index].from, project.external_calls[index].sites,
           static_cast<int>(index), &Segment::external_calls);
  }
}

}  // namespace crossdock::explore
