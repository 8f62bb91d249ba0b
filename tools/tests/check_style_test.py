#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of tools/check_style.py and tools/cpp_text.py."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from check_style import Report, check_files  # noqa: E402
from cpp_text import blank, find_functions  # noqa: E402

HEAD = "// SPDX-License-Identifier: Apache-2.0\n"


def errors(path, text, others=None):
    report = Report()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name, content in {path: text, **(others or {})}.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(content)
        check_files(root, [path], report)
    return report.errors


def rules(path, text, others=None):
    return [error.split("[")[1].split("]")[0] for error in errors(path, text, others)]


class Bans(unittest.TestCase):
    def assert_rule(self, rule, line, home=None):
        """The line breaks the rule in ep, and is fine at home."""
        self.assertEqual(rules("src/ep/a.cc", HEAD + line + "\n"), [rule])
        if home:
            self.assertEqual(rules(home, HEAD + line + "\n"), [])

    def test_each_banned_call_is_found_outside_its_home(self):
        self.assert_rule("getenv", 'auto* x = std::getenv("A");', "src/base/settings.cc")
        self.assert_rule("sleep", "std::this_thread::sleep_for(x);", "src/base/clock.cc")
        self.assert_rule("sleep", "usleep(5);", "src/ep/a_test.cc")
        self.assert_rule("sleep", "::nanosleep(&a, &b);", "src/fabric/waiting.cc")
        self.assert_rule("system-clock", "std::chrono::system_clock::now();")
        self.assert_rule("rand", "int x = rand();")
        self.assert_rule("printf", 'std::fprintf(stderr, "x");', "src/cli/main.cc")
        self.assert_rule("printf", "std::snprintf(a, 3, b);", "tests/x.cc")
        self.assert_rule("fence", "std::atomic_thread_fence(x);", "src/base/copy.cc")
        self.assert_rule("assert", "assert(x > 0);")

    def test_message_names_the_replacement(self):
        self.assertIn("fmt::print", errors("src/ep/a.cc", HEAD + "printf(x);\n")[0])

    def test_lookalikes_are_fine(self):
        text = 'static_assert(x);\nqueue.sleep(3);\nlong strand(int);\n'
        text += 'auto s = "rand()";\n// rand()\n'
        self.assertEqual(rules("src/ep/a.cc", HEAD + text), [])

    def test_excuse_needs_a_reason(self):
        excused = "// style-allow(rand): the C interface under test\nint x = rand();\n"
        self.assertEqual(rules("src/ep/a.cc", HEAD + excused), [])
        bare = "int x = rand();  // style-allow(rand)\n"
        self.assertEqual(rules("src/ep/a.cc", HEAD + bare), ["style-allow"])

    def test_excuse_holds_for_its_rule_and_line_only(self):
        text = "// style-allow(rand): why\nint x;\nint y = rand();\n"
        self.assertEqual(rules("src/ep/a.cc", HEAD + text), ["rand"])
        text = "printf(x);  // style-allow(rand): why\n"
        self.assertEqual(rules("src/ep/a.cc", HEAD + text), ["printf"])


class Words(unittest.TestCase):
    def test_open_ends_need_an_issue(self):
        word = "TO" + "DO"
        self.assertEqual(rules("src/ep/a.cc", HEAD + f"// {word}: later\n"), ["todo"])
        self.assertEqual(rules("src/ep/a.cc", HEAD + f"// {word}(#12): later\n"), [])
        self.assertEqual(rules("src/ep/a.cc", HEAD + "// FIX" + "ME\n"), ["fixme"])

    def test_words_and_hosts_are_found_in_any_text_file(self):
        self.assertEqual(rules("a.md", "made with Co" + "pilot\n"), ["words"])
        self.assertEqual(rules("a.sh", "# SPDX-License-Identifier: Apache-2.0\nx py" + "pi.org\n"),
                         ["registry"])


