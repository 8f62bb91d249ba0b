// SPDX-License-Identifier: Apache-2.0
#include "explore/graph/resolve.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace crossdock::explore {
namespace {

/// Whether `scope` is `part` or ends in "::part".
bool ends_in_scope(std::string_view scope, std::string_view part) {
  return scope == part || (scope.ends_with(part) && scope.size() > part.size() + 1 &&
                           (scope[scope.size() - part.size() - 1] == ':' ||
                            scope[scope.size() - part.size() - 1] == '.'));
}

/// Whether code in `inner` sees the names of `outer` without a qualifier.
bool is_around(std::string_view outer, std::string_view inner) {
  return outer.empty() || outer == inner ||
         (inner.starts_with(outer) && inner.substr(outer.size()).starts_with("::"));
}

template <typename Keep>
std::vector<int> filter(const std::vector<int>& candidates, const Keep& keep) {
  std::vector<int> kept;
  std::copy_if(candidates.begin(), candidates.end(), std::back_inserter(kept), keep);
  return kept;
}

bool is_container_word(std::string_view name) {
  constexpr std::array<std::string_view, 36> kWords = {
      "size",     "begin",     "end",     "data",    "push_back", "emplace_back", "clear", "empty",
      "find",     "insert",    "erase",   "front",   "back",      "at",           "count", "get",
      "reset",    "str",       "c_str",   "append",  "resize",    "reserve",      "load",  "store",
      "value",    "contains",  "emplace", "release", "swap",      "substr",       "join",  "lock",
      "exchange", "fetch_add", "first",   "second"};
  return std::find(kWords.begin(), kWords.end(), name) != kWords.end();
}

class CppResolver {
 public:
  CppResolver(const Project& project, const Symbols& symbols, const CallSite& site)
      : project_(project),
        symbols_(symbols),
        site_(site),
        caller_(project.function(site.function)),
        file_(project.file_of(caller_)),
        name_(file_.code.text(site.token)),
        all_(filter(symbols.functions(name_),
                    [&](int index) { return project.file_of(project.function(index)).is_cpp(); })) {
  }

  Meaning run() {
    Meaning meaning = resolve();
    if (meaning.form == EdgeForm::kCall) {
      meaning.form = site_.form;
    }
    return meaning;
  }

 private:
  Meaning resolve() {
    if (site_.form == EdgeForm::kConstruct) {
      return symbols_.is_class(name_) ? constructors() : Meaning{};
    }
    if (!site_.qualifier.empty()) {
      return resolve_qualified();
    }
    if (site_.receiver == Receiver::kThis) {
      return in_own_class().value_or_external();
    }
    if (site_.receiver == Receiver::kObject) {
      return resolve_member();
    }
    return resolve_plain();
  }

  struct Maybe {
    bool found = false;
    Meaning meaning;
    [[nodiscard]] Meaning value_or_external() const { return found ? meaning : Meaning{}; }
  };

  [[nodiscard]] std::vector<int> in_class(std::string_view type) const {
    for (const std::string& name : symbols_.with_bases(type)) {
      std::vector<int> members = filter(all_, [&](int index) {
        return project_.function(index).kind == FunctionKind::kMember &&
               last_part(project_.function(index).found.scope) == name;
      });
      if (!members.empty()) {
        return members;
      }
    }
    return {};
  }

  [[nodiscard]] std::string_view own_class() const {
    int around = site_.function;
    while (around != kNone) {
      const Function& function = project_.function(around);
      if (function.kind == FunctionKind::kMember) {
        return last_part(function.found.scope);
      }
      around = function.parent;
    }
    return {};
  }

  [[nodiscard]] Maybe in_own_class() const {
    const std::string_view own = own_class();
    const std::vector<int> members = own.empty() ? std::vector<int>{} : in_class(own);
    return members.empty() ? Maybe{} : Maybe{true, choose(project_, members, site_, true)};
  }

  Meaning resolve_qualified() {
    const auto with_scope = [&](std::string_view scope) {
      return filter(all_, [&](int index) {
        return ends_in_scope(project_.function(index).found.scope, scope);
      });
    };
    std::string qualifier = site_.qualifier;
    std::vector<int> candidates = with_scope(qualifier);
    if (candidates.empty()) {
      const std::string_view last = last_part(qualifier);
      const std::string* const alias = symbols_.alias(last);
      if (alias != nullptr && alias->empty() && qualifier.find(':') == std::string::npos) {
        return choose(project_, members_only(), site_, false);  // T::f()
      }
      if (alias != nullptr) {
        candidates = with_scope(*alias);
      }
      if (candidates.empty() && symbols_.is_class(last)) {
        candidates = in_class(last);
      }
    }
    if (candidates.empty() && symbols_.is_class(name_)) {
      return constructors();
    }
    return candidates.empty() ? Meaning{} : choose(project_, nearest(candidates), site_, true);
  }

  Meaning resolve_member() {
    std::string type = receiver_type(project_, symbols_, site_);
    if (const std::string* const alias = symbols_.alias(type); alias != nullptr) {
      type = *alias;
    }
    if (symbols_.is_class(type)) {
      const std::vector<int> members = in_class(type);
      // A handle: its "->" leads to another class.
      return members.empty() ? choose(project_, members_only(), site_, false)
                             : choose(project_, members, site_, true);
    }
    if (!type.empty()) {
      return external("of " + type + ", which is not in the tree");
    }
    if (is_container_word(name_)) {
      return external("a name of the standard library; its receiver is not known");
    }
    return choose(project_, members_only(), site_, false);
  }

