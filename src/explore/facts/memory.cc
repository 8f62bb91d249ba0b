// SPDX-License-Identifier: Apache-2.0
#include "explore/facts/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "explore/graph/call_sites.h"
#include "explore/graph/declared_names.h"
#include "explore/parse/cpp_words.h"
#include "explore/parse/parameters.h"

namespace crossdock::explore {
namespace {

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

class Regions {
 public:
  Regions(Project& project, const Rules& rules, int file)
      : project_(project),
        rules_(rules),
        file_index_(file),
        file_(project.file(file)),
        code_(file_.code) {}

  void add_allocation(std::size_t callee) {
    const std::size_t open = after_callee(file_, callee);
    const auto arguments = split_arguments(code_, open);
    Region region;
    region.allocator = code_.text(callee);
    region.function = file_.owners[callee];
    region.file = file_index_;
    region.line = static_cast<int>(code_[callee].line);
    std::size_t first_size = 0;
    if (const std::size_t target = assigned(callee); target < code_.size()) {
      region.name = code_.text(target);
      region.lifetime = lifetime(target);
    } else if (!arguments.empty() && fills_argument(region.allocator)) {
      region.name = last_name(arguments[0]);
      first_size = 1;
    }
    if (region.name.empty()) {
      return;
    }
    region.requested =
        first_size < arguments.size()
            ? one_line(joined(code_, {arguments[first_size].first, arguments.back().last}), 120)
            : "";
    region.space = space_of(region);
    region.id = fmt::format("region:{}:{}", file_.path, region.name);
    project_.regions.push_back(std::move(region));
  }

  /// "__shared__ T name[N]".
  void add_shared(std::size_t qualifier) {
    std::size_t index = qualifier + 1;
    std::size_t name = code_.size();
    while (index < code_.size() && code_.text(index) != ";" && code_.text(index) != "[" &&
           code_.text(index) != "=" && code_.text(index) != "{") {
      if (code_.text(index) == "(" || code_.text(index) == "<") {
        const std::size_t close =
            code_.text(index) == "(" ? code_.match(index) : code_.match_angle(index);
        index = close < code_.size() ? close : index;
      } else if (code_.is_name(index)) {
        name = index;
      }
      ++index;
    }
    if (name >= code_.size()) {
      return;
    }
    Region region;
    region.name = code_.text(name);
    region.space = "shared";
    region.function = file_.owners[qualifier];
    region.file = file_index_;
    region.line = static_cast<int>(code_[name].line);
    region.requested = code_.text(index) == "["
                           ? one_line(joined(code_, {index + 1, code_.match(index)}), 120)
                           : "";
    region.lifetime = "scope";
    region.allocator = code_.text(qualifier);
    region.id = fmt::format("region:{}:{}", file_.path, region.name);
    project_.regions.push_back(std::move(region));
  }

 private:
  /// The variable of "x = f(...)", "T x = f(...)" and "T x(f(...))", or size().
  [[nodiscard]] std::size_t assigned(std::size_t callee) const {
    std::size_t index = callee;
    while (index > 0 &&
           (code_.is_name(index - 1) || code_.text(index - 1) == "::" ||
            code_.text(index - 1) == ">" || code_.text(index - 1) == "<" ||
            code_.text(index - 1) == "*" || code_.text(index - 1) == "." ||
            (code_.text(index - 1) == "(" && index >= 2 && code_.text(index - 2) == ">"))) {
      if (code_.text(index - 1) == "return") {
        return code_.size();
      }
      --index;
    }
    return index >= 2 && code_.text(index - 1) == "=" && code_.is_name(index - 2) ? index - 2
                                                                                  : code_.size();
  }

  static bool fills_argument(std::string_view allocator) {
    for (const std::string_view part :
         {"Malloc", "InitBuffer", "MemAlloc", "memalign", "SetGlobalBuffer", "HostAlloc"}) {
      if (contains(allocator, part)) {
        return true;
      }
    }
    return false;
  }

  [[nodiscard]] std::string last_name(TokenRange range) const {
    for (std::size_t index = range.last; index-- > range.first;) {
      if (code_.is_name(index) && !is_cpp_keyword(code_.text(index))) {
        return std::string(code_.text(index));
      }
    }
    return {};
  }

  [[nodiscard]] std::string_view lifetime(std::size_t target) const {
    const bool is_declared = cpp_declaration_at(code_, target).is_declared;
    if (!is_declared) {
      return code_.text(target).ends_with("_") || file_.is_python() ? "object" : "unknown";
    }
    for (std::size_t index = target; index-- > 0 && code_.text(index) != ";";) {
      if (code_.text(index) == "static") {
        return "process";
      }
      if (code_.text(index) == "{" || code_.text(index) == "}") {
        break;
      }
    }
    return "scope";
  }

  [[nodiscard]] std::string space_of(const Region& region) const {
    if (contains(region.allocator, "InitBuffer") || contains(region.allocator, "AllocTensor")) {
      return "shared";
    }
    if (contains(region.allocator, "shmem") || contains(region.allocator, "ncclMem") ||
        contains(region.allocator, "window")) {
      return "window";
    }
    if (contains(region.allocator, "HostAlloc") || region.allocator == "malloc" ||
        contains(region.allocator, "make_") || region.allocator == "mmap") {
      return "host";
    }
    if (contains(region.allocator, "Malloc") || contains(region.allocator, "GlobalBuffer")) {
      return "global";
    }
    const std::string_view named = rules_.space(region.name);
    return named.empty() ? "unknown" : std::string(named);
  }

  Project& project_;
  const Rules& rules_;
  int file_index_;
  const SourceFile& file_;
  const Tokens& code_;
};

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
    const SourceFile& source = *project.files[file];
    Regions regions(project, rules, static_cast<int>(file));
    for (std::size_t token = 0; token < source.code.size(); ++token) {
      if (source.code.text(token) == "__shared__" && source.owners[token] != kNone) {
        regions.add_shared(token);
      }
    }
  }
  for_each(Mechanism::kAllocate, [&](int file, std::size_t callee) {
    Regions(project, rules, file).add_allocation(callee);
  });
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
