// SPDX-License-Identifier: Apache-2.0
// What one analyser finds in one file. Thread rule: plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "explore/source/text.h"

namespace crossdock::explore {

enum class FunctionKind : std::uint8_t { kFunction, kMember, kLambda, kMacro };

/// A definition. Ranges are offsets in the file.
struct FoundFunction {
  std::string name;   // "f", "operator()", "~T"; of a lambda "<lambda>"
  std::string scope;  // "ns::T"; unnamed namespaces and enclosing functions are left out
  FunctionKind kind = FunctionKind::kFunction;
  bool is_template = false;
  bool is_internal = false;  // in an unnamed namespace
  ByteRange whole;           // from template head or decorators to the end of the body
  ByteRange name_at;
  ByteRange parameters;     // with the parentheses; empty for a lambda without
  ByteRange body;           // with the braces; of Python the suite
  std::string variable;     // that a lambda initialises: "auto f = [] {...}"
  std::string return_type;  // as written; empty when there is none
};

/// A function that is declared and not defined there.
struct FoundDeclaration {
  std::string name;
  std::string scope;
  int line = 0;
};

/// A call that the grammar understood. Offsets of the last part of the callee's name.
struct FoundCall {
  ByteRange name_at;
};

struct FoundClass {
  std::string qualified;
  std::vector<std::string> bases;
  LineRange lines;
};

struct Inventory {
  std::vector<FoundFunction> functions;  // by offset
  std::vector<FoundDeclaration> declarations;
  std::vector<FoundCall> calls;  // by offset
  std::vector<FoundClass> classes;
  std::vector<ByteRange> unparsed;
  bool gave_up = false;  // the parser's time ran out
};

}  // namespace crossdock::explore
