// SPDX-License-Identifier: Apache-2.0
// Every place in a function where a name is called or handed on, before anyone asks what it means.
// Thread rule: pure functions.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "explore/model.h"
#include "explore/parse/parameters.h"

namespace crossdock::explore {

enum class Receiver : std::uint8_t { kAbsent, kThis, kObject };

struct CallSite {
  int function = kNone;
  std::size_t token = 0;  // of the name, in SourceFile::code
  EdgeForm form = EdgeForm::kCall;
  std::string qualifier;  // "a::b" in "a::b::f()"
  Receiver receiver = Receiver::kAbsent;
  std::string object;       // "y" in "x.y.f()"
  std::string chain;        // "x.y"
  int argument_count = -1;  // -1: not a call, or not known
  bool is_parsed = true;    // the grammar saw a call, too
};

/// Calls visit() for every call, launch, and function name used as a value in functions of a file,
/// in order. `is_function_name` says which names are worth looking at as values.
void find_call_sites(const SourceFile& file,
                     const std::function<bool(std::string_view)>& is_function_name,
                     const std::function<void(const CallSite&)>& visit);

/// The first token after "f<...>" and after a launch's "<<<...>>>": that of "(" in a call.
[[nodiscard]] std::size_t after_callee(const SourceFile& file, std::size_t name);

}  // namespace crossdock::explore
