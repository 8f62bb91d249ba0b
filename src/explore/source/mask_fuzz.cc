// SPDX-License-Identifier: Apache-2.0
// Any bytes as a C++ file: tokens in order, masking that keeps every offset, brackets and
// statements that end.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "explore/parse/brace_scanner.h"
#include "explore/source/lexer.h"
#include "explore/source/mask.h"
#include "explore/source/preprocessor.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t byte_count) {
  using namespace crossdock::explore;
  const DecodedText decoded =
      decode_text(std::string_view(reinterpret_cast<const char*>(bytes), byte_count));
  const SourceText text(decoded.text);
  const Tokens tokens(text.view(), lex(text.view(), LexerMode::kCpp));
  std::size_t at = 0;
  for (const Token& token : tokens.all()) {
    CROSSDOCK_CHECK(token.begin >= at && token.end > token.begin && token.end <= text.size());
    CROSSDOCK_CHECK(static_cast<int>(token.line) == text.line_at(token.begin));
    at = token.end;
  }
  const Preprocessed directives = read_directives(text, tokens);
  const MaskedText masked = mask(text, tokens, directives, default_rules());
  CROSSDOCK_CHECK(masked.text.size() == text.size());
  for (std::size_t index = 0; index < text.size(); ++index) {
    CROSSDOCK_CHECK(masked.text[index] == text.view()[index] || masked.text[index] == ' ');
    CROSSDOCK_CHECK((masked.text[index] == '\n') == (text.view()[index] == '\n'));
  }
  const Tokens code(masked.text, code_tokens(lex(masked.text, LexerMode::kCpp)));
  for (const FoundFunction& found : scan_cpp(code).functions) {
    CROSSDOCK_CHECK(found.whole.end <= text.size() && found.body.begin < found.body.end);
  }
  const Tokens python(text.view(), code_tokens(lex(text.view(), LexerMode::kPython)));
  static_cast<void>(scan_python(text, python));
  return 0;
}
