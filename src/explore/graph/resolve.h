// SPDX-License-Identifier: Apache-2.0
// Which definitions a call can mean, and how surely. Thread rule: pure functions.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "explore/graph/call_sites.h"
#include "explore/graph/symbols.h"
#include "explore/model.h"

namespace crossdock::explore {

struct Meaning {
  std::vector<int> functions;  // empty: external
  EdgeClass edge_class = EdgeClass::kExact;
  EdgeForm form = EdgeForm::kCall;
  std::string reason;  // why external, when it is not simply absent from the tree
};

/// A call out of the tree.
[[nodiscard]] inline Meaning external(std::string reason) {
  Meaning meaning;
  meaning.reason = std::move(reason);
  return meaning;
}

[[nodiscard]] Meaning resolve_cpp(const Project& project, const Symbols& symbols,
                                  const CallSite& site);
[[nodiscard]] Meaning resolve_python(const Project& project, const Symbols& symbols,
                                     const CallSite& site);

/// The type that the receiver of a member call is declared with, or "".
[[nodiscard]] std::string receiver_type(const Project& project, const Symbols& symbols,
                                        const CallSite& site);

/// The class of a Python receiver, and whether it comes from a module that is not in the tree.
struct PythonType {
  std::string name;
  bool is_native = false;
};
[[nodiscard]] PythonType python_receiver_type(const Project& project, const Symbols& symbols,
                                              const CallSite& site);

/// Whether a call with so many arguments fits; -1 fits always.
[[nodiscard]] bool takes(const Project& project, int function, int argument_count);

/// exact for one candidate that fits, ambiguous for several; `sure` false makes one name-only.
[[nodiscard]] Meaning choose(const Project& project, std::vector<int> candidates,
                             const CallSite& site, bool sure);

}  // namespace crossdock::explore
