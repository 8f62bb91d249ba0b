// SPDX-License-Identifier: Apache-2.0
#include "explore/parse/python_inventory.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "explore/parse/syntax_tree.h"

namespace crossdock::explore {
namespace {

class Walker {
 public:
  explicit Walker(const SyntaxTree& tree) : tree_(tree) {}

  Inventory run() {
    walk(tree_.root(), [&](TSNode node) { return enter(node); }, [&](TSNode node) { leave(node); });
    return std::move(out_);
  }

 private:
  struct Scope {
    const void* node_id;
    std::string name;
    bool is_class;
  };

  bool enter(TSNode node) {
    const std::string_view type = type_of(node);
    if (type == "ERROR" || ts_node_is_missing(node)) {
      const ByteRange bytes = bytes_of(node);
      if (out_.unparsed.empty() || !out_.unparsed.back().contains(bytes.begin)) {
        out_.unparsed.push_back(bytes);
      }
    } else if (type == "function_definition") {
      add_function(node);
    } else if (type == "class_definition") {
      add_class(node);
    } else if (type == "call") {
      add_call(field(node, "function"));
    }
    return true;
  }

  void leave(TSNode node) {
    while (!scopes_.empty() && scopes_.back().node_id == node.id) {
      scopes_.pop_back();
    }
  }

  [[nodiscard]] std::string scope() const {
    std::string joined;
    for (const Scope& scope : scopes_) {
      joined += (joined.empty() ? "" : ".") + scope.name;
    }
    return joined;
  }

  void add_function(TSNode node) {
    const TSNode name = field(node, "name");
    const TSNode body = field(node, "body");
    if (ts_node_is_null(name) || ts_node_is_null(body)) {
      return;
    }
    FoundFunction found;
    found.name = tree_.text(name);
    found.scope = scope();
    const bool in_class = !scopes_.empty() && scopes_.back().is_class;
    found.kind = in_class ? FunctionKind::kMember : FunctionKind::kFunction;
    const TSNode parent = ts_node_parent(node);
    const bool is_decorated = type_of(parent) == "decorated_definition";
    found.whole = {ts_node_start_byte(is_decorated ? parent : node), ts_node_end_byte(node)};
    found.name_at = bytes_of(name);
    const TSNode parameters = field(node, "parameters");
    found.parameters = ts_node_is_null(parameters) ? ByteRange{} : bytes_of(parameters);
    found.body = bytes_of(body);
    const TSNode type = field(node, "return_type");
    found.return_type = ts_node_is_null(type) ? "" : one_line(tree_.text(type));
    scopes_.push_back({node.id, found.name, false});
    out_.functions.push_back(std::move(found));
  }

  void add_class(TSNode node) {
    FoundClass found;
    const std::string outer = scope();
    const std::string name(tree_.text(field(node, "name")));
    found.qualified = outer.empty() ? name : outer + "." + name;
    const TSNode bases = field(node, "superclasses");
    for (std::uint32_t index = 0;
         !ts_node_is_null(bases) && index < ts_node_named_child_count(bases); ++index) {
      found.bases.emplace_back(tree_.text(ts_node_named_child(bases, index)));
    }
    found.lines = {static_cast<int>(ts_node_start_point(node).row) + 1,
                   static_cast<int>(ts_node_end_point(node).row) + 1};
    scopes_.push_back({node.id, name, true});
    out_.classes.push_back(std::move(found));
  }

  void add_call(TSNode callee) {
    if (type_of(callee) == "attribute") {
      callee = field(callee, "attribute");
    }
    if (type_of(callee) == "identifier") {
      out_.calls.push_back({bytes_of(callee)});
    }
  }

  const SyntaxTree& tree_;
  Inventory out_;
  std::vector<Scope> scopes_;
};

}  // namespace

Inventory take_python_inventory(std::string_view text, Duration time) {
  const std::optional<SyntaxTree> tree = SyntaxTree::parse(text, Grammar::kPython, time);
  if (!tree.has_value()) {
    Inventory nothing;
    nothing.gave_up = true;
    nothing.unparsed.push_back({0, text.size()});
    return nothing;
  }
  Inventory inventory = Walker(*tree).run();
  std::sort(
      inventory.calls.begin(), inventory.calls.end(),
      [](const FoundCall& a, const FoundCall& b) { return a.name_at.begin < b.name_at.begin; });
  return inventory;
}

}  // namespace crossdock::explore
