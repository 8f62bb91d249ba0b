// SPDX-License-Identifier: Apache-2.0
#include "explore/facts/memory.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "explore/facts/regions.h"
#include "explore/graph/call_sites.h"
#include "explore/parse/parameters.h"

namespace crossdock::explore {
namespace {

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// Registrations and launches that name a region.
class Users {
 public:
  explicit Users(Project& project) : project_(project) {
    for (std::size_t index = 0; index < project.regions.size(); ++index) {
      by_name_.emplace(project.regions[index].name, static_cast<int>(index));
    }
  }

  void add_registration(int file_index, std::size_t callee) {
    const SourceFile& file = project_.file(file_index);
    const std::size_t open = after_callee(file, callee);
    const int line = static_cast<int>(file.code[callee].line);
    for (std::size_t index = open; index < file.code.match(open) && index < file.code.size();
         ++index) {
      for (const int region : named(file.code.text(index), file_index)) {
        project_.regions[static_cast<std::size_t>(region)].registered.push_back(
            {file_index, line, one_line(file.text.line(line), 160)});
      }
    }
  }

  void add_launch(int file_index, std::size_t callee, const Symbols& symbols) {
    const SourceFile& file = project_.file(file_index);
    const auto& kernels = symbols.functions(file.code.text(callee));
    if (kernels.empty()) {
      return;
    }
    const Function& kernel = project_.function(kernels.front());
    const auto arguments = split_arguments(file.code, after_callee(file, callee));
    for (std::size_t number = 0; number < arguments.size(); ++number) {
      for (std::size_t index = arguments[number].first; index < arguments[number].last; ++index) {
        for (const int region : named(file.code.text(index), file_index)) {
          const std::string parameter =
              number < kernel.parameters.size() ? kernel.parameters[number].name : "";
          project_.regions[static_cast<std::size_t>(region)].kernel_arguments.push_back(
              {kernels.front(), parameter, file_index, static_cast<int>(file.code[callee].line)});
        }
      }
    }
  }

  /// Regions of that name: those of the file, else those that live in objects.
  [[nodiscard]] std::vector<int> named(std::string_view name, int file) const {
    std::vector<int> found;
    const auto [first, last] = by_name_.equal_range(std::string(name));
    for (auto entry = first; entry != last; ++entry) {
      const Region& region = project_.regions[static_cast<std::size_t>(entry->second)];
      if (region.file == file || region.lifetime == "object") {
        found.push_back(entry->second);
      }
    }
    return found;
  }

 private:
  Project& project_;
  std::multimap<std::string, int> by_name_;
};

class Transfers {
 public:
  Transfers(Project& project, const Rules& rules, const Symbols& symbols, const Users& users)
      : project_(project), rules_(rules), symbols_(symbols), users_(users) {}

  void add(int file_index, std::size_t callee) {
    const SourceFile& file = project_.file(file_index);
    const auto arguments = split_arguments(file.code, after_callee(file, callee));
    const std::string_view name = file.code.text(callee);
    Transfer transfer;
    transfer.function = file.owners[callee];
    transfer.file = file_index;
    transfer.line = static_cast<int>(file.code[callee].line);
    const std::string_view engine = rules_.engine(name);
    transfer.engine = engine.empty() ? "load_store" : engine;
    const auto end = [&](std::size_t number) {
      return number < arguments.size() ? end_of(file_index, transfer.function, arguments[number])
                                       : TransferEnd{};
    };
    const Layout layout = layout_of(name, arguments.size());
    transfer.target = end(layout.target);
    transfer.source = end(layout.source);
    if (layout.length < arguments.size()) {
      transfer.length = one_line(joined(file.code, arguments[layout.length]), 120);
    }
    if (transfer.source.text.empty() && transfer.target.text.empty()) {
      return;
    }
    Function& function = project_.function(transfer.function);
    transfer.segment = segment_at(function, transfer.line);
    if (transfer.segment != kNone) {
      function.segments[static_cast<std::size_t>(transfer.segment)].spaces = {
          transfer.source.space, transfer.target.space};
    }
    project_.transfers.push_back(std::move(transfer));
  }

 private:
  struct Layout {
    std::size_t target;
    std::size_t source;
    std::size_t length;
  };

  /// Which argument is what; past the end when there is none. Most copy (target, source, length).
  static Layout layout_of(std::string_view name, std::size_t count) {
    constexpr std::size_t kAbsent = 1000;
    if (contains(name, "WARP_COPY") && count >= 5) {
      return {3, 4, 2};
    }
    if (contains(name, "tma_store") || contains(name, "get_nbi")) {
      return {1, 0, 2};
    }
    if (name.starts_with("ld_")) {
      return {kAbsent, 0, kAbsent};
    }
    return {0, 1, 2};
  }

