// SPDX-License-Identifier: Apache-2.0
// What names mean in a project, as far as that can be told without types: functions and classes by
// name, members with the type that they are declared with, aliases, imports.
// Thread rule: read-only after its construction.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "explore/model.h"

namespace crossdock::explore {

/// Names that a function declares, with the last name of their type ("" when it is not known).
using Locals = std::map<std::string, std::string, std::less<>>;

class Symbols {
 public:
  explicit Symbols(const Project& project);

  /// Functions of that name, lambdas aside.
  [[nodiscard]] const std::vector<int>& functions(std::string_view name) const;
  [[nodiscard]] bool is_class(std::string_view name) const { return classes_.contains(name); }
  /// `name` and the classes above it, by last names.
  [[nodiscard]] std::vector<std::string> with_bases(std::string_view name) const;
  /// The last part of a namespace's or class's name that some function lies in.
  [[nodiscard]] bool is_scope(std::string_view name) const { return scopes_.contains(name); }
  /// The declared type of members of that name, "" when there is none or several. Python's are
  /// named "Class.member".
  [[nodiscard]] std::string_view member_type(std::string_view name) const;
  /// What "using name = ..." stands for; "" for a template's parameter; null when it is no alias.
  [[nodiscard]] const std::string* alias(std::string_view name) const;
  /// What a Python file imports under that name: "package.module" or "package.module.f".
  [[nodiscard]] std::string_view imported(int file, std::string_view name) const;
  /// Of a function and those around it.
  [[nodiscard]] const Locals& locals(int function) const;
  /// The lambda that a variable of `function` or of one around it holds, or kNone.
  [[nodiscard]] int lambda_in(int function, std::string_view variable) const;

 private:
  void add_classes();
  void add_file(int file);
  void add_imports(int file);
  void add_locals();

  const Project& project_;
  std::map<std::string, std::vector<int>, std::less<>> functions_;
  std::map<std::string, std::vector<std::string>, std::less<>> classes_;  // last name -> bases
  std::set<std::string, std::less<>> scopes_;
  std::map<std::string, std::string, std::less<>> members_;
  std::map<std::string, std::string, std::less<>> aliases_;
  std::vector<std::map<std::string, std::string, std::less<>>> imports_;  // [file]
  std::vector<Locals> locals_;                                            // [function]
};

/// "c" of "a::b::c" and of "a.b.c".
[[nodiscard]] std::string_view last_part(std::string_view name);
/// "a::b" of "a::b::c"; "" without a separator.
[[nodiscard]] std::string_view scope_part(std::string_view name);

}  // namespace crossdock::explore