  [[nodiscard]] std::vector<int> members_only() const {
    return filter(
        all_, [&](int index) { return project_.function(index).kind == FunctionKind::kMember; });
  }

  Meaning resolve_plain() {
    const int lambda = symbols_.lambda_in(site_.function, name_);
    if (lambda != kNone) {
      return {{lambda}, EdgeClass::kExact, EdgeForm::kLambda, {}};
    }
    for (int around = site_.function; around != kNone; around = project_.function(around).parent) {
      if (symbols_.locals(around).contains(name_)) {
        return external("a variable of the function");
      }
    }
    if (const Maybe own = in_own_class(); own.found) {
      return own.meaning;
    }
    const std::vector<int> free = filter(all_, [&](int index) {
      const Function& function = project_.function(index);
      return function.kind != FunctionKind::kMember &&
             (!function.is_internal || function.file == caller_.file || is_header(function));
    });
    const std::vector<int> visible = filter(free, [&](int index) {
      return is_around(project_.function(index).found.scope, caller_scope());
    });
    if (!visible.empty()) {
      return choose(project_, nearest(visible), site_, true);
    }
    if (!free.empty()) {
      return choose(project_, nearest(free), site_, false);
    }
    return symbols_.is_class(name_) ? constructors() : Meaning{};
  }

  [[nodiscard]] bool is_header(const Function& function) const {
    const std::string& path = project_.file_of(function).path;
    return path.ends_with(".h") || path.ends_with(".hpp") || path.ends_with(".cuh");
  }

  [[nodiscard]] std::string caller_scope() const {
    int around = site_.function;
    while (project_.function(around).parent != kNone) {
      around = project_.function(around).parent;
    }
    return project_.function(around).found.scope;
  }

  /// Those of the longest namespace around the caller; of these, the file's own when there are any.
  [[nodiscard]] std::vector<int> nearest(const std::vector<int>& candidates) const {
    std::size_t longest = 0;
    const std::string scope = caller_scope();
    const auto depth = [&](int index) {
      const std::string& own = project_.function(index).found.scope;
      return is_around(own, scope) ? own.size() + 1 : 0;
    };
    for (const int index : candidates) {
      longest = std::max(longest, depth(index));
    }
    std::vector<int> kept = filter(candidates, [&](int index) { return depth(index) == longest; });
    const std::vector<int> same_file =
        filter(kept, [&](int index) { return project_.function(index).file == caller_.file; });
    return same_file.empty() ? kept : same_file;
  }

  Meaning constructors() {
    Meaning meaning;
    const std::vector<int> found = filter(
        all_, [&](int index) { return last_part(project_.function(index).found.scope) == name_; });
    if (!found.empty()) {
      meaning = choose(project_, found, site_, true);
    }
    meaning.form = EdgeForm::kConstruct;
    return meaning;
  }

  const Project& project_;
  const Symbols& symbols_;
  const CallSite& site_;
  const Function& caller_;
  const SourceFile& file_;
  std::string_view name_;
  std::vector<int> all_;
};

}  // namespace

bool takes(const Project& project, int function, int argument_count) {
  if (argument_count < 0) {
    return true;
  }
  const Function& callee = project.function(function);
  int least = 0;
  int most = 0;
  bool has_pack = false;
  for (const Parameter& parameter : callee.parameters) {
    const bool is_self = most == 0 && least == 0 && callee.kind == FunctionKind::kMember &&
                         (parameter.name == "self" || parameter.name == "cls");
    if (parameter.is_pack) {
      has_pack = true;
    } else if (!is_self) {
      ++most;
      least += parameter.has_default ? 0 : 1;
    }
  }
  return argument_count >= least && (has_pack || argument_count <= most);
}

Meaning choose(const Project& project, std::vector<int> candidates, const CallSite& site,
               bool sure) {
  Meaning meaning;
  std::vector<int> fitting =
      filter(candidates, [&](int index) { return takes(project, index, site.argument_count); });
  const bool fits = !fitting.empty();
  meaning.functions = fits ? std::move(fitting) : std::move(candidates);
  if (meaning.functions.size() > 1) {
    meaning.edge_class = EdgeClass::kAmbiguous;
  } else if (!sure || !fits || !site.is_parsed ||
             (site.argument_count < 0 && site.form != EdgeForm::kTemplateCall)) {
    meaning.edge_class = EdgeClass::kNameOnly;
  }
  return meaning;
}

std::string receiver_type(const Project& project, const Symbols& symbols, const CallSite& site) {
  const bool is_simple = site.chain == site.object;
  if (is_simple) {
    for (int around = site.function; around != kNone; around = project.function(around).parent) {
      const Locals& locals = symbols.locals(around);
      if (const auto found = locals.find(site.object); found != locals.end()) {
        return found->second;
      }
    }
  }
  const Function& caller = project.function(site.function);
  if (project.file_of(caller).is_python()) {
    const std::string own(last_part(caller.found.scope));
    return site.chain == "self." + site.object
               ? std::string(symbols.member_type(own + "." + site.object))
               : std::string();
  }
  return std::string(symbols.member_type(site.object));
}

Meaning resolve_cpp(const Project& project, const Symbols& symbols, const CallSite& site) {
  return CppResolver(project, symbols, site).run();
}

}  // namespace crossdock::explore
