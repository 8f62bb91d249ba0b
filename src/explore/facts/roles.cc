// SPDX-License-Identifier: Apache-2.0
#include "explore/facts/roles.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "explore/facts/statements.h"
#include "explore/graph/declared_names.h"
#include "explore/graph/reach.h"

namespace crossdock::explore {
namespace {

constexpr int kDepthMax = 3;          // Entry branches are near the top.
constexpr int kLinesMin = 4;          // A role does something.
constexpr int kElectedLinesMin = 12;  // "if (thread == 0)" is mostly an election, not a role.

/// Names that carry an id, with its axis.
using Ids = std::map<std::string, std::string, std::less<>>;

class Finder {
 public:
  Finder(Project& project, const Rules& rules, const FileMechanisms& mechanisms, const Ids& members,
         int function)
      : project_(project),
        rules_(rules),
        members_(members),
        function_index_(function),
        function_(project.function(function)),
        file_(project.file_of(function_)),
        code_(file_.code),
        mechanisms_(mechanisms[static_cast<std::size_t>(function_.file)]) {}

  void run() {
    find_ids();
    visit(read_statements(file_, function_), 0);
  }

 private:
  /// The axis of the first id in [first, last), or "".
  [[nodiscard]] std::string axis_in(std::size_t first, std::size_t last) const {
    for (std::size_t index = first; index < last; ++index) {
      if (!code_.is_name(index)) {
        continue;
      }
      if (const auto known = ids_.find(code_.text(index)); known != ids_.end()) {
        return known->second;
      }
      const std::string_view axis = rules_.axis(code_.text(index));
      if (!axis.empty() && axis != "rank") {
        return std::string(axis);
      }
    }
    return {};
  }

  /// "const auto role = warp_id < 4 ? kSender : kReceiver;" makes role an id, too.
  void find_ids() {
    ids_ = members_;
    for (std::size_t index = function_.first_token; index < function_.last_token; ++index) {
      const bool assigns = code_.is_name(index) && code_.text(index + 1) == "=" &&
                           cpp_declaration_at(code_, index).is_declared;
      if (!assigns) {
        continue;
      }
      std::size_t end = index + 2;
      while (end < function_.last_token && code_.text(end) != ";" && code_.text(end) != ",") {
        const bool is_bracket = code_.text(end) == "(" || code_.text(end) == "{";
        end = is_bracket ? std::max(code_.match(end), end) + 1 : end + 1;
      }
      const std::string axis = axis_in(index + 2, std::min(end, function_.last_token));
      const std::string_view own = rules_.axis(code_.text(index));  // warp_id = threadIdx.x / 32
      if (!axis.empty()) {
        ids_.try_emplace(std::string(code_.text(index)), own.empty() ? axis : std::string(own));
      }
    }
  }

  void visit(const std::vector<Statement>& statements, int depth) {
    for (std::size_t index = 0; index < statements.size(); ++index) {
      const Statement& statement = statements[index];
      if (statement.kind == StatementKind::kGuard && !statement.is_else) {
        std::size_t end = index + 1;
        while (end < statements.size() && statements[end].is_else) {
          ++end;
        }
        add_chain({statements.begin() + static_cast<std::ptrdiff_t>(index),
                   statements.begin() + static_cast<std::ptrdiff_t>(end)});
      }
      const bool goes_on = depth < kDepthMax && statement.kind != StatementKind::kSimple;
      if (goes_on) {
        visit(statement.children, depth + 1);
      }
    }
  }

  [[nodiscard]] LineRange lines(const Statement& statement) const {
    return file_.text.lines_of({code_[statement.first].begin, code_[statement.last - 1].end});
  }

  /// An if and its elses, when an id chooses among them.
  void add_chain(const std::vector<Statement>& chain) {
    std::string axis;
    int most_lines = 0;
    for (const Statement& branch : chain) {
      const std::string own = axis_in(branch.first, branch.head_last);
      axis = axis.empty() ? own : axis;
      most_lines = std::max(most_lines, lines(branch).count());
    }
    const bool is_elected = chain.size() == 1 && (axis == "thread" || axis == "warp") &&
                            code_.text(chain[0].head_last - 2) == "0";
    const int least = is_elected ? kElectedLinesMin : chain.size() > 1 ? 2 : kLinesMin;
    if (axis.empty() || most_lines < least || !chooses(chain)) {
      return;
    }
    Fork fork;
    fork.function = function_index_;
    fork.line = lines(chain.front()).first;
    set_join(fork, chain.back().last);
    std::string others;
    for (const Statement& branch : chain) {
      fork.roles.push_back(add_role(branch, axis, others));
    }
    project_.forks.push_back(std::move(fork));
  }

  /// A bound check ("if (warp < n)" with a loop's body) is no role: one lone guard must call or
  /// synchronise.
  [[nodiscard]] bool chooses(const std::vector<Statement>& chain) const {
    if (chain.size() > 1) {
      return true;
    }
    const auto first = std::lower_bound(
        mechanisms_.begin(), mechanisms_.end(), chain[0].head_last,
        [](const MechanismAt& entry, std::size_t value) { return entry.token < value; });
    return first != mechanisms_.end() && first->token < chain[0].last;
  }

