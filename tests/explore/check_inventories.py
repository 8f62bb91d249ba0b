#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that hand-written inventories still say what their fixtures' text says.

usage: check_inventories.py [FOLDER ...]

An inventory is FOLDER/golden.json (format: docs/explorer-schema.md, "Inventories"). Beside what
that page names, every entry carries the text of its line, so that a line number cannot rot unseen.
Without arguments: all folders of fixtures/. One line per mismatch; exit code 1 when there is one.
"""

import json
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
SCHEMA = "crossdock.explore.inventory/1"
EDGE_CLASSES = {"exact", "name-only", "ambiguous", "textual"}
MACRO_CALL_HEADS = ("MESH_", "ECHELON_", "RING_")


class Inventory:
    def __init__(self, folder):
        self.folder = folder
        self.data = json.loads((folder / "golden.json").read_text())
        self.errors = []
        self.lines = {}
        for path in sorted(folder.rglob("*")):
            if path.is_file() and path.name != "golden.json":
                name = path.relative_to(folder).as_posix()
                self.lines[name] = path.read_text().splitlines()
        self.functions = {}
        for entry in self.data["functions"]:
            self.functions.setdefault(entry["qualified"], []).append(entry)

    def fail(self, entry, message):
        where = f"{self.folder.name}/{entry.get('file', 'golden.json')}:{entry.get('line', 0)}"
        self.errors.append(f"{where}: {message}")

    def line(self, file, number):
        lines = self.lines.get(file, [])
        return lines[number - 1] if 1 <= number <= len(lines) else None

    def check_text(self, entry):
        text = self.line(entry["file"], entry["line"])
        if text is None:
            self.fail(entry, "no such line")
        elif text.strip() != entry["text"]:
            self.fail(entry, f"is {text.strip()!r}, not {entry['text']!r}")

    def function_around(self, qualified, file, line):
        """The innermost definition of that name which covers the line."""
        for entry in self.functions.get(qualified, []):
            if entry["file"] == file and entry["lines"][0] <= line <= entry["lines"][1]:
                return entry
        return None

    def check_functions(self):
        for entry in self.data["functions"]:
            self.check_text(entry)
            first, last = entry["lines"]
            if not first <= entry["line"] <= last:
                self.fail(entry, f"the name lies outside {first}-{last}")
            name = re.split(r"::|\.", entry["qualified"])[-1]
            if entry["kind"] != "lambda" and name not in entry["text"]:
                self.fail(entry, f"no {name} in this line")
            end = self.line(entry["file"], last) or ""
            is_python = entry["file"].endswith(".py")
            if not is_python and entry["kind"] != "macro" and "}" not in end:
                self.fail(entry, f"line {last} closes nothing")
            if is_python and not end.strip():
                self.fail(entry, f"line {last} is blank")
        self.check_nesting()

    def check_nesting(self):
        for file in self.lines:
            spans = [e for e in self.data["functions"] if e["file"] == file]
            for one, other in zip(spans, spans[1:]):
                inside = other["lines"][1] <= one["lines"][1]
                if other["lines"][0] <= one["lines"][1] and not inside:
                    self.fail(other, f"overlaps {one['qualified']}")
                if inside and other["lines"] != one["lines"] and "parent" not in other:
                    self.fail(other, f"lies in {one['qualified']}, but names no parent")

    def check_edges(self):
        for entry in self.data["edges"]:
            self.check_text(entry)
            if not self.function_around(entry["from"], entry["file"], entry["line"]):
                self.fail(entry, f"not inside {entry['from']}")
            targets = [e["line"] for e in self.functions.get(entry["to"], [])]
            if entry["to_line"] not in targets:
                self.fail(entry, f"{entry['to']} is defined at {targets}, not {entry['to_line']}")
            if entry["class"] not in EDGE_CLASSES:
                self.fail(entry, f"class {entry['class']!r}; allowed: {sorted(EDGE_CLASSES)}")
            self.check_evidence(entry)

    def check_evidence(self, entry):
        """The line must name what it calls, save where a table or a macro stands for it."""
        name = re.split(r"::|\.", entry["to"])[-1]
        if entry["form"] in ("table", "lambda", "construct", "macro_call"):
            if entry["form"] == "macro_call" and not any(
                head in entry["text"] for head in MACRO_CALL_HEADS
            ):
                self.fail(entry, "no macro here")
            return
        known_as = {name} | {b["name"] for b in self.data.get("bindings", [])
                             if b["function"] == entry["to"]}
        if not any(re.search(rf"\b{re.escape(word)}\b", entry["text"]) for word in known_as):
            self.fail(entry, f"does not name {sorted(known_as)}")

    def check_others(self):
        for entry in self.data["marks"] + self.data.get("bindings", []):
            self.check_text(entry)
        for entry in self.data["marks"]:
            name = entry.get("function")
            if name and not self.function_around(name, entry["file"], entry["line"]):
                self.fail(entry, f"not inside {name}")
        for entry in self.data["roles"]:
            self.check_text(entry)
            if not self.function_around(entry["function"], entry["file"], entry["line"]):
                self.fail(entry, f"not inside {entry['function']}")
        for name in self.named_functions():
            if name is not None and name not in self.functions:
                self.fail({}, f"{name} is no function of the inventory")
        for entry in self.data["files"]:
            count = len(self.lines.get(entry["path"], []))
            if count != entry["line_count"]:
                self.fail(entry, f"{entry['path']} has {count} lines, not {entry['line_count']}")

    def named_functions(self):
        for pair in self.data["sync"]:
            yield from pair["publishers"] + pair["waiters"]
        for path in self.data.get("paths", []):
            yield from path["functions"]
        for mark in self.data["marks"]:
            yield from mark.get("related", [])
        yield from (role["entry"] for role in self.data["roles"])
        yield from (binding["function"] for binding in self.data.get("bindings", []))

    def check(self):
        if self.data.get("schema") != SCHEMA:
            self.fail({}, f"schema {self.data.get('schema')!r}; must be {SCHEMA!r}")
        self.check_functions()
        self.check_edges()
        self.check_others()
        return self.errors


def main():
    folders = [Path(argument) for argument in sys.argv[1:]]
    folders = folders or sorted(path.parent for path in HERE.glob("fixtures/*/golden.json"))
    errors = []
    for folder in folders:
        inventory = Inventory(folder)
        errors += inventory.check()
        print(f"{folder.name}: {len(inventory.data['functions'])} functions, "
              f"{len(inventory.data['edges'])} edges, {len(inventory.data['marks'])} marks")
    print("\n".join(errors), end="\n" if errors else "")
    return 1 if errors or not folders else 0


if __name__ == "__main__":
    sys.exit(main())
