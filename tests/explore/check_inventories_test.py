#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""An inventory that no longer fits its fixture must be noticed."""

import json
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent


class ChangedFixture(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name) / "second_tree"
        shutil.copytree(HERE / "fixtures/second_tree", self.folder)

    def run_check(self):
        command = [sys.executable, str(HERE / "check_inventories.py"), str(self.folder)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def edit_golden(self, edit):
        path = self.folder / "golden.json"
        golden = json.loads(path.read_text())
        edit(golden)
        path.write_text(json.dumps(golden))

    def test_unchanged_is_fine(self):
        self.assertEqual(self.run_check().returncode, 0)

    def test_line_added_above(self):
        source = self.folder / "ring.c"
        source.write_text("\n" + source.read_text())
        result = self.run_check()
        self.assertEqual(result.returncode, 1)
        self.assertIn("ring.c:28: is 'static int'", result.stdout)

    def test_edge_to_a_function_nobody_defines(self):
        self.edit_golden(lambda golden: golden["edges"][3].update(to="elsewhere"))
        self.assertIn("elsewhere is defined at []", self.run_check().stdout)

    def test_span_that_ends_too_early(self):
        self.edit_golden(lambda golden: golden["functions"][4]["lines"].__setitem__(1, 29))
        self.assertIn("closes nothing", self.run_check().stdout)


if __name__ == "__main__":
    unittest.main()