  [[nodiscard]] TransferEnd end_of(int file_index, int function, TokenRange range) const {
    const SourceFile& file = project_.file(file_index);
    TransferEnd end;
    end.text = one_line(joined(file.code, range), 120);
    for (std::size_t index = range.first; index < range.last; ++index) {
      if (!file.code.is_name(index)) {
        continue;
      }
      const std::string_view word = file.code.text(index);
      if (end.region == kNone) {
        const std::vector<int> regions = users_.named(word, file_index);
        end.region = regions.empty() ? kNone : regions.front();
      }
      if (end.space == "unknown") {
        end.space = space_of(function, word);
      }
    }
    if (end.space == "global" && is_remote(function, range)) {
      end.space = "window";
    }
    if (end.space == "unknown" && end.region != kNone) {
      end.space = project_.regions[static_cast<std::size_t>(end.region)].space;
    }
    return end;
  }

  /// Whether a tensor is laid over an address in a window: "t.SetGlobalBuffer(peer.base + ...)".
  [[nodiscard]] bool is_remote(int function_index, TokenRange range) const {
    const Function& function = project_.function(function_index);
    const Tokens& code = project_.file_of(function).code;
    for (std::size_t at = function.first_token; at + 3 < function.last_token; ++at) {
      const bool binds = code.text(at) == code.text(range.first) && code.text(at + 1) == "." &&
                         code.text(at + 2) == "SetGlobalBuffer";
      if (binds && names_window(function_index, {at + 3, code.match(at + 3)}, 0)) {
        return true;
      }
    }
    return false;
  }

  /// By names and types, through one more variable.
  [[nodiscard]] bool names_window(int function_index, TokenRange range, int depth) const {
    const Function& function = project_.function(function_index);
    const Tokens& code = project_.file_of(function).code;
    for (std::size_t at = range.first; at < range.last && at < code.size(); ++at) {
      if (!code.is_name(at)) {
        continue;
      }
      if (space_of(function_index, code.text(at)) == "window") {
        return true;
      }
      for (std::size_t use = function.first_token; depth == 0 && use < range.first; ++use) {
        const bool sets = code.text(use) == code.text(at) && code.text(use + 1) == "=";
        std::size_t end = use + 2;
        while (sets && end < function.last_token && code.text(end) != ";") {
          ++end;
        }
        if (sets && names_window(function_index, {use + 2, end}, depth + 1)) {
          return true;
        }
      }
    }
    return false;
  }

  /// By the name, by the type it was declared with, or by a qualifier of the parameter.
  [[nodiscard]] std::string space_of(int function, std::string_view word) const {
    std::string_view space = rules_.space(word);
    for (int around = function; around != kNone && space.empty();
         around = project_.function(around).parent) {
      const Locals& locals = symbols_.locals(around);
      if (const auto found = locals.find(word); found != locals.end()) {
        space = rules_.space(found->second);
      }
      for (const Parameter& parameter : project_.function(around).parameters) {
        if (space.empty() && parameter.name == word) {
          space = contains(parameter.type, "__gm__")     ? "global"
                  : contains(parameter.type, "__ubuf__") ? "shared"
                                                         : "";
        }
      }
    }
    if (space.empty()) {
      space = rules_.space(symbols_.member_type(word));
    }
    return space.empty() ? "unknown" : std::string(space);
  }

  Project& project_;
  const Rules& rules_;
  const Symbols& symbols_;
  const Users& users_;
};

}  // namespace

void find_memory(Project& project, const Rules& rules, const Symbols& symbols,
                 const FileMechanisms& mechanisms) {
  const auto for_each = [&](Mechanism wanted, const auto& visit) {
    for (std::size_t file = 0; file < mechanisms.size(); ++file) {
      for (const MechanismAt& entry : mechanisms[file]) {
        if (entry.mechanism == wanted) {
          visit(static_cast<int>(file), entry.token);
        }
      }
    }
  };
  for (std::size_t file = 0; file < project.files.size(); ++file) {
    add_shared_arrays(project, static_cast<int>(file));
  }
  for_each(Mechanism::kAllocate,
           [&](int file, std::size_t callee) { add_allocation(project, rules, file, callee); });
  Users users(project);
  for_each(Mechanism::kRegister,
           [&](int file, std::size_t callee) { users.add_registration(file, callee); });
  for_each(Mechanism::kLaunch,
           [&](int file, std::size_t callee) { users.add_launch(file, callee, symbols); });
  Transfers transfers(project, rules, symbols, users);
  const auto add = [&](int file, std::size_t callee) { transfers.add(file, callee); };
  for_each(Mechanism::kCopy, add);
  for_each(Mechanism::kWorkRequest, add);
}

}  // namespace crossdock::explore
