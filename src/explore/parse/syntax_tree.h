// SPDX-License-Identifier: Apache-2.0
// A tree-sitter tree and a walk over it that needs no recursion, however deep the source nests.
// Thread rule: one thread per tree.
#pragma once

#include <tree_sitter/api.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "base/clock.h"
#include "explore/source/text.h"

namespace crossdock::explore {

enum class Grammar : std::uint8_t { kC, kCpp, kPython };

class SyntaxTree {
 public:
  /// Empty when `time` ran out. `text` must outlive the tree.
  static std::optional<SyntaxTree> parse(std::string_view text, Grammar grammar, Duration time);

  [[nodiscard]] TSNode root() const { return ts_tree_root_node(tree_.get()); }
  [[nodiscard]] std::string_view text(TSNode node) const;

 private:
  struct Delete {
    void operator()(TSTree* tree) const { ts_tree_delete(tree); }
  };
  SyntaxTree(std::string_view text, TSTree* tree) : text_(text), tree_(tree) {}

  std::string_view text_;
  std::unique_ptr<TSTree, Delete> tree_;
};

/// Empty of a null node.
[[nodiscard]] inline ByteRange bytes_of(TSNode node) {
  return ts_node_is_null(node) ? ByteRange{}
                               : ByteRange{ts_node_start_byte(node), ts_node_end_byte(node)};
}
[[nodiscard]] inline std::string_view type_of(TSNode node) {
  return ts_node_is_null(node) ? std::string_view{} : ts_node_type(node);
}
/// Null when there is none, and of a null node.
[[nodiscard]] TSNode field(TSNode node, std::string_view name);

/// Calls enter(node), which says whether its children are visited, and leave(node) for those whose
/// children were.
template <typename Enter, typename Leave>
void walk(TSNode root, const Enter& enter, const Leave& leave) {
  TSTreeCursor cursor = ts_tree_cursor_new(root);
  bool down = true;
  while (true) {
    const TSNode node = ts_tree_cursor_current_node(&cursor);
    if (down && enter(node)) {
      if (ts_tree_cursor_goto_first_child(&cursor)) {
        continue;
      }
      leave(node);
    } else if (!down) {
      leave(node);
    }
    if (ts_node_eq(node, root)) {
      break;
    }
    down = ts_tree_cursor_goto_next_sibling(&cursor);
    if (!down && !ts_tree_cursor_goto_parent(&cursor)) {
      break;
    }
  }
  ts_tree_cursor_delete(&cursor);
}

}  // namespace crossdock::explore
