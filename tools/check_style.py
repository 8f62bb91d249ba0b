#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the rules of the house that a compiler does not know.

usage: check_style.py [--root DIR] [--list] [FILE ...]

Without files it reads every text file of the repository. One line per violation on stdout,
"file:line: [rule] message"; exit code 0 when there is none, 1 otherwise. A line may be excused by
"style-allow(rule): the reason" in a comment on it or on the line before.
"""

import argparse
import fnmatch
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from cpp_text import blank, find_functions  # noqa: E402
from repo_files import CPP_SUFFIXES, repo_files  # noqa: E402

LINES_MAX = 800
LINES_WARN = 400
FUNCTION_LINES_MAX = 70
COLUMNS_MAX = 100
LONG_FUNCTIONS = "tools/long_functions.txt"
SPDX = "SPDX-License-Identifier: Apache-2.0"
SCRIPT_SUFFIXES = (".py", ".sh", ".cmake")
TESTS = ("*_test.cc", "*_test_support.h", "*_suite.*", "*/test_*.h", "*/testing/*", "tests/*")


@dataclass
class Ban:
    """A pattern that the code of C++ files must not contain outside its home."""

    rule: str
    pattern: str
    instead: str
    home: tuple = ()  # fnmatch patterns of the files where it is right.
    regex: re.Pattern = field(init=False)

    def __post_init__(self):
        self.regex = re.compile(self.pattern)


BANS = (
    Ban("getenv", r"\b(?:secure_)?getenv\s*\(", "a row in the table of src/base/settings",
        ("src/base/settings*", "tests/*")),
    Ban("sleep", r"\b(?:sleep_for|sleep_until|usleep|nanosleep)\s*\(|(?<![\w:.>])sleep\s*\(",
        "wait through the clock seam (base/clock.h) or the fabric's wait",
        ("src/base/clock*", "src/base/wait*", "src/base/backoff*", "src/fabric/*wait*", *TESTS)),
    Ban("system-clock", r"\b(?:system_clock|gettimeofday|CLOCK_REALTIME)\b",
        "the monotonic clock of base/clock.h", ("src/base/clock*",)),
    Ban("rand", r"(?<![\w.>])s?rand\s*\(", "a seeded std::mt19937_64, and print the seed"),
    Ban("printf", r"(?<![\w.>])v?(?:f|s|sn|d)?printf\s*\(", "fmt::print or fmt::format",
        ("src/cli/*", "examples/*", *TESTS)),
    Ban("fence", r"\batomic_thread_fence\b",
        "put the order on the atomic itself: sanitizers do not see free-standing fences",
        ("src/base/*",)),
    Ban("assert", r"(?<![\w.>])assert\s*\(", "an always-on check of base/check.h"),
)

# Fragments, so that this file passes its own check.
NAMES_OF_OTHERS = re.compile(
    r"\b(?:" + "|".join((
        "clau" + "de", "anthro" + "pic", "chat" + "gpt", "open" + "ai", "co" + "pilot",
        "sub" + "agents?", "ai[- ]" + "(?:assistant|agent|generated)", "coding[- ]" + "agent",
        "co-authored" + "-by",
    )) + r")\b",
    re.IGNORECASE,
)
REGISTRY_HOSTS = re.compile(
    "|".join(re.escape(".".join(parts)) for parts in (
        ("pypi", "org"), ("files", "pythonhosted", "org"), ("registry", "npmjs", "org"),
        ("deb", "debian", "org"), ("snapshot", "debian", "org"), ("security", "debian", "org"),
        ("crates", "io"), ("proxy", "golang", "org"), ("docker", "io"), ("ghcr", "io"),
        ("quay", "io"), ("archive", "ubuntu", "com"), ("conda", "anaconda", "org"),
    )),
    re.IGNORECASE,
)
LATER = "TO" + "DO"
LATER_WITHOUT_ISSUE = re.compile(rf"\b{LATER}\b(?!\(#\d+\))")
BROKEN = re.compile(r"\b(?:FIX" + r"ME|X" + r"XX)\b")
ALLOW = re.compile(r"style-allow\(([\w-]+)\)(: *\S.*)?")


class Report:
    def __init__(self):
        self.errors = []
        self.warnings = []

    def error(self, path, line, rule, message):
        self.errors.append(f"{path}:{line}: [{rule}] {message}")

    def warn(self, path, line, rule, message):
        self.warnings.append(f"{path}:{line}: warning: [{rule}] {message}")


class FileText:
    """A file's lines and the excuses written in it."""

    def __init__(self, path, text):
        self.path = path
        self.text = text
        self.lines = text.splitlines()
        self.allowed = {}  # rule -> set of line numbers
        self.is_cpp = path.endswith(CPP_SUFFIXES)
        self.is_code = self.is_cpp or path.endswith((*SCRIPT_SUFFIXES, "CMakeLists.txt"))
        self.is_test = any(fnmatch.fnmatch(path, home) for home in TESTS)

    def read_excuses(self, report):
        for number, line in enumerate(self.lines, 1):
            for rule, reason in ALLOW.findall(line) if self.is_cpp else ():
                if not reason:
                    report.error(self.path, number, "style-allow", "give the reason after a colon")
                self.allowed.setdefault(rule, set()).update((number, number + 1))

    def is_allowed(self, rule, line):
        return line in self.allowed.get(rule, ())


