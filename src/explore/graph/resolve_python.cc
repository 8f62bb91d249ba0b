// SPDX-License-Identifier: Apache-2.0
// Python's half of resolve.h.
#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "explore/graph/resolve.h"

namespace crossdock::explore {
namespace {

template <typename Keep>
std::vector<int> filter(const std::vector<int>& candidates, const Keep& keep) {
  std::vector<int> kept;
  std::copy_if(candidates.begin(), candidates.end(), std::back_inserter(kept), keep);
  return kept;
}

bool is_builtin_method(std::string_view name) {
  constexpr std::array<std::string_view, 24> kWords = {
      "append", "extend", "get",  "items",  "keys", "values", "join",  "split",
      "format", "copy",   "pop",  "update", "add",  "strip",  "size",  "to",
      "view",   "write",  "read", "close",  "sum",  "count",  "index", "sort"};
  return std::find(kWords.begin(), kWords.end(), name) != kWords.end();
}

class PythonResolver {
 public:
  PythonResolver(const Project& project, const Symbols& symbols, const CallSite& site)
      : project_(project),
        symbols_(symbols),
        site_(site),
        caller_(project.function(site.function)),
        file_(project.file_of(caller_)),
        name_(file_.code.text(site.token)),
        all_(filter(symbols.functions(name_), [&](int index) {
          return project.file_of(project.function(index)).is_python();
        })) {}

  Meaning run() {
    if (site_.receiver == Receiver::kThis) {
      return in_class(own_class(), true);
    }
    return site_.receiver == Receiver::kObject ? resolve_member() : resolve_plain();
  }

 private:
  [[nodiscard]] std::string_view own_class() const {
    for (int around = site_.function; around != kNone; around = project_.function(around).parent) {
      if (project_.function(around).kind == FunctionKind::kMember) {
        return last_part(project_.function(around).found.scope);
      }
    }
    return {};
  }

  [[nodiscard]] Meaning in_class(std::string_view type, bool sure) const {
    for (const std::string& name : symbols_.with_bases(type)) {
      const std::vector<int> members = filter(all_, [&](int index) {
        return project_.function(index).kind == FunctionKind::kMember &&
               last_part(project_.function(index).found.scope) == name;
      });
      if (!members.empty()) {
        return choose(project_, nearest(members), site_, sure);
      }
    }
    return {};
  }

  [[nodiscard]] std::vector<int> nearest(const std::vector<int>& candidates) const {
    const std::vector<int> same_file = filter(
        candidates, [&](int index) { return project_.function(index).file == caller_.file; });
    return same_file.empty() ? candidates : same_file;
  }

  Meaning resolve_member() {
    const std::string_view module = symbols_.imported(caller_.file, site_.chain);
    if (!module.empty()) {
      const std::vector<int> in_module = filter(all_, [&](int index) {
        const std::string& own = project_.file_of(project_.function(index)).module;
        return project_.function(index).found.scope.empty() && own.ends_with(module);
      });
      if (!in_module.empty()) {
        return choose(project_, in_module, site_, true);
      }
      if (symbols_.is_class(last_part(module))) {
        return in_class(last_part(module), true);
      }
      return external("of " + std::string(module) + ", which is not in the tree");
    }
    if (symbols_.is_class(site_.object)) {
      return in_class(site_.object, true);  // T.f(...)
    }
    const PythonType type = python_receiver_type(project_, symbols_, site_);
    if (type.is_native) {
      return external("of " + type.name + ", which is not in the tree");
    }
    if (symbols_.is_class(type.name)) {
      return in_class(type.name, true);
    }
    if (is_builtin_method(name_)) {
      return external("a name of the standard library; its receiver is not known");
    }
    const std::vector<int> members = filter(
        all_, [&](int index) { return project_.function(index).kind == FunctionKind::kMember; });
    return members.empty() ? Meaning{} : choose(project_, members, site_, false);
  }

  Meaning resolve_plain() {
    const std::vector<int> visible = filter(all_, [&](int index) {
      const Function& function = project_.function(index);
      return function.file == caller_.file && function.kind != FunctionKind::kMember;
    });
    if (!visible.empty()) {
      return choose(project_, innermost(visible), site_, true);
    }
    if (symbols_.is_class(name_)) {
      return construct();
    }
    if (symbols_.locals(site_.function).contains(name_)) {
      return external("a variable of the function");
    }
    const std::string_view module = scope_part(symbols_.imported(caller_.file, name_));
    if (symbols_.imported(caller_.file, name_).empty()) {
      return {};
    }
    const std::vector<int> free = filter(all_, [&](int index) {
      return project_.function(index).kind != FunctionKind::kMember &&
             project_.function(index).found.scope.empty();
    });
    const std::vector<int> in_module = filter(free, [&](int index) {
      std::string_view wanted = module;
      while (wanted.starts_with('.')) {
        wanted.remove_prefix(1);
      }
      return project_.file_of(project_.function(index)).module.ends_with(wanted);
    });
    if (!in_module.empty()) {
      return choose(project_, in_module, site_, true);
    }
    return free.empty() ? Meaning{} : choose(project_, free, site_, false);
  }

  /// A nested function hides one of the module.
  [[nodiscard]] std::vector<int> innermost(const std::vector<int>& candidates) const {
    for (int around = site_.function; around != kNone; around = project_.function(around).parent) {
      const std::vector<int> nested =
          filter(candidates, [&](int index) { return project_.function(index).parent == around; });
      if (!nested.empty()) {
        return nested;
      }
    }
    const std::vector<int> outer =
        filter(candidates, [&](int index) { return project_.function(index).parent == kNone; });
    return outer.empty() ? candidates : outer;
  }

  Meaning construct() {
    Meaning meaning;
    const std::vector<int> found = filter(symbols_.functions("__init__"), [&](int index) {
      return last_part(project_.function(index).found.scope) == name_;
    });
    if (!found.empty()) {
      meaning = choose(project_, nearest(found), site_, true);
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

PythonType python_receiver_type(const Project& project, const Symbols& symbols,
                                const CallSite& site) {
  const std::string written = receiver_type(project, symbols, site);
  if (written.empty()) {
    return {};
  }
  PythonType type{std::string(last_part(written)), false};
  const int file = project.function(site.function).file;
  const std::string_view head = scope_part(written);
  const std::string_view imported = symbols.imported(file, head.empty() ? written : head);
  std::string_view module = head.empty() ? scope_part(imported) : imported;
  while (module.starts_with('.')) {
    module.remove_prefix(1);
  }
  const bool is_in_tree =
      std::any_of(project.files.begin(), project.files.end(), [&](const auto& candidate) {
        return candidate->is_python() && candidate->module.ends_with(module);
      });
  type.is_native = !module.empty() && !is_in_tree;
  return type;
}

Meaning resolve_python(const Project& project, const Symbols& symbols, const CallSite& site) {
  Meaning meaning = PythonResolver(project, symbols, site).run();
  if (meaning.form == EdgeForm::kCall) {
    meaning.form = site.form;
  }
  return meaning;
}

}  // namespace crossdock::explore