  int add_role(const Statement& branch, const std::string& axis, std::string& others) {
    Role role;
    role.function = function_index_;
    role.axis = axis;
    role.lines = lines(branch);
    const std::string own = condition_of(branch);
    role.condition = own.empty() ? others : own;
    if (!own.empty()) {
      others += (others.empty() ? "" : " && ") + fmt::format("!({})", own);
    }
    role.name = fmt::format("{}: {}", function_.name, one_line(role.condition, 60));
    role.id = fmt::format("{}@{}", function_.id, one_line(role.condition, 60));
    for (std::size_t index = 0; index < project_.roles.size(); ++index) {
      const Role& outer = project_.roles[index];
      if (outer.function == function_index_ && outer.lines.first <= role.lines.first &&
          role.lines.last <= outer.lines.last) {
        role.parent = static_cast<int>(index);
      }
    }
    project_.roles.push_back(std::move(role));
    return static_cast<int>(project_.roles.size()) - 1;
  }

  /// Between the parentheses; "" of a plain else.
  [[nodiscard]] std::string condition_of(const Statement& branch) const {
    std::size_t open = branch.first;
    while (open < branch.head_last && code_.text(open) != "(") {
      ++open;
    }
    if (open + 1 >= branch.head_last) {
      return {};
    }
    const ByteRange bytes{code_[open].end, code_[branch.head_last - 1].begin};
    return one_line(file_.text.view().substr(bytes.begin, bytes.end - bytes.begin), 160);
  }

  /// The first barrier behind the branches joins them.
  void set_join(Fork& fork, std::size_t after) const {
    fork.join = "end";
    for (const MechanismAt& entry : mechanisms_) {
      if (entry.token >= after && entry.token < function_.last_token &&
          entry.mechanism == Mechanism::kBarrier) {
        fork.join = "barrier";
        fork.join_line = static_cast<int>(code_[entry.token].line);
        return;
      }
    }
  }

  Project& project_;
  const Rules& rules_;
  const Ids& members_;
  int function_index_;
  const Function& function_;
  const SourceFile& file_;
  const Tokens& code_;
  const std::vector<MechanismAt>& mechanisms_;
  Ids ids_;
};

/// Members that some function sets to an id: "block_ = GetBlockIdx();".
Ids find_member_ids(const Project& project, const Rules& rules) {
  Ids ids;
  for (const auto& file : project.files) {
    for (std::size_t index = 0; index + 2 < file->code.size(); ++index) {
      if (!file->code.is_name(index) || !file->code.text(index).ends_with('_') ||
          file->code.text(index + 1) != "=") {
        continue;
      }
      for (std::size_t at = index + 2; at < file->code.size() && file->code.text(at) != ";"; ++at) {
        const std::string_view axis = rules.axis(file->code.text(at));
        if (file->code.is_name(at) && !axis.empty() && axis != "rank") {
          ids.try_emplace(std::string(file->code.text(index)), axis);
        }
      }
    }
  }
  return ids;
}

/// "scan" of RunScanRole, "send_rows" of send_rows.
std::string spoken(std::string_view name) {
  for (const std::string_view prefix : {"Run", "run_", "Do", "do_"}) {
    if (name.starts_with(prefix) && name.size() > prefix.size()) {
      name.remove_prefix(prefix.size());
      break;
    }
  }
  for (const std::string_view suffix : {"Role", "_role", "_impl", "Impl"}) {
    if (name.ends_with(suffix) && name.size() > suffix.size()) {
      name.remove_suffix(suffix.size());
      break;
    }
  }
  std::string out(name);
  const bool has_capital = out.front() >= 'A' && out.front() <= 'Z';
  out.front() = has_capital ? static_cast<char>(out.front() - 'A' + 'a') : out.front();
  return out;
}

/// A role that hands all its work to one function is called like it.
void set_name(Project& project, Role& role, const std::vector<int>& called) {
  constexpr int kHandOverLinesMax = 4;
  if (called.size() == 1 && role.lines.count() <= kHandOverLinesMax) {
    role.name = spoken(project.function(called.front()).name);
  }
}

/// What the calls in a role's lines reach.
void set_functions(Project& project) {
  const auto out = edges_out(project);
  for (std::size_t index = 0; index < project.roles.size(); ++index) {
    Role& role = project.roles[index];
    std::vector<bool> seen(project.functions.size(), false);
    std::vector<int> open;
    const auto push = [&](int function) {
      if (!seen[static_cast<std::size_t>(function)]) {
        seen[static_cast<std::size_t>(function)] = true;
        open.push_back(function);
      }
    };
    for (const int edge_index : out[static_cast<std::size_t>(role.function)]) {
      const Edge& edge = project.edges[static_cast<std::size_t>(edge_index)];
      const bool is_inside =
          std::any_of(edge.sites.begin(), edge.sites.end(),
                      [&](const Site& site) { return role.lines.contains(site.line); });
      if (is_inside && is_control(edge) && edge.edge_class != EdgeClass::kAmbiguous) {
        push(edge.to);
      }
    }
    set_name(project, role, open);
    for (std::size_t at = 0; at < open.size(); ++at) {
      for (const int edge_index : out[static_cast<std::size_t>(open[at])]) {
        const Edge& edge = project.edges[static_cast<std::size_t>(edge_index)];
        if (is_control(edge) && edge.edge_class != EdgeClass::kAmbiguous) {
          push(edge.to);
        }
      }
    }
    std::sort(open.begin(), open.end());
    for (const int function : open) {
      project.function(function).roles.push_back(static_cast<int>(index));
    }
    role.functions = std::move(open);
  }
}

}  // namespace

void find_roles(Project& project, const Rules& rules, const FileMechanisms& mechanisms) {
  const Ids members = find_member_ids(project, rules);
  for (std::size_t index = 0; index < project.functions.size(); ++index) {
    if (project.functions[index].execution != "host") {
      Finder(project, rules, mechanisms, members, static_cast<int>(index)).run();
    }
  }
  set_functions(project);
}

}  // namespace crossdock::explore
