// SPDX-License-Identifier: Apache-2.0
// Names that native code gives to Python: pybind11, nanobind, TORCH_LIBRARY, method tables of the C
// API, and symbols that ctypes loads. Thread rule: pure functions.
#pragma once

#include <string_view>
#include <vector>

#include "explore/graph/symbols.h"
#include "explore/model.h"

namespace crossdock::explore {

[[nodiscard]] std::vector<Binding> find_bindings(const Project& project, const Symbols& symbols);

/// The bindings that `name` can mean when it is called on an object of type `type` ("" when not
/// known) or of the module `module`.
[[nodiscard]] std::vector<int> bindings_named(const Project& project, std::string_view name,
                                              std::string_view type);

}  // namespace crossdock::explore
