// SPDX-License-Identifier: Apache-2.0
#include "explore/parse/syntax_tree.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "base/check.h"

// Made by the grammars' generators; see grammars/package.json.
extern "C" const TSLanguage* tree_sitter_c();
extern "C" const TSLanguage* tree_sitter_cpp();
extern "C" const TSLanguage* tree_sitter_python();

namespace crossdock::explore {
namespace {

const TSLanguage* language_of(Grammar grammar) {
  switch (grammar) {
    case Grammar::kC:
      return tree_sitter_c();
    case Grammar::kCpp:
      return tree_sitter_cpp();
    case Grammar::kPython:
      return tree_sitter_python();
  }
  return nullptr;
}

struct DeleteParser {
  void operator()(TSParser* parser) const { ts_parser_delete(parser); }
};

}  // namespace

std::optional<SyntaxTree> SyntaxTree::parse(std::string_view text, Grammar grammar, Duration time) {
  const std::unique_ptr<TSParser, DeleteParser> parser(ts_parser_new());
  const bool fits = ts_parser_set_language(parser.get(), language_of(grammar));
  CROSSDOCK_CHECK(fits, "grammar {} has another ABI than the tree-sitter library",
                  static_cast<int>(grammar));
  ts_parser_set_timeout_micros(
      parser.get(), static_cast<std::uint64_t>(
                        std::chrono::duration_cast<std::chrono::microseconds>(time).count()));
  TSTree* const tree = ts_parser_parse_string(parser.get(), nullptr, text.data(),
                                              static_cast<std::uint32_t>(text.size()));
  if (tree == nullptr) {
    return std::nullopt;
  }
  return SyntaxTree(text, tree);
}

std::string_view SyntaxTree::text(TSNode node) const {
  if (ts_node_is_null(node)) {
    return {};
  }
  const ByteRange bytes = bytes_of(node);
  return text_.substr(bytes.begin, bytes.end - bytes.begin);
}

TSNode field(TSNode node, std::string_view name) {
  if (ts_node_is_null(node)) {
    return node;
  }
  return ts_node_child_by_field_name(node, name.data(), static_cast<std::uint32_t>(name.size()));
}

}  // namespace crossdock::explore
