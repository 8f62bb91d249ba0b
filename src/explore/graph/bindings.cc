// SPDX-License-Identifier: Apache-2.0
#include "explore/graph/bindings.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "explore/parse/parameters.h"

namespace crossdock::explore {
namespace {

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

class Finder {
 public:
  Finder(const Project& project, const Symbols& symbols, int file)
      : project_(project),
        symbols_(symbols),
        file_index_(file),
        file_(project.file(file)),
        code_(file_.code) {}

  void run(std::vector<Binding>& out) {
    for (std::size_t index = 0; index < code_.size(); ++index) {
      if (!code_.is_name(index)) {
        continue;
      }
      const std::string_view word = code_.text(index);
      if (is_one_of(word, {"class_", "PYBIND11_MODULE", "NB_MODULE", "TORCH_LIBRARY",
                           "TORCH_LIBRARY_FRAGMENT", "TORCH_LIBRARY_IMPL"})) {
        enter(index);
      } else if (is_one_of(word, {"def", "def_static", "impl"}) && code_.text(index + 1) == "(" &&
                 index > 0 && is_one_of(code_.text(index - 1), {".", "->"})) {
        add_definition(index, out);
      } else if (is_one_of(word, {"METH_VARARGS", "METH_FASTCALL", "METH_NOARGS", "METH_O"})) {
        add_method_table_row(index, out);
      }
    }
  }

 private:
  void enter(std::size_t index) {
    const std::string_view word = code_.text(index);
    if (word == "class_") {
      const std::size_t open = after_template(index + 1);
      std::size_t call = code_.is_name(open) ? open + 1 : open;  // class_<T> name(m, "T")
      const auto arguments = split_arguments(code_, call);
      const bool is_named =
          arguments.size() >= 2 && code_[arguments[1].first].kind == TokenKind::kString;
      owner_ = is_named ? string_content(code_.text(arguments[1].first)) : "";
      owner_variable_ = code_.is_name(open) ? code_.text(open) : "";
    } else {
      mechanism_ = word.starts_with("TORCH") ? "torch_library"
                   : word == "NB_MODULE"     ? "nanobind"
                                             : "pybind11";
      module_ = code_.text(code_.match(index + 1) - 1);  // "m" of (name, m)
    }
    if (word == "class_" && index >= 2 && code_.text(index - 1) == "::") {
      mechanism_ = is_one_of(code_.text(index - 2), {"nb", "nanobind"}) ? "nanobind" : "pybind11";
    }
  }

  [[nodiscard]] std::size_t after_template(std::size_t open) const {
    const std::size_t close = code_.text(open) == "<" ? code_.match_angle(open) : code_.size();
    return close < code_.size() ? close + 1 : open;
  }

  void add_definition(std::size_t index, std::vector<Binding>& out) {
    const auto arguments = split_arguments(code_, index + 1);
    if (arguments.empty() || code_[arguments[0].first].kind != TokenKind::kString) {
      return;
    }
    Binding binding;
    binding.name = string_content(code_.text(arguments[0].first));
    binding.name.resize(std::min(binding.name.find('('), binding.name.size()));
    const std::string_view object = code_.text(index - 2);
    const bool is_of_class =
        object == ")" || (!owner_variable_.empty() && object == owner_variable_);
    binding.owner = is_of_class ? owner_ : "";
    binding.mechanism = mechanism_;
    binding.file = file_index_;
    binding.line = static_cast<int>(code_[index].line);
    if (arguments.size() >= 2) {
      set_target(binding, arguments[1]);
    }
    out.push_back(std::move(binding));
  }

  void add_method_table_row(std::size_t index, std::vector<Binding>& out) {
    std::size_t open = index;
    while (open > 0 && code_.text(open) != "{" && code_.text(open) != ";") {
      --open;
    }
    const auto cells = split_arguments(code_, open);
    if (cells.size() < 3 || code_[cells[0].first].kind != TokenKind::kString) {
      return;
    }
    Binding binding;
    binding.name = string_content(code_.text(cells[0].first));
    binding.mechanism = "c_api";
    binding.file = file_index_;
    binding.line = static_cast<int>(code_[open].line);
    set_target(binding, cells[1]);
    out.push_back(std::move(binding));
  }