class Shape(unittest.TestCase):
    def test_head_line(self):
        self.assertEqual(rules("src/ep/a.cc", "int x;\n"), ["spdx"])
        script = "#!/usr/bin/python3\n# SPDX-License-Identifier: Apache-2.0\n"
        self.assertEqual(rules("tools/a.py", script), [])
        self.assertEqual(rules("notes.md", "anything\n"), [])

    def test_pragma_once(self):
        self.assertEqual(rules("src/ep/a.h", HEAD), ["pragma-once"])
        self.assertEqual(rules("src/ep/a.h", HEAD + "#pragma once\n"), [])

    def test_columns(self):
        self.assertEqual(rules("src/ep/a.cc", HEAD + "x" * 100 + "\n"), [])
        self.assertEqual(rules("src/ep/a.cc", HEAD + "x" * 101 + "\n"), ["columns"])

    def test_file_length(self):
        self.assertEqual(rules("src/ep/a.cc", HEAD + "\n" * 799), [])
        self.assertEqual(rules("src/ep/a.cc", HEAD + "\n" * 800), ["file-length"])

    def test_binary_files_are_left_alone(self):
        report = Report()
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "a.cc").write_bytes(b"\xff\xfe\0")
            self.assertEqual(check_files(Path(folder), ["a.cc"], report), 0)
        self.assertEqual(report.errors, [])


def function_of_lines(count):
    return "void f() {\n" + "  g();\n" * (count - 2) + "}\n"


class FunctionLength(unittest.TestCase):
    def test_bound(self):
        self.assertEqual(rules("src/ep/a.cc", HEAD + function_of_lines(70)), [])
        self.assertEqual(rules("src/ep/a.cc", HEAD + function_of_lines(71)), ["function-length"])

    def test_listed_function_may_be_long(self):
        listed = {"tools/long_functions.txt": "# head\nsrc/ep/a.cc f: one table, read top down\n"}
        self.assertEqual(rules("src/ep/a.cc", HEAD + function_of_lines(90), listed), [])

    def test_stale_entry_fails(self):
        listed = {"tools/long_functions.txt": "src/ep/a.cc f: one table\n"}
        self.assertEqual(rules("src/ep/a.cc", HEAD, listed), ["function-length"])

    def test_entry_without_reason_fails(self):
        with self.assertRaises(ValueError):
            rules("src/ep/a.cc", HEAD, {"tools/long_functions.txt": "src/ep/a.cc f\n"})


class Functions(unittest.TestCase):
    def found(self, text):
        return [(function.name, function.line_count) for function in find_functions(text)]

    def test_free_member_and_test_functions(self):
        text = "namespace a {\nint f() {\n}\nclass B final : public C {\n void g() const {\n\n}\n"
        text += "};\nTEST(Suite, Case) {\n}\nint B::h() {}\n}\n"
        self.assertEqual(self.found(text),
                         [("f", 2), ("g", 3), ("TEST(Suite, Case)", 2), ("B::h", 1)])

    def test_constructor_with_initializers(self):
        text = "A::A(int x)\n    : x_{x}, y_(f({1, 2})) {\n  g();\n}\nvoid h() {\n}\n"
        self.assertEqual(self.found(text), [("A::A", 3), ("h", 2)])

    def test_braces_that_are_no_functions(self):
        text = "constexpr int kX[] = {1,\n 2};\nenum class E { kA };\nstruct S {\n int a{};\n};\n"
        text += "int y{f(\n3)};\nauto z = g({1,\n2});\n"
        self.assertEqual([name for name, lines in self.found(text) if lines > 1], [])

    def test_braces_in_literals_and_comments(self):
        text = "void f() {\n  x('{');  // {\n  y(\"{{\");\n  z(R\"({)\");\n  /* { */\n}\n"
        text += "int g() {}\n"
        self.assertEqual(self.found(text), [("f", 6), ("g", 1)])

    def test_digit_separators_are_no_literals(self):
        self.assertEqual(blank("int x = 1'000'000; f(\"a\");"), "int x = 1'000'000; f(\" \");")

    def test_templates_and_trailing_returns(self):
        text = "template <class T>\nauto f(T x) -> std::vector<T> {\n}\n"
        self.assertEqual(self.found(text), [("f", 2)])

    def test_macros_are_skipped(self):
        text = "#define X(a) \\\n  if (a) { \\\n\nvoid f() {\n}\n"
        self.assertEqual(self.found(text), [("f", 2)])


if __name__ == "__main__":
    unittest.main()
