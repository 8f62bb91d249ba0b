# SPDX-License-Identifier: Apache-2.0
"""Just enough C++ reading for the style check: comments and literals blanked, functions found."""

import re
from dataclasses import dataclass

_TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/|R"(?P<tag>[^()\\\s]{0,16})\(.*?\)(?P=tag)"
    |"(?:\\.|[^"\\\n])*"|(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+'""",
    re.DOTALL | re.VERBOSE,
)
_SCOPE = re.compile(r"(?:^|\s)(?:namespace|class|struct|union|enum)\b|^\s*extern\s*$")
_NAME = re.compile(r"(~?[\w:]+|operator\s*\S+?)\s*\(")


def blank(text, keep_comments=False):
    """The text with comments and the insides of literals replaced by spaces, same lines."""

    def replace(match):
        token = match.group()
        if token.startswith("/"):
            return token if keep_comments else re.sub(r"[^\n]", " ", token)
        return '"' + re.sub(r"[^\n]", " ", token[1:-1]) + '"'

    return _TOKEN.sub(replace, text)


@dataclass
class Function:
    name: str
    first_line: int
    line_count: int  # From the opening brace's line to the closing one's.


def find_functions(text):
    """The function bodies outside other bodies. A heuristic: it knows braces, not C++."""
    code = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", _keep_newlines, blank(text), flags=re.MULTILINE)
    functions = []
    stack = []  # One entry per open brace: "scope", "block", or the index of a function.
    header_start = 0
    parens = 0
    for match in re.finditer(r"[{}();]", code):
        mark, at = match.group(), match.start()
        inside = bool(stack) and stack[-1] != "scope"
        if mark in "()":
            parens += 1 if mark == "(" else -1
        elif mark == ";":
            if not inside and parens == 0:
                header_start = at + 1
        elif mark == "{":
            kind = _kind_of_brace(code[header_start:at]) if not inside and parens == 0 else "block"
            if kind == "function":
                name = _name_of_function(code[header_start:at])
                line = code.count("\n", 0, at) + 1
                functions.append(Function(name, line, 0))
                kind = len(functions) - 1
            elif kind == "scope":
                header_start = at + 1
            stack.append(kind)
        elif stack:
            kind = stack.pop()
            if isinstance(kind, int):
                last_line = code.count("\n", 0, at) + 1
                functions[kind].line_count = last_line - functions[kind].first_line + 1
            if kind != "block":
                header_start = at + 1
    return functions


def _keep_newlines(match):
    return "\n" * match.group().count("\n")


def _kind_of_brace(header):
    """What the brace after this header opens, at namespace or class level."""
    without_templates = re.sub(r"template\s*<[^{}]*?>(?=\s*\w)", "", header)
    if "(" not in header:
        return "scope" if _SCOPE.search(without_templates) else "block"
    if re.search(r"[^=!<>]=\s*$", header):
        return "block"
    # In "X::X(int a) : a_" the brace initializes a member; the body's brace follows ")" or "}".
    initializers = re.search(r"\)\s*(?:noexcept\s*)?:(?!:)", header)
    if initializers and re.search(r"[\w>]\s*$", header):
        return "block"
    return "function"


def _name_of_function(header):
    match = _NAME.search(re.sub(r"\[\[.*?\]\]|alignas\s*\(.*?\)", "", header))
    if not match:
        return "?"
    name = match.group(1)
    if name in ("TEST", "TEST_F", "TEST_P", "TYPED_TEST", "RC_GTEST_PROP"):
        arguments = header[match.end() :].split(")")[0]
        return name + "(" + ", ".join(part.strip() for part in arguments.split(",")[:2]) + ")"
    return name
