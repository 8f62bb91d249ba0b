// SPDX-License-Identifier: Apache-2.0
#include "explore/facts/regions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

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

}  // namespace

void add_allocation(Project& project, const Rules& rules, int file, std::size_t callee) {
  Regions(project, rules, file).add_allocation(callee);
}

void add_shared_arrays(Project& project, int file) {
  const SourceFile& source = project.file(file);
  Regions regions(project, default_rules(), file);
  for (std::size_t token = 0; token < source.code.size(); ++token) {
    if (source.code.text(token) == "__shared__" && source.owners[token] != kNone) {
      regions.add_shared(token);
    }
  }
}

}  // namespace crossdock::explore
