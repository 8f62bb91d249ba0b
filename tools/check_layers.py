#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks every #include against tools/layers.toml.

usage: check_layers.py [--root DIR] [FILE ...]

Without files it reads every C++ file of the repository. One line per violation on stdout,
"file:line: message"; exit code 0 when there is none, 1 otherwise, 2 for a broken table.
"""

import argparse
import re
import sys
import tomllib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from repo_files import CPP_SUFFIXES, repo_files  # noqa: E402

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
CPP_STD = frozenset(
    """algorithm any array atomic barrier bit bitset cassert cctype cerrno cfenv cfloat charconv
    chrono cinttypes climits clocale cmath compare complex concepts condition_variable coroutine
    csetjmp csignal cstdarg cstddef cstdint cstdio cstdlib cstring ctime cuchar cwchar cwctype deque
    exception execution filesystem format forward_list fstream functional future initializer_list
    iomanip ios iosfwd iostream istream iterator latch limits list locale map memory memory_resource
    mutex new numbers numeric optional ostream queue random ranges ratio regex scoped_allocator
    semaphore set shared_mutex source_location span sstream stack stdexcept stop_token streambuf
    string string_view strstream syncstream system_error thread tuple type_traits typeindex typeinfo
    unordered_map unordered_set utility valarray variant vector version""".split()
)
# Headers of the C library and the operating system: a bare "name.h", or one of these folders.
SYSTEM_FOLDERS = ("sys/", "linux/", "netinet/", "arpa/", "net/", "asm/", "bits/")
SYSTEM_FILES = frozenset(
    """dirent.h dlfcn.h endian.h errno.h execinfo.h fcntl.h float.h grp.h immintrin.h inttypes.h
    limits.h locale.h math.h malloc.h netdb.h numaif.h poll.h pthread.h pwd.h sched.h semaphore.h
    signal.h spawn.h stdarg.h stddef.h stdint.h stdio.h stdlib.h string.h strings.h syslog.h
    termios.h time.h ucontext.h unistd.h cpuid.h x86intrin.h emmintrin.h xmmintrin.h arm_neon.h
    cxxabi.h getopt.h glob.h link.h mntent.h""".split()
)
ROOM_KEYS = {"rooms", "parts", "system", "forbidden", "test_rooms", "test_parts"}


class TableError(Exception):
    """The table itself is wrong."""


class Layers:
    def __init__(self, table):
        self.rooms = table.get("room", {})
        self.parts = table.get("parts", {})
        self.common = table.get("common", {})
        self.tests = table.get("tests", {})
        self.exceptions = {}
        for entry in table.get("exception", []):
            if not entry.get("reason"):
                raise TableError(f"exception for {entry.get('file')} gives no reason")
            self.exceptions[entry["file"]] = entry
        self._check_table()

    def _check_table(self):
        for name, room in self.rooms.items():
            unknown = set(room) - ROOM_KEYS
            if unknown:
                raise TableError(f"room '{name}' has unknown keys {sorted(unknown)}")
            for key, known in (("rooms", self.rooms), ("parts", self.parts)):
                for listed in room.get(key, []) + room.get("test_" + key, []):
                    if listed != "*" and listed not in known:
                        raise TableError(f"room '{name}' names unknown {key[:-1]} '{listed}'")
        self._check_acyclic()

    def _check_acyclic(self):
        done, path = set(), []

        def visit(name):
            if name in path:
                raise TableError("cycle: " + " -> ".join(path[path.index(name) :] + [name]))
            if name in done:
                return
            path.append(name)
            for below in self.rooms[name].get("rooms", []):
                if below != "*":
                    visit(below)
            path.pop()
            done.add(name)

        for name in self.rooms:
            visit(name)

    def room_of_folder(self, folder):
        """The room with the longest name that is a prefix of the folder, or None."""
        best = None
        for name in self.rooms:
            if (folder == name or folder.startswith(name + "/")) and len(name) > len(best or ""):
                best = name
        return best

    def room_of_file(self, path):
        folder = path.rpartition("/")[0]
        return self.room_of_folder(folder.removeprefix("src/"))

    def part_of_include(self, include):
        for part, entries in self.parts.items():
            for entry in entries:
                if include == entry or (entry.endswith("/") and include.startswith(entry)):
                    return part
        return None


def is_test_file(path):
    name = path.rpartition("/")[2]
    pattern = r"^test_|_(test|test_support|suite)\.(cc|h)$"
    return "/testing/" in path or re.search(pattern, name) is not None


def is_system(include):
    return include in SYSTEM_FILES or include.startswith(SYSTEM_FOLDERS)


class FileChecker:
    """Judges the includes of one file."""

    def __init__(self, layers, path):
        self.layers = layers
        self.path = path
        self.name = layers.room_of_file(path)
        self.room = layers.rooms.get(self.name, {})
        self.is_test = is_test_file(path)
        exception = layers.exceptions.get(path, {})
        self.allowed_rooms = self.room.get("rooms", []) + exception.get("rooms", [])
        self.allowed_parts = self.room.get("parts", []) + exception.get("parts", [])
        if path.startswith("src/"):
            self.allowed_parts = self.allowed_parts + layers.common.get("parts", [])
        self.allow_system = self.room.get("system", False) or exception.get("system", False)
        if self.is_test:
            self.allowed_rooms = self.allowed_rooms + self.room.get("test_rooms", [])
            self.allowed_parts = (
                self.allowed_parts
                + self.room.get("test_parts", [])
                + layers.tests.get("parts", [])
            )
            self.allow_system = self.allow_system or layers.tests.get("system", False)

    def judge(self, quote, include):
        """None, or what is wrong with this include."""
        part = self.layers.part_of_include(include)
        if part is not None:
            return self._judge_part(part)
        if include.startswith("crossdock/"):
            return None
        if quote == "<":
            return self._judge_standard(include)
        return self._judge_room(include)

    def _judge_part(self, part):
        if part in self.allowed_parts or "*" in self.allowed_parts:
            return None
        allowed = ", ".join(self.allowed_parts) or "none"
        return f"'{self.name}' must not include the part '{part}'; allowed: {allowed}"

    def _judge_standard(self, include):
        if include in self.room.get("forbidden", []) and not self.is_test:
            return f"'{self.name}' must do without <{include}>"
        if include in CPP_STD:
            return None
        if is_system(include):
            if self.allow_system:
                return None
            return f"'{self.name}' must not include the system header <{include}>"
        return f"unknown header <{include}>: add its part to tools/layers.toml"

    def _judge_room(self, include):
        if "/" not in include:
            return f'write the include from the root of the sources: "{self.name}/{include}"'
        target = self.layers.room_of_folder(include.rpartition("/")[0])
        if target is None:
            return f'"{include}" is in no room of tools/layers.toml'
        if target == self.name or target in self.allowed_rooms or "*" in self.allowed_rooms:
            return None
        allowed = ", ".join(self.allowed_rooms) or "none"
        return f"'{self.name}' must not include '{target}' (\"{include}\"); allowed: {allowed}"


def check_text(layers, path, text):
    """Yields (line, message)."""
    checker = FileChecker(layers, path)
    if checker.name is None:
        yield 1, "in no room of tools/layers.toml"
        return
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            message = checker.judge(match.group(1), match.group(2))
            if message:
                yield number, message


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    parser.add_argument("files", nargs="*")
    options = parser.parse_args()
    try:
        table = tomllib.loads((options.root / "tools/layers.toml").read_text())
        layers = Layers(table)
    except (TableError, tomllib.TOMLDecodeError) as error:
        print(f"tools/layers.toml: {error}", file=sys.stderr)
        return 2
    for path in layers.exceptions:
        if not (options.root / path).is_file():
            print(f"tools/layers.toml: exception for {path}, which does not exist", file=sys.stderr)
            return 2
    paths = options.files or repo_files(options.root)
    paths = [path for path in paths if path.endswith(CPP_SUFFIXES)]
    violations = 0
    for path in paths:
        for line, message in check_text(layers, path, (options.root / path).read_text()):
            print(f"{path}:{line}: {message}")
            violations += 1
    print(f"layers: {len(paths)} files, {violations} violations", file=sys.stderr)
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
