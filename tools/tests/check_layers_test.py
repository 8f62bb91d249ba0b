#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of tools/check_layers.py, on a small table and on the real one."""

import sys
import tomllib
import unittest
from pathlib import Path

TOOLS = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOOLS))
from check_layers import Layers, TableError, check_text  # noqa: E402

TABLE = """
[room.base]
rooms = []
system = true
[room.fabric]
rooms = ["base"]
parts = ["sodium"]
[room."fabric/shm"]
rooms = ["fabric", "base"]
[room.protocol]
rooms = ["base"]
forbidden = ["thread"]
test_rooms = ["fabric"]
[room.tests]
rooms = ["*"]
parts = ["*"]
[[exception]]
file = "src/fabric/factory.cc"
rooms = ["fabric/shm"]
reason = "names the backends"
[parts]
fmt = ["fmt/"]
sodium = ["sodium.h"]
gtest = ["gtest/"]
[common]
parts = ["fmt"]
[tests]
parts = ["gtest"]
system = true
"""


def messages(path, text, table=TABLE):
    layers = Layers(tomllib.loads(table))
    return [message for _, message in check_text(layers, path, text)]


class Includes(unittest.TestCase):
    def assert_fine(self, path, text):
        self.assertEqual(messages(path, text), [])

    def assert_refused(self, path, text, part_of_message):
        found = messages(path, text)
        self.assertEqual(len(found), 1, found)
        self.assertIn(part_of_message, found[0])

    def test_downward_include_is_fine(self):
        self.assert_fine("src/fabric/a.cc", '#include "base/x.h"\n#include <vector>\n')

    def test_upward_include_is_refused(self):
        self.assert_refused("src/base/a.h", '#include "fabric/x.h"', "must not include 'fabric'")

    def test_own_room_and_public_headers_are_fine(self):
        self.assert_fine("src/base/a.cc", '#include "base/a.h"\n#include "crossdock/types.h"\n')

    def test_nested_room_is_not_its_parent(self):
        self.assert_refused("src/fabric/a.cc", '#include "fabric/shm/x.h"', "'fabric/shm'")
        self.assert_fine("src/fabric/shm/a.cc", '#include "fabric/fabric.h"')

    def test_exception_holds_for_its_file_only(self):
        self.assert_fine("src/fabric/factory.cc", '#include "fabric/shm/x.h"')

    def test_sibling_include_without_a_room_is_refused(self):
        self.assert_refused("src/base/a.cc", '#include "x.h"', "base/x.h")

    def test_parts_belong_to_their_room(self):
        self.assert_fine("src/fabric/a.cc", "#include <sodium.h>")
        self.assert_refused("src/base/a.cc", "#include <sodium.h>", "the part 'sodium'")
        self.assert_fine("src/base/a.cc", "#include <fmt/format.h>")

    def test_common_parts_are_for_src_only(self):
        table = TABLE + '[room."include/crossdock"]\nrooms = []\n'
        found = messages("include/crossdock/a.h", "#include <fmt/format.h>", table)
        self.assertEqual(len(found), 1)

    def test_system_headers_need_permission(self):
        self.assert_fine("src/base/a.cc", "#include <sys/mman.h>\n#include <unistd.h>")
        self.assert_refused("src/protocol/a.cc", "#include <unistd.h>", "system header")

    def test_forbidden_standard_header_is_refused(self):
        self.assert_refused("src/protocol/a.h", "#include <thread>", "do without <thread>")

    def test_tests_may_include_more(self):
        text = '#include <gtest/gtest.h>\n#include <thread>\n#include "fabric/x.h"\n'
        self.assert_fine("src/protocol/a_test.cc", text)
        self.assertEqual(len(messages("src/protocol/a.cc", text)), 3)

    def test_star_is_everything(self):
        self.assert_fine("tests/a.cc", '#include "fabric/shm/x.h"\n#include <sodium.h>')

    def test_unknown_header_and_folder_are_refused(self):
        self.assert_refused("src/base/a.cc", "#include <boost/any.hpp>", "unknown header")
        self.assert_refused("src/elsewhere/a.cc", "", "in no room")
        self.assert_refused("src/fabric/a.cc", '#include "elsewhere/a.h"', "in no room")

    def test_spaces_and_line_numbers(self):
        layers = Layers(tomllib.loads(TABLE))
        found = list(check_text(layers, "src/base/a.h", '\n  #  include "fabric/x.h"\n'))
        self.assertEqual(found[0][0], 2)


class Table(unittest.TestCase):
    def test_cycle_is_refused(self):
        with self.assertRaisesRegex(TableError, "cycle: a -> b -> a"):
            Layers({"room": {"a": {"rooms": ["b"]}, "b": {"rooms": ["a"]}}})

    def test_unknown_names_are_refused(self):
        with self.assertRaisesRegex(TableError, "unknown room 'b'"):
            Layers({"room": {"a": {"rooms": ["b"]}}})
        with self.assertRaisesRegex(TableError, "unknown keys"):
            Layers({"room": {"a": {"room": []}}})

    def test_exception_needs_a_reason(self):
        with self.assertRaisesRegex(TableError, "no reason"):
            Layers({"room": {}, "exception": [{"file": "a.cc"}]})

    def test_real_table_is_sound(self):
        layers = Layers(tomllib.loads((TOOLS / "layers.toml").read_text()))
        for room in ("protocol", "routing", "schedule", "ep", "collective", "fabric"):
            self.assertNotIn("fabric/shm", layers.rooms[room]["rooms"])


if __name__ == "__main__":
    unittest.main()
