// SPDX-License-Identifier: Apache-2.0
#include "explore/model.h"

#include <array>
#include <cstddef>
#include <string_view>

namespace crossdock::explore {

int Project::function_at(int file_index, std::size_t offset) const {
  int innermost = kNone;
  std::size_t best = 0;
  for (const int index : file(file_index).functions) {
    const ByteRange whole = function(index).found.whole;
    if (whole.begin > offset) {
      break;
    }
    if (whole.contains(offset) && (innermost == kNone || whole.begin >= best)) {
      innermost = index;
      best = whole.begin;
    }
  }
  return innermost;
}

std::string_view to_string(Language language) {
  constexpr std::array<std::string_view, 6> kNames = {"c",       "c++",    "cuda",
                                                      "ascendc", "python", "text"};
  return kNames.at(static_cast<std::size_t>(language));
}

std::string_view to_string(FunctionKind kind) {
  constexpr std::array<std::string_view, 4> kNames = {"function", "member", "lambda", "macro"};
  return kNames.at(static_cast<std::size_t>(kind));
}

std::string_view to_string(Reach reach) {
  constexpr std::array<std::string_view, 3> kNames = {"unreachable", "reachable", "root"};
  return kNames.at(static_cast<std::size_t>(reach));
}

std::string_view to_string(EdgeClass edge_class) {
  constexpr std::array<std::string_view, 4> kNames = {"exact", "name-only", "ambiguous", "textual"};
  return kNames.at(static_cast<std::size_t>(edge_class));
}

std::string_view to_string(EdgeKind kind) {
  constexpr std::array<std::string_view, 4> kNames = {"control", "data", "sync", "handshake"};
  return kNames.at(static_cast<std::size_t>(kind));
}

std::string_view to_string(EdgeForm form) {
  constexpr std::array<std::string_view, 10> kNames = {
      "call",  "template_call", "macro_call", "launch", "pointer",
      "table", "binding",       "construct",  "lambda", "sync"};
  return kNames.at(static_cast<std::size_t>(form));
}

}  // namespace crossdock::explore
