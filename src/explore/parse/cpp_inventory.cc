// SPDX-License-Identifier: Apache-2.0
#include "explore/parse/cpp_inventory.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "explore/parse/cpp_words.h"

namespace crossdock::explore {
namespace {

/// "a::b" of "a<X>::b" and " a :: b".
std::string without_arguments(std::string_view name) {
  std::string out;
  int depth = 0;
  const bool is_operator = name.find("operator") != std::string_view::npos;
  for (const char c : name) {
    depth += !is_operator && c == '<' ? 1 : 0;
    if (depth == 0 && (is_operator || (c != ' ' && c != '\n' && c != '\t'))) {
      out += c;
    }
    depth -= !is_operator && c == '>' ? 1 : 0;
  }
  return is_operator ? one_line(out) : out;
}

struct Declarator {
  TSNode function;    // function_declarator
  std::string scope;  // before the last "::"
  std::string name;   // after it
  ByteRange name_at;
};

class Walker {
 public:
  explicit Walker(const SyntaxTree& tree) : tree_(tree) {}

  Inventory run() {
    walk(tree_.root(), [&](TSNode node) { return enter(node); }, [&](TSNode node) { leave(node); });
    return std::move(out_);
  }

 private:
  bool enter(TSNode node) {
    const std::string_view type = type_of(node);
    if (ts_node_is_missing(node) || type == "ERROR") {
      add_unparsed(node);
      return true;
    }
    if (!ts_node_is_named(node)) {
      return false;
    }
    if (type == "namespace_definition") {
      open_scope(node, without_arguments(tree_.text(field(node, "name"))));
    } else if (is_class(type)) {
      enter_class(node);
    } else if (type == "function_definition") {
      add_function(node);
    } else if (type == "lambda_expression") {
      add_lambda(node);
    } else if (type == "declaration" || type == "field_declaration") {
      add_declaration(node);
    } else if (type == "call_expression") {
      add_call(field(node, "function"));
    } else if (type == "template_declaration") {
      template_begin_ = ts_node_start_byte(node);
    }
    return true;
  }

  void leave(TSNode node) {
    while (!scopes_.empty() && scopes_.back().node_id == node.id) {
      scopes_.pop_back();
    }
    while (!bodies_.empty() && bodies_.back().node_id == node.id) {
      bodies_.pop_back();
    }
    if (type_of(node) == "template_declaration") {
      template_begin_.reset();
    }
  }

  static bool is_class(std::string_view type) {
    return type == "class_specifier" || type == "struct_specifier" || type == "union_specifier";
  }

  void open_scope(TSNode node, std::string name) { scopes_.push_back({node.id, std::move(name)}); }

  [[nodiscard]] std::string scope() const {
    std::string joined;
    for (const Scope& scope : scopes_) {
      joined += (joined.empty() || scope.name.empty() ? "" : "::") + scope.name;
    }
    return joined;
  }

  [[nodiscard]] bool is_internal() const {
    return std::any_of(scopes_.begin(), scopes_.end(),
                       [](const Scope& scope) { return scope.name.empty(); });
  }

  void enter_class(TSNode node) {
    if (ts_node_is_null(field(node, "body"))) {
      return;
    }
    open_scope(node, without_arguments(tree_.text(field(node, "name"))));
    template_begin_.reset();  // Of the class, not of its first member.
    bodies_.push_back({node.id, true});
    FoundClass found{scope(), {}, {}};
    for (std::uint32_t index = 0; index < ts_node_named_child_count(node); ++index) {
      const TSNode child = ts_node_named_child(node, index);
      if (type_of(child) != "base_class_clause") {
        continue;
      }
      for (std::uint32_t base = 0; base < ts_node_named_child_count(child); ++base) {
        const std::string_view type = type_of(ts_node_named_child(child, base));
        if (type != "access_specifier" && type != "virtual") {
          found.bases.push_back(without_arguments(tree_.text(ts_node_named_child(child, base))));
        }
      }
    }
    const TSPoint first = ts_node_start_point(node);
    const TSPoint last = ts_node_end_point(node);
    found.lines = {static_cast<int>(first.row) + 1, static_cast<int>(last.row) + 1};
    out_.classes.push_back(std::move(found));
  }

  /// Down from "*&(f(...))" to f(...).
  [[nodiscard]] std::optional<Declarator> find_declarator(TSNode node) const {
    for (int depth = 0; depth < kDeclaratorDepthMax && !ts_node_is_null(node); ++depth) {
      if (type_of(node) != "function_declarator") {
        TSNode next = field(node, "declarator");
        if (ts_node_is_null(next) && ts_node_named_child_count(node) > 0) {
          next = ts_node_named_child(node, ts_node_named_child_count(node) - 1);
        }
        node = next;
        continue;
      }
      const TSNode inner = field(node, "declarator");
      if (type_of(inner) == "parenthesized_declarator" || type_of(inner) == "function_declarator") {
        node = inner;
        continue;
      }
      return name_of(node, inner);
    }
    return std::nullopt;
  }

  [[nodiscard]] Declarator name_of(TSNode function, TSNode name) const {
    Declarator found{function, {}, {}, bytes_of(name)};
    while (type_of(name) == "qualified_identifier") {
      const TSNode part = field(name, "scope");
      if (!ts_node_is_null(part)) {
        found.scope += (found.scope.empty() ? "" : "::") + without_arguments(tree_.text(part));
      }
      name = field(name, "name");
    }
    if (type_of(name) == "template_function") {
      name = field(name, "name");
    }
    found.name = without_arguments(tree_.text(name));
    found.name_at = bytes_of(name);
    return found;
  }