def check_bans(file, report):
    code_lines = blank(file.text).splitlines()
    for ban in BANS:
        if any(fnmatch.fnmatch(file.path, home) for home in ban.home):
            continue
        for number, line in enumerate(code_lines, 1):
            if ban.regex.search(line) and not file.is_allowed(ban.rule, number):
                report.error(file.path, number, ban.rule, f"instead use {ban.instead}")


def check_words(file, report):
    for number, line in enumerate(file.lines, 1):
        if BROKEN.search(line):
            report.error(file.path, number, "fixme", f"mend it, or write {LATER}(#issue)")
        if file.is_code and LATER_WITHOUT_ISSUE.search(line):
            report.error(file.path, number, "todo", f"name the issue: {LATER}(#12)")
        if NAMES_OF_OTHERS.search(line):
            report.error(file.path, number, "words", "tools of the trade have no place here")
        if REGISTRY_HOSTS.search(line):
            report.error(file.path, number, "registry", "name the package; the machine knows where")


def check_shape(file, report):
    if not file.is_code:
        return
    if SPDX not in "\n".join(file.lines[:2]):
        report.error(file.path, 1, "spdx", f"the file must start with: {SPDX}")
    if len(file.lines) > LINES_MAX:
        report.error(file.path, 1, "file-length", f"{len(file.lines)} lines; at most {LINES_MAX}")
    elif len(file.lines) > LINES_WARN and not file.is_test:
        report.warn(file.path, 1, "file-length", f"{len(file.lines)} lines; aim under {LINES_WARN}")
    for number, line in enumerate(file.lines, 1):
        if len(line) > COLUMNS_MAX and not re.search(r'https?://|#include|R"', line):
            report.error(file.path, number, "columns", f"{len(line)}; at most {COLUMNS_MAX}")
    is_repeated = file.path.endswith("-inl.h")  # Included once for each instruction set.
    has_pragma = re.search(r"^#pragma once$", file.text, re.MULTILINE)
    if file.path.endswith(".h") and not is_repeated and not has_pragma:
        report.error(file.path, 1, "pragma-once", "a header needs #pragma once")


def read_long_functions(root):
    """{(path, function): line in the list} for functions that are long for a reason."""
    entries = {}
    path = root / LONG_FUNCTIONS
    for number, line in enumerate(path.read_text().splitlines() if path.exists() else [], 1):
        if line.strip() and not line.startswith("#"):
            match = re.fullmatch(r"(\S+) (.+?): (\S.*)", line)
            if not match:
                raise ValueError(f"{LONG_FUNCTIONS}:{number}: write PATH FUNCTION: reason")
            entries[(match.group(1), match.group(2))] = number
    return entries


def check_functions(file, excused, used, report):
    for function in find_functions(file.text):
        if function.line_count <= FUNCTION_LINES_MAX:
            continue
        key = (file.path, function.name)
        if key in excused:
            used.add(key)
            continue
        report.error(
            file.path, function.first_line, "function-length",
            f"{function.name} has {function.line_count} lines; at most {FUNCTION_LINES_MAX}, or a "
            f"reason in {LONG_FUNCTIONS}",
        )


def check_files(root, paths, report):
    """Checks the files; returns how many were text."""
    excused = read_long_functions(root)
    used = set()
    count = 0
    for path in paths:
        try:
            text = (root / path).read_bytes().decode("utf-8")
        except UnicodeDecodeError:
            continue
        if "\0" in text:
            continue
        count += 1
        file = FileText(path, text)
        file.read_excuses(report)
        check_words(file, report)
        check_shape(file, report)
        if file.is_cpp:
            check_bans(file, report)
            check_functions(file, excused, used, report)
    for key, number in excused.items():
        if key not in used and key[0] in paths:
            report.error(LONG_FUNCTIONS, number, "function-length", f"{key[1]} is short again")
    return count


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    parser.add_argument("--list", action="store_true", help="print the banned calls and stop")
    parser.add_argument("files", nargs="*")
    options = parser.parse_args()
    if options.list:
        for ban in BANS:
            print(f"{ban.rule}: {ban.instead}; allowed in {', '.join(ban.home) or 'no file'}")
        return 0
    report = Report()
    count = check_files(options.root, options.files or repo_files(options.root), report)
    for line in report.warnings + report.errors:
        print(line)
    print(
        f"style: {count} files, {len(report.errors)} errors, {len(report.warnings)} warnings",
        file=sys.stderr,
    )
    return 1 if report.errors else 0


if __name__ == "__main__":
    sys.exit(main())
