// SPDX-License-Identifier: Apache-2.0
#include "explore/graph/symbols.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "explore/graph/declared_names.h"
#include "explore/parse/cpp_words.h"

namespace crossdock::explore {

std::string_view last_part(std::string_view name) {
  const std::size_t separator = name.find_last_of(":.");
  return separator == std::string_view::npos ? name : name.substr(separator + 1);
}

std::string_view scope_part(std::string_view name) {
  const std::size_t separator = name.find_last_of(":.");
  if (separator == std::string_view::npos) {
    return {};
  }
  return name.substr(0, name[separator] == ':' && separator > 0 ? separator - 1 : separator);
}

Symbols::Symbols(const Project& project) : project_(project) {
  for (std::size_t index = 0; index < project.functions.size(); ++index) {
    const Function& function = project.functions[index];
    if (function.kind != FunctionKind::kLambda) {
      functions_[function.name].push_back(static_cast<int>(index));
    }
    std::string_view scope = function.found.scope;
    while (!scope.empty()) {
      scopes_.emplace(last_part(scope));
      scope = scope_part(scope);
    }
    if (project.file_of(function).is_python()) {
      scopes_.emplace(last_part(project.file_of(function).module));
    }
  }
  add_classes();
  imports_.resize(project.files.size());
  for (std::size_t file = 0; file < project.files.size(); ++file) {
    if (project.files[file]->is_cpp()) {
      add_file(static_cast<int>(file));
    } else if (project.files[file]->is_python()) {
      add_imports(static_cast<int>(file));
    }
  }
  add_locals();
}

void Symbols::add_classes() {
  for (const auto& file : project_.files) {
    for (const FoundClass& found : file->inventory.classes) {
      std::vector<std::string>& bases = classes_[std::string(last_part(found.qualified))];
      for (const std::string& base : found.bases) {
        bases.emplace_back(last_part(base));
      }
    }
  }
  for (const Function& function : project_.functions) {
    if (function.kind == FunctionKind::kMember && !function.found.scope.empty()) {
      classes_.try_emplace(std::string(last_part(function.found.scope)));
    }
  }
}

void Symbols::add_file(int file_index) {
  const SourceFile& file = project_.file(file_index);
  const Tokens& code = file.code;
  for (std::size_t index = 0; index < code.size(); ++index) {
    if (!code.is_name(index)) {
      continue;
    }
    const std::string_view word = code.text(index);
    const bool is_alias = (word == "using" || word == "namespace") && code.text(index + 2) == "=";
    if (is_alias) {
      std::size_t end = index + 3;
      std::string target;
      while (end < code.size() && (code.is_name(end) || code.text(end) == "::")) {
        target = code.is_name(end) && code.text(end) != "typename" ? code.text(end) : target;
        ++end;
      }
      aliases_.insert_or_assign(std::string(code.text(index + 1)), target);
    } else if (word == "typename" && code.is_name(index + 1) && code.text(index + 2) != "::") {
      aliases_.try_emplace(std::string(code.text(index + 1)));
    } else if (file.owners[index] == kNone) {
      DeclaredName declared = cpp_declaration_at(code, index);
      if (declared.is_declared) {
        const auto [entry, is_new] = members_.try_emplace(std::string(word), declared.type);
        if (!is_new && entry->second != declared.type) {
          entry->second.clear();
        }
      }
    }
  }
}

void Symbols::add_imports(int file_index) {
  const Tokens& code = project_.file(file_index).code;
  auto& imports = imports_[static_cast<std::size_t>(file_index)];
  const auto dotted = [&](std::size_t& index) {
    std::string name;
    while (code.is_name(index) || code.text(index) == "." || code.text(index) == "...") {
      if (code.text(index) == "import" || code.text(index) == "as") {
        break;
      }
      name += code.text(index++);
      if (code.is_name(index - 1) && code.is_name(index)) {
        break;
      }
    }
    return name;
  };
  for (std::size_t index = 0; index < code.size(); ++index) {
    const bool begins = index == 0 || code[index - 1].line < code[index].line;
    if (begins && code.text(index) == "import") {
      ++index;
      const std::string module = dotted(index);
      const bool renamed = code.text(index) == "as";
      imports.insert_or_assign(renamed ? std::string(code.text(index + 1)) : module, module);
    } else if (begins && code.text(index) == "from") {
      ++index;
      const std::string module = dotted(index);
      const std::uint32_t line = index < code.size() ? code[index].line : 0;
      const bool in_parentheses = code.text(index + 1) == "(";
      const std::size_t end = in_parentheses ? code.match(index + 1) : code.size();
      for (index += in_parentheses ? 2 : 1;
           index < end && (in_parentheses || code[index].line == line); ++index) {
        if (!code.is_name(index) || code.text(index) == "as") {
          continue;
        }
        const std::string name(code.text(index));
        const bool renamed = code.text(index + 1) == "as";
        index += renamed ? 2 : 0;
        imports.insert_or_assign(std::string(code.text(index)), module + "." + name);
      }
      index -= index > 0 ? 1 : 0;
    }
  }
}

void Symbols::add_locals() {
  locals_.resize(project_.functions.size());
  for (std::size_t file = 0; file < project_.files.size(); ++file) {
    const SourceFile& source = *project_.files[file];
    for (std::size_t index = 0; index < source.owners.size(); ++index) {
      const int owner = source.owners[index];
      if (owner == kNone) {
        continue;
      }
      const bool is_python = source.is_python();
      const DeclaredName declared = is_python ? python_assignment_at(source.code, index)
                                              : cpp_declaration_at(source.code, index);
      if (!declared.is_declared) {
        continue;
      }
      const std::string name(source.code.text(index));
      if (is_python && index >= 2 && source.code.text(index - 1) == ".") {
        if (source.code.text(index - 2) == "self" && !declared.type.empty()) {
          const std::string_view owner_class = last_part(project_.function(owner).found.scope);
          members_.try_emplace(std::string(owner_class) + "." + name, declared.type);
        }
        continue;
      }
      locals_[static_cast<std::size_t>(owner)].try_emplace(name, declared.type);
    }
  }
  for (std::size_t index = 0; index < project_.functions.size(); ++index) {
    for (const Parameter& parameter : project_.functions[index].parameters) {
      if (parameter.name.empty()) {
        continue;
      }
      const std::string plain = parameter.type.substr(0, parameter.type.find('<'));
      std::size_t end = plain.find_last_not_of(" *&");
      end = end == std::string::npos ? 0 : end + 1;
      std::string type(last_part(std::string_view(plain).substr(0, end)));
      type.erase(0, type.find_last_of(' ') == std::string::npos ? 0 : type.find_last_of(' ') + 1);
      locals_[index].insert_or_assign(parameter.name, type == "auto" ? "" : type);
    }
  }
}

const std::vector<int>& Symbols::functions(std::string_view name) const {
  static const std::vector<int> kNothing;
  const auto found = functions_.find(name);
  return found == functions_.end() ? kNothing : found->second;
}

std::vector<std::string> Symbols::with_bases(std::string_view name) const {
  std::vector<std::string> all = {std::string(name)};
  for (std::size_t index = 0; index < all.size(); ++index) {
    const auto found = classes_.find(all[index]);
    if (found == classes_.end()) {
      continue;
    }
    for (const std::string& base : found->second) {
      if (std::find(all.begin(), all.end(), base) == all.end()) {
        all.push_back(base);
      }
    }
  }
  return all;
}

std::string_view Symbols::member_type(std::string_view name) const {
  const auto found = members_.find(name);
  return found == members_.end() ? std::string_view{} : found->second;
}

const std::string* Symbols::alias(std::string_view name) const {
  const auto found = aliases_.find(name);
  return found == aliases_.end() ? nullptr : &found->second;
}

std::string_view Symbols::imported(int file, std::string_view name) const {
  const auto& imports = imports_.at(static_cast<std::size_t>(file));
  const auto found = imports.find(name);
  return found == imports.end() ? std::string_view{} : found->second;
}

const Locals& Symbols::locals(int function) const {
  return locals_.at(static_cast<std::size_t>(function));
}

int Symbols::lambda_in(int function, std::string_view variable) const {
  for (int around = function; around != kNone; around = project_.function(around).parent) {
    const SourceFile& file = project_.file_of(project_.function(around));
    for (const int index : file.functions) {
      const Function& candidate = project_.function(index);
      if (candidate.parent == around && candidate.found.variable == variable) {
        return index;
      }
    }
  }
  return kNone;
}

}  // namespace crossdock::explore