  void add_function(TSNode node) {
    const TSNode body = field(node, "body");
    const std::string_view body_type = type_of(body);
    if (body_type != "compound_statement" && body_type != "try_statement") {
      return;  // "= default", "= delete", or a declaration in disguise.
    }
    const std::optional<Declarator> declarator = find_declarator(field(node, "declarator"));
    // A function cannot define another: "FOR_EACH(x) {...}" is a macro that loops.
    const bool in_function = !bodies_.empty() && !bodies_.back().is_class;
    if (!declarator.has_value() || is_cpp_keyword(declarator->name) || declarator->name.empty() ||
        in_function) {
      return;
    }
    bodies_.push_back({node.id, false});
    FoundFunction found;
    found.name = declarator->name;
    found.scope = scope();
    if (!declarator->scope.empty()) {
      found.scope += (found.scope.empty() ? "" : "::") + declarator->scope;
    }
    const bool in_class = !scopes_.empty() && scopes_.back().is_class_of(out_.classes, scope());
    found.kind =
        in_class || !declarator->scope.empty() ? FunctionKind::kMember : FunctionKind::kFunction;
    found.is_template = template_begin_.has_value();
    found.is_internal = is_internal();
    found.whole = {template_begin_.value_or(ts_node_start_byte(node)), ts_node_end_byte(node)};
    found.name_at = declarator->name_at;
    found.parameters = bytes_of(field(declarator->function, "parameters"));
    found.body = bytes_of(body);
    const TSNode type = field(node, "type");
    found.return_type = ts_node_is_null(type) ? "" : one_line(tree_.text(type));
    template_begin_.reset();
    out_.functions.push_back(std::move(found));
  }

  void add_lambda(TSNode node) {
    const TSNode body = field(node, "body");
    if (type_of(body) != "compound_statement") {
      return;
    }
    bodies_.push_back({node.id, false});
    FoundFunction found;
    found.name = "<lambda>";
    found.scope = scope();
    found.kind = FunctionKind::kLambda;
    found.whole = bytes_of(node);
    found.name_at = {found.whole.begin, found.whole.begin + 1};
    found.parameters = bytes_of_or_none(field(field(node, "declarator"), "parameters"));
    found.body = bytes_of(body);
    const TSNode parent = ts_node_parent(node);
    if (type_of(parent) == "init_declarator") {
      found.variable = tree_.text(field(parent, "declarator"));
    }
    out_.functions.push_back(std::move(found));
  }

  static ByteRange bytes_of_or_none(TSNode node) {
    return ts_node_is_null(node) ? ByteRange{} : bytes_of(node);
  }

  void add_declaration(TSNode node) {
    const TSNode declarator = field(node, "declarator");
    if (type_of(declarator).empty() || type_of(declarator) == "init_declarator") {
      return;
    }
    const std::optional<Declarator> found = find_declarator(declarator);
    if (found.has_value() && !is_cpp_keyword(found->name)) {
      const int line = static_cast<int>(ts_node_start_point(found->function).row) + 1;
      out_.declarations.push_back({found->name, scope(), line});
    }
  }

  void add_call(TSNode callee) {
    while (true) {
      const std::string_view type = type_of(callee);
      if (type == "qualified_identifier" || type == "template_function" ||
          type == "template_method" || type == "dependent_name") {
        const TSNode name = field(callee, "name");
        callee = ts_node_is_null(name) ? ts_node_named_child(callee, 0) : name;
      } else if (type == "field_expression") {
        callee = field(callee, "field");
      } else if (type == "identifier" || type == "field_identifier") {
        out_.calls.push_back({bytes_of(callee)});
        return;
      } else {
        return;
      }
    }
  }

  void add_unparsed(TSNode node) {
    const ByteRange bytes = bytes_of(node);
    if (out_.unparsed.empty() || !out_.unparsed.back().contains(bytes.begin)) {
      out_.unparsed.push_back(bytes);
    }
  }

  struct Scope {
    const void* node_id;
    std::string name;
    [[nodiscard]] bool is_class_of(const std::vector<FoundClass>& classes,
                                   std::string_view qualified) const {
      return std::any_of(classes.rbegin(), classes.rend(),
                         [&](const FoundClass& known) { return known.qualified == qualified; });
    }
  };

  struct Body {
    const void* node_id;
    bool is_class;
  };

  static constexpr int kDeclaratorDepthMax = 32;

  const SyntaxTree& tree_;
  Inventory out_;
  std::vector<Scope> scopes_;
  std::vector<Body> bodies_;  // of classes and functions around the node
  std::optional<std::size_t> template_begin_;
};

}  // namespace

Inventory take_cpp_inventory(std::string_view masked, Grammar grammar, Duration time) {
  const std::optional<SyntaxTree> tree = SyntaxTree::parse(masked, grammar, time);
  if (!tree.has_value()) {
    Inventory nothing;
    nothing.gave_up = true;
    nothing.unparsed.push_back({0, masked.size()});
    return nothing;
  }
  Inventory inventory = Walker(*tree).run();
  const auto by_begin = [](const auto& a, const auto& b) {
    return a.name_at.begin < b.name_at.begin;
  };
  std::stable_sort(inventory.functions.begin(), inventory.functions.end(), by_begin);
  std::sort(inventory.calls.begin(), inventory.calls.end(), by_begin);
  return inventory;
}

}  // namespace crossdock::explore
