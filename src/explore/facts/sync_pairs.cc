// SPDX-License-Identifier: Apache-2.0
#include "explore/facts/sync_pairs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "explore/facts/address_key.h"
#include "explore/graph/call_sites.h"
#include "explore/parse/parameters.h"

namespace crossdock::explore {
namespace {

constexpr std::size_t kEdgesMax = 64;  // of one pair

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

class Finder {
 public:
  Finder(Project& project, const Symbols& symbols) : project_(project), symbols_(symbols) {}

  void add(int file_index, const MechanismAt& entry) {
    const SourceFile& file = project_.file(file_index);
    const int function_index = file.owners[entry.token];
    const Function& function = project_.function(function_index);
    const bool is_barrier = entry.mechanism == Mechanism::kBarrier;
    if (!is_barrier && !takes_address(file.code.text(entry.token))) {
      return;
    }
    const std::string key =
        is_barrier ? std::string(file.code.text(entry.token)) : key_of(file, function, entry.token);
    if (key.empty()) {
      return;
    }
    const std::string_view callee = file.code.text(entry.token);
    SyncPair& pair = pair_of(key, is_barrier ? "barrier" : kind_of(callee));
    const int line = static_cast<int>(file.code[entry.token].line);
    const SyncPoint point{function_index, file_index, line, one_line(file.text.line(line), 160),
                          segment_at(function, line)};
    if (is_barrier || entry.mechanism == Mechanism::kFlagWrite) {
      pair.publishers.push_back(point);
    }
    if (is_barrier || entry.mechanism == Mechanism::kFlagPoll) {
      pair.waiters.push_back(point);
    }
  }

  void finish() {
    for (std::size_t index = 0; index < project_.sync.size(); ++index) {
      SyncPair& pair = project_.sync[index];
      const auto& helpers = symbols_.functions(pair.key);
      pair.edge_class = helpers.size() == 1 ? EdgeClass::kExact : EdgeClass::kNameOnly;
      if (pair.kind != "barrier") {
        add_edges(static_cast<int>(index));
      }
    }
  }

 private:
  /// A function of the tree counts where it is called when it gets the address; else what it does
  /// inside counts.
  [[nodiscard]] bool takes_address(std::string_view callee) const {
    const std::vector<int>& known = symbols_.functions(callee);
    return known.empty() || std::any_of(known.begin(), known.end(), [&](int index) {
             const Function& function = project_.function(index);
             return !function.parameters.empty() &&
                    (contains(function.parameters.front().type, "*") ||
                     contains(function.parameters.front().type, "_ADDR") ||
                     contains(function.parameters.front().type, "Tensor"));
           });
  }

  SyncPair& pair_of(const std::string& key, std::string_view kind) {
    const auto [entry, is_new] = known_.try_emplace(key, project_.sync.size());
    if (is_new) {
      SyncPair pair;
      pair.id = "sync:" + key;
      pair.kind = kind;
      pair.key = key;
      project_.sync.push_back(std::move(pair));
    }
    return project_.sync[entry->second];
  }

  static std::string_view kind_of(std::string_view callee) {
    if (contains(callee, "Flag") || contains(callee, "event")) {
      return "event";
    }
    if (contains(callee, "signal") || contains(callee, "amo")) {
      return "signal";
    }
    return contains(callee, "add") ? "counter" : "flag";
  }

  /// What the call publishes or waits for: an event's template argument, the receiver of an atomic,
  /// else its first argument.
  [[nodiscard]] static std::string key_of(const SourceFile& file, const Function& function,
                                          std::size_t callee) {
    const Tokens& code = file.code;
    const std::string_view name = code.text(callee);
    const std::size_t open = after_callee(file, callee);
    const auto arguments = split_arguments(code, open);
    if (arguments.empty() && code.text(callee + 1) == "<" && open > callee + 2) {
      return joined(code, {callee + 2, open - 1});
    }
    if ((name == "store" || name == "load") && callee >= 2) {
      std::size_t first = callee - 1;
      while (first > function.first_token && code.text(first - 1) != ";" &&
             code.text(first - 1) != "{" && code.text(first - 1) != "(" &&
             code.text(first - 1) != "=" && code.text(first - 1) != "}") {
        --first;
      }
      return address_key(file, function, {first, callee - 1});
    }
    const bool is_event = name == "SetFlag" || name == "WaitFlag" || name.starts_with("CrossCore");
    if (is_event && !arguments.empty()) {
      return joined(code, arguments[0]);
    }
    return arguments.empty() ? std::string() : address_key(file, function, arguments[0]);
  }

  /// Replies: the receiver tells the sender that it may go on.
  static EdgeKind edge_kind(std::string_view key) {
    for (const std::string_view part : {"credit", "ack", "head", "grant", "done", "consumed"}) {
      if (contains(key, part)) {
        return EdgeKind::kHandshake;
      }
    }
    return EdgeKind::kSync;
  }

  void add_edges(int index) {
    const SyncPair& pair = project_.sync[static_cast<std::size_t>(index)];
    std::map<std::pair<int, int>, std::vector<Site>> sites;
    for (const SyncPoint& publisher : pair.publishers) {
      for (const SyncPoint& waiter : pair.waiters) {
        if (sites.size() < kEdgesMax || sites.contains({publisher.function, waiter.function})) {
          std::vector<Site>& own = sites[{publisher.function, waiter.function}];
          const Site site{publisher.line, 0, 0};
          if (own.empty() || own.back() != site) {
            own.push_back(site);
          }
        }
      }
    }
    for (auto& [ends, lines] : sites) {
      Edge edge;
      edge.from = ends.first;
      edge.to = ends.second;
      edge.edge_class = pair.edge_class;
      edge.kind = edge_kind(pair.key);
      edge.form = EdgeForm::kSync;
      edge.sites = std::move(lines);
      std::sort(edge.sites.begin(), edge.sites.end());
      edge.sites.erase(std::unique(edge.sites.begin(), edge.sites.end()), edge.sites.end());
      edge.sync = index;
      project_.edges.push_back(std::move(edge));
    }
  }

  Project& project_;
  const Symbols& symbols_;
  std::map<std::string, std::size_t> known_;
};

}  // namespace

void find_sync_pairs(Project& project, const Symbols& symbols, const FileMechanisms& mechanisms) {
  Finder finder(project, symbols);
  for (std::size_t file = 0; file < mechanisms.size(); ++file) {
    if (!project.files[file]->is_cpp()) {
      continue;
    }
    for (const MechanismAt& entry : mechanisms[file]) {
      if (entry.mechanism == Mechanism::kFlagWrite || entry.mechanism == Mechanism::kFlagPoll ||
          entry.mechanism == Mechanism::kBarrier) {
        finder.add(static_cast<int>(file), entry);
      }
    }
  }
  finder.finish();
}

}  // namespace crossdock::explore