  /// "&T::f", "f", "TORCH_FN(f)", "overload_cast<...>(&T::f)" or a lambda.
  void set_target(Binding& binding, TokenRange target) {
    if (code_.text(target.first) == "[") {
      for (const int index : file_.functions) {
        if (project_.function(index).kind == FunctionKind::kLambda &&
            project_.function(index).found.whole.begin == code_[target.first].begin) {
          binding.function = index;
        }
      }
      return;
    }
    for (std::size_t index = target.last; index-- > target.first;) {
      if (!code_.is_name(index) || symbols_.functions(code_.text(index)).empty()) {
        continue;
      }
      std::string scope;
      for (std::size_t at = index; at >= 2 && code_.text(at - 1) == "::"; at -= 2) {
        scope = std::string(code_.text(at - 2)) + (scope.empty() ? "" : "::") + scope;
      }
      choose_target(binding, code_.text(index), scope);
      return;
    }
  }

  void choose_target(Binding& binding, std::string_view name, const std::string& scope) {
    std::vector<int> fitting;
    for (const int index : symbols_.functions(name)) {
      const Function& function = project_.function(index);
      const bool is_in_scope = scope.empty() ? function.kind != FunctionKind::kMember
                                             : function.found.scope == scope ||
                                                   function.found.scope.ends_with("::" + scope);
      if (project_.file_of(function).is_cpp() && is_in_scope) {
        fitting.push_back(index);
      }
    }
    const auto own = std::find_if(fitting.begin(), fitting.end(), [&](int index) {
      return project_.function(index).file == file_index_;
    });
    if (!fitting.empty()) {
      binding.function = own != fitting.end() ? *own : fitting.front();
      binding.edge_class = fitting.size() == 1 ? EdgeClass::kExact : EdgeClass::kAmbiguous;
    }
  }

  const Project& project_;
  const Symbols& symbols_;
  int file_index_;
  const SourceFile& file_;
  const Tokens& code_;
  std::string owner_;
  std::string owner_variable_;
  std::string module_;
  std::string_view mechanism_ = "pybind11";
};

/// Functions of C and extern "C" ones, when some Python file loads libraries with ctypes.
void add_ctypes(const Project& project, std::vector<Binding>& out) {
  const bool loads = std::any_of(project.files.begin(), project.files.end(), [](const auto& file) {
    return file->is_python() && file->text.view().find("ctypes") != std::string_view::npos;
  });
  const auto in_c_block = [](const SourceFile& file, std::size_t token) {
    for (std::size_t index = 0; index + 2 < token; ++index) {
      if (file.code.text(index) == "extern" && file.code.text(index + 2) == "{" &&
          file.code.match(index + 2) > token && file.code.match(index + 2) < file.code.size()) {
        return true;
      }
    }
    return false;
  };
  for (std::size_t index = 0; loads && index < project.functions.size(); ++index) {
    const Function& function = project.functions[index];
    const SourceFile& file = project.file_of(function);
    if (!file.is_cpp() || function.parent != kNone || !function.found.scope.empty()) {
      continue;
    }
    const std::size_t first = file.code.at_or_after(function.found.whole.begin);
    const bool is_c = file.language == Language::kC && !function.is_internal;
    const bool is_extern = is_c || function.signature.find("extern \"C\"") != std::string::npos ||
                           (first >= 2 && file.code.text(first - 2) == "extern") ||
                           in_c_block(file, first);
    if (is_extern) {
      out.push_back({function.name, "", "ctypes", function.file, function.name_line,
                     static_cast<int>(index), EdgeClass::kNameOnly});
    }
  }
}

}  // namespace

std::vector<Binding> find_bindings(const Project& project, const Symbols& symbols) {
  std::vector<Binding> bindings;
  for (std::size_t file = 0; file < project.files.size(); ++file) {
    if (project.files[file]->is_cpp()) {
      Finder(project, symbols, static_cast<int>(file)).run(bindings);
    }
  }
  add_ctypes(project, bindings);
  return bindings;
}

std::vector<int> bindings_named(const Project& project, std::string_view name,
                                std::string_view type) {
  std::vector<int> named;
  std::vector<int> of_type;
  for (std::size_t index = 0; index < project.bindings.size(); ++index) {
    const Binding& binding = project.bindings[index];
    const std::size_t separator = binding.name.rfind(':');
    const std::string_view own =
        std::string_view(binding.name).substr(separator == std::string::npos ? 0 : separator + 1);
    if (own == name) {
      named.push_back(static_cast<int>(index));
      if (!type.empty() && binding.owner == type) {
        of_type.push_back(static_cast<int>(index));
      }
    }
  }
  return of_type.empty() ? named : of_type;
}

}  // namespace crossdock::explore
