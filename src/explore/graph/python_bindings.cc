// SPDX-License-Identifier: Apache-2.0
#include "explore/graph/python_bindings.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "explore/graph/bindings.h"

namespace crossdock::explore {
namespace {

class Bindings {
 public:
  Bindings(const Project& project, const Symbols& symbols, const CallSite& site)
      : project_(project),
        symbols_(symbols),
        site_(site),
        name_(project.file_of(project.function(site.function)).code.text(site.token)) {}

  /// What native code binds under the name of a Python call.
  void add_to(Meaning& meaning) const {
    const CallSite& site = site_;
    const std::string_view name = name_;
    if (site.receiver == Receiver::kThis || site.argument_count < -1) {
      return;
    }
    const int caller_file = project_.function(site.function).file;
    const std::string_view module = symbols_.imported(
        caller_file, site.receiver == Receiver::kAbsent ? name : std::string_view(site.chain));
    const bool is_native = site.receiver == Receiver::kObject || !module.empty();
    if (!is_native || (!meaning.functions.empty() && meaning.edge_class == EdgeClass::kExact)) {
      return;
    }
    if (site.chain.starts_with("torch.ops")) {
      add_registered_operators(meaning, name);
      return;
    }
    const PythonType receiver = python_receiver_type(project_, symbols_, site);
    const std::string& type = receiver.name;
    if (!receiver.is_native && symbols_.is_class(type)) {
      return;
    }
    std::vector<int> targets;
    bool is_of_module = false;
    for (const int index : bindings_named(project_, name, type)) {
      const Binding& binding = project_.bindings[static_cast<std::size_t>(index)];
      const bool fits_module = module.empty() || binding.owner.empty();
      if (binding.function != kNone && fits_module &&
          !(module.empty() && binding.owner.empty() && !type.empty())) {
        targets.push_back(binding.function);
        // An attribute of an object may be set to another by anyone: its type is never sure.
        is_of_module = is_of_module || (!module.empty() && binding.edge_class == EdgeClass::kExact);
      }
    }
    add_bound_constructors(name, targets);
    std::sort(targets.begin(), targets.end());
    targets.erase(std::unique(targets.begin(), targets.end()), targets.end());
    if (targets.empty()) {
      return;
    }
    meaning.functions.insert(meaning.functions.end(), targets.begin(), targets.end());
    meaning.form = EdgeForm::kBinding;
    meaning.edge_class = meaning.functions.size() > 1 ? EdgeClass::kAmbiguous
                         : is_of_module               ? EdgeClass::kExact
                                                      : EdgeClass::kNameOnly;
  }

 private:
  /// "torch.ops.library.name(...)".
  void add_registered_operators(Meaning& meaning, std::string_view name) const {
    meaning.functions.clear();
    for (const int index : bindings_named(project_, name, {})) {
      const Binding& binding = project_.bindings[static_cast<std::size_t>(index)];
      if (binding.mechanism == "torch_library" && binding.function != kNone) {
        meaning.functions.push_back(binding.function);
      }
    }
    meaning.form = EdgeForm::kBinding;
    meaning.edge_class = meaning.functions.size() > 1 ? EdgeClass::kAmbiguous : EdgeClass::kExact;
  }

  /// "_C.Buffer(...)": constructors of the class that is bound under that name.
  void add_bound_constructors(std::string_view name, std::vector<int>& targets) const {
    const bool is_owner =
        std::any_of(project_.bindings.begin(), project_.bindings.end(),
                    [&](const Binding& binding) { return binding.owner == name; });
    for (const int index : symbols_.functions(name)) {
      const Function& function = project_.function(index);
      if (is_owner && project_.file_of(function).is_cpp() &&
          last_part(function.found.scope) == name) {
        targets.push_back(index);
      }
    }
  }

  const Project& project_;
  const Symbols& symbols_;
  const CallSite& site_;
  std::string_view name_;
};

}  // namespace

void add_bindings(const Project& project, const Symbols& symbols, const CallSite& site,
                  Meaning& meaning) {
  Bindings(project, symbols, site).add_to(meaning);
}

}  // namespace crossdock::explore
