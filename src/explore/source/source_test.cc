// SPDX-License-Identifier: Apache-2.0
// Text, tokens, directives and masking.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "explore/source/lexer.h"
#include "explore/source/mask.h"
#include "explore/source/preprocessor.h"
#include "explore/source/rules.h"
#include "explore/source/sha256.h"
#include "explore/source/text.h"

namespace crossdock::explore {
namespace {

struct Masking {
  explicit Masking(std::string source)
      : text(std::move(source)),
        tokens(text.view(), lex(text.view(), LexerMode::kCpp)),
        directives(read_directives(text, tokens)),
        masked(mask(text, tokens, directives, default_rules())) {}

  SourceText text;
  Tokens tokens;
  Preprocessed directives;
  MaskedText masked;
};

/// Sources put together from what matters to the lexer and the masker.
rc::Gen<std::string> arbitrary_source() {
  return rc::gen::map(rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(
                          std::vector<std::string>{"__global__ ",
                                                   "__launch_bounds__(256, 1) ",
                                                   "void f",
                                                   "(int a)",
                                                   "{",
                                                   "}",
                                                   "(",
                                                   ")",
                                                   "<",
                                                   ">",
                                                   "<<<",
                                                   ">>>",
                                                   "k<<<g, b>>>(x);",
                                                   "asm volatile(\"mov {}\" :: \"r\"(x));",
                                                   "\n",
                                                   "#if A\n",
                                                   "#else\n",
                                                   "#endif\n",
                                                   "#define M(x) x {\n",
                                                   "// c\n",
                                                   "/* d */",
                                                   "\"s\\\"\"",
                                                   "R\"(raw } {)\"",
                                                   "'c'",
                                                   "EXPORT_API\n",
                                                   "a < b && c > d",
                                                   ";",
                                                   "\\\n",
                                                   "\xC3\xA9",
                                                   "'"})),
                      [](const std::vector<std::string>& parts) {
                        std::string all;
                        for (const std::string& part : parts) {
                          all += part;
                        }
                        return all;
                      });
}

TEST(SourceText, LinesAndColumnsAreThoseOfABrowser) {
  const SourceText text("a\n\xF0\x9F\x98\x80 b\nc");
  EXPECT_EQ(text.line_count(), 3);
  EXPECT_EQ(text.line(2), "\xF0\x9F\x98\x80 b");
  EXPECT_EQ(text.site({7, 8}), (Site{2, 3, 1}));  // The smiley is two UTF-16 units.
  EXPECT_EQ(SourceText("").line_count(), 0);
  EXPECT_EQ(SourceText("x\n").line_count(), 1);
}

TEST(DecodeText, BytesThatAreNoTextAreRepaired) {
  EXPECT_EQ(decode_text("a\xFF\0b").text, "a\xEF\xBF\xBD");
  EXPECT_EQ(decode_text(std::string_view("a\0b", 3)).encoding, "repaired");
  EXPECT_EQ(decode_text("\xEF\xBB\xBFx\r\ny\rz").text, "x\ny\nz");
  EXPECT_EQ(decode_text(std::string_view("\xFF\xFEh\0i\0", 6)).text, "hi");
  EXPECT_EQ(decode_text("caf\xC3\xA9").encoding, "utf-8");
}

TEST(Sha256, IsThePublishedOne) {
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Lexer, RawStringsAndUnclosedOnesHideNothingElse) {
  const std::string source = "auto s = R\"x(} \" kernel {)x\"; char c = 'a\nint n;";
  const Tokens tokens(source, lex(source, LexerMode::kCpp));
  std::vector<std::string> names;
  for (std::size_t index = 0; index < tokens.size(); ++index) {
    if (tokens.is_name(index)) {
      names.emplace_back(tokens.text(index));
    }
  }
  EXPECT_EQ(names, (std::vector<std::string>{"auto", "s", "char", "c", "int", "n"}));
}

RC_GTEST_PROP(LexerProperty, EveryByteIsInOneTokenOrBlank, ()) {
  const std::string source = *arbitrary_source();
  std::size_t at = 0;
  for (const Token& token : lex(source, LexerMode::kCpp)) {
    RC_ASSERT(token.begin >= at);
    RC_ASSERT(token.end > token.begin);
    RC_ASSERT(token.line == 1 + std::count(source.begin(), source.begin() + token.begin, '\n'));
    for (; at < token.begin; ++at) {
      RC_ASSERT(std::string_view(" \t\n\v\f\\").find(source[at]) != std::string_view::npos);
    }
    at = token.end;
  }
}

RC_GTEST_PROP(MaskProperty, EveryOffsetMapsBack, ()) {
  const std::string source = *arbitrary_source();
  const Masking masking(source);
  RC_ASSERT(masking.masked.text.size() == source.size());
  for (std::size_t at = 0; at < source.size(); ++at) {
    const char c = masking.masked.text[at];
    RC_ASSERT(c == source[at] || c == ' ');
    RC_ASSERT((source[at] == '\n') == (c == '\n'));
  }
}

TEST(Mask, LaunchesQualifiersAndAssemblyBecomeBlanks) {
  const Masking masking(
      "template <int N> __global__ __launch_bounds__(N * 2, 1) void k(int* __restrict__ a);\n"
      "void h() { k<8><<<dim3(1), b, s->x, q>>>(p); asm volatile(\"}\" ::: \"memory\"); }\n");
  EXPECT_EQ(masking.masked.text.find("__"), std::string::npos) << masking.masked.text;
  EXPECT_EQ(masking.masked.text.find("<<<"), std::string::npos);
  EXPECT_NE(masking.masked.text.find("k<8>"), std::string::npos);
  EXPECT_EQ(masking.masked.text.find("asm"), std::string::npos);
}

TEST(Mask, AShiftIsNoLaunch) {
  const Masking masking("int f(int a) { return a << 2; }\nstd::vector<std::vector<X<int>>> v;\n");
  EXPECT_TRUE(masking.masked.masked.empty());
}

TEST(Mask, OfTwoBranchesThatOpenOneBraceTheFirstStays) {
  const Masking masking("void f() {\n#ifdef A\n  if (a) {\n#else\n  if (b) {\n#endif\n  }\n}\n");
  EXPECT_NE(masking.masked.text.find("if (a) {"), std::string::npos);
  EXPECT_EQ(masking.masked.text.find("if (b) {"), std::string::npos);
}

TEST(Directives, ConditionsNestAndAlternativesAreNegated) {
  const Masking masking("#if A\nx\n#elif B\ny\n#else\n#if 0\nz\n#endif\n#endif\nw\n");
  EXPECT_EQ(masking.directives.at(2)->conditions, (std::vector<std::string>{"A"}));
  EXPECT_EQ(masking.directives.at(4)->conditions, (std::vector<std::string>{"!(A) && (B)"}));
  EXPECT_EQ(masking.directives.at(7)->conditions, (std::vector<std::string>{"!(A) && !(B)", "0"}));
  EXPECT_TRUE(masking.directives.at(7)->never);
  EXPECT_EQ(masking.directives.at(10), nullptr);
}

TEST(Rules, ABadLineNamesFileAndLine) {
  Rules rules;
  const Status status = rules.add("mask word __x__\nmechanism knot f\n", "my.rules");
  EXPECT_EQ(status.kind(), StatusKind::kInvalidArgument);
  EXPECT_NE(status.message().find("'my.rules':2"), std::string_view::npos) << status.to_string();
  EXPECT_TRUE(rules.add("mechanism doorbell *my_bell*\n", "my.rules").ok());
  EXPECT_EQ(rules.mechanism("Ring_My_Bell2"), Mechanism::kDoorbell);
}

}  // namespace
}  // namespace crossdock::explore
