#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Opens the sample reports in a real browser and checks what it drew.

usage: browser_test.py PROGRAM [--keep DIR]

PROGRAM is report_sample. A copy of each page gets a script that uses it like a person (keys, wheel,
buttons) and notes what happened, so that the page itself carries no code for tests. Exit code 77
(skipped) when there is no browser.
"""

import argparse
import html.parser
import json
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--disable-extensions", "--window-size=1400,2400"]
USE = """
<script>
addEventListener("load", () => {
  const seen = {};
  const note = () => document.documentElement.setAttribute("data-seen", JSON.stringify(seen));
  const key = (node, name) =>
    node.dispatchEvent(new KeyboardEvent("keydown", {key: name, bubbles: true}));
  const wheel = (options) =>
    chart.dispatchEvent(new WheelEvent("wheel", {clientX: 700, cancelable: true, ...options}));
  const shown = () => document.querySelector(".timeline + .note").textContent;
  const cell = document.querySelector("#routing .cell");
  if (cell) {
    cell.focus({focusVisible: true});
    key(cell, "ArrowRight");
    seen.moved = document.activeElement.getAttribute("aria-label");
    key(document.activeElement, "ArrowDown");
    seen.down = document.activeElement.getAttribute("aria-label");
    seen.stops = document.querySelectorAll('#routing .cell[tabindex="0"]').length;
    cell.dispatchEvent(new PointerEvent("pointermove", {clientX: 40, clientY: 40}));
    seen.tooltip = document.getElementById("tooltip").textContent;
    key(document.body, "Escape");
    seen.hidden = document.getElementById("tooltip").hidden;
  }
  const chart = document.querySelector(".timeline");
  if (chart) {
    seen.whole = shown();
    key(chart, "+");
    seen.zoomed = shown();
    wheel({deltaY: -200, ctrlKey: true});
    seen.wheeled = shown();
    wheel({deltaY: 200, shiftKey: true});
    seen.panned = shown();
    key(chart, "0");
    seen.reset = shown();
    const select = document.getElementById("round-select");
    select.value = "0";
    select.dispatchEvent(new Event("change"));
    seen.first = document.querySelector(".timeline svg").getAttribute("aria-label");
    seen.rows = document.querySelectorAll(".stage-table tbody tr").length;
    const buttons = [...document.querySelectorAll("#stages .choice button")];
    buttons.find((button) => button.textContent === "combine").click();
    seen.combine = document.querySelectorAll(".stage-table tbody tr").length;
  }
  document.querySelector("button.theme").click();
  seen.theme = document.documentElement.dataset.theme;
  note();
});
</script>
"""


class Page(html.parser.HTMLParser):
    """Counts elements by class and keeps the attributes of <html> and the title."""

    def __init__(self, text):
        super().__init__()
        self.classes = Counter()
        self.within = Counter()  # (section id, class)
        self.root = {}
        self.sections = []
        self.title = ""
        self.in_title = False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        if tag == "html":
            self.root = attributes
        if tag == "section":
            self.sections.append(attributes.get("id"))
        self.in_title = tag == "title"
        for name in (attributes.get("class") or "").split():
            self.classes[name] += 1
            self.within[self.sections[-1] if self.sections else None, name] += 1

    def handle_endtag(self, tag):
        self.in_title = False

    def handle_data(self, data):
        if self.in_title:
            self.title += data


def dump(browser, path, query=""):
    with tempfile.TemporaryDirectory() as profile:
        command = [browser, *FLAGS, f"--user-data-dir={profile}", "--virtual-time-budget=5000",
                   "--dump-dom", f"{path.as_uri()}{query}"]
        done = subprocess.run(command, capture_output=True, timeout=100, check=False)
    if done.returncode != 0:
        sys.exit(f"{browser} ended with {done.returncode}:\n{done.stderr.decode()[-2000:]}")
    return Page(done.stdout.decode())


class Checks:
    def __init__(self):
        self.failures = []

    def equal(self, what, found, expected):
        if found != expected:
            self.failures.append(f"{what}: {found!r}, expected {expected!r}")

    def true(self, what, condition):
        if not condition:
            self.failures.append(what)


def check_good(checks, page):
    checks.equal("ready", page.root.get("data-ready"), "yes")
    checks.equal("errors", page.root.get("data-errors"), None)
    checks.equal("sections", page.sections,
                 ["summary", "bench", "plots", "routing", "timeline", "stages", "waits", "token"])
    checks.equal("route cells and totals", page.within["routing", "cell"], 8 * 64 + 64)
    checks.equal("wait cells and totals", page.within["waits", "cell"], 2 * (8 * 8 + 8))
    checks.equal("spans of a round", page.within["timeline", "span"], 8 * 13)
    checks.equal("plane rows", page.within["stages", "seg"], 8 * 2)  # combine has no control stage
    checks.equal("facts", page.within["summary", "origin"], 8)
    checks.equal("bars", page.within["bench", "seg"], 7)
    checks.equal("plots", page.within["plots", "plot"], 1)
    checks.equal("banner", page.classes["verified"], 1)
    check_use(checks, json.loads(page.root.get("data-seen", "{}")))


def check_use(checks, seen):
    for what, begin in (("moved", "rank 0 to expert 1"), ("down", "rank 1 to expert 1"),
                        ("tooltip", "rank 0 to expert 0")):
        text = seen.get(what) or ""
        checks.true(f"{what}: {text!r} should begin with {begin!r}", text.startswith(begin))
    checks.equal("tab stops of the heat map", seen.get("stops"), 1)
    checks.equal("tooltip gone after Escape", seen.get("hidden"), True)
    checks.true("the whole round is shown first", "Shown:" not in seen.get("whole", "Shown:"))
    views = [seen.get(name, "") for name in ("zoomed", "wheeled", "panned")]
    checks.true(f"zoom and pan change the view: {views}",
                all("Shown:" in view for view in views) and len(set(views)) == 3)
    checks.equal("0 shows the whole round again", seen.get("reset"), seen.get("whole"))
    checks.equal("the selector changes the round", seen.get("first"), "timeline of round 1")
    checks.equal("stage rows of all operations", seen.get("rows"), 13)
    checks.equal("stage rows of combine", seen.get("combine"), 4)
    checks.equal("the button changes the theme", seen.get("theme"), "light")


def check_failed(checks, page):
    checks.equal("failed page: ready", page.root.get("data-ready"), "yes")
    checks.equal("failed page: errors", page.root.get("data-errors"), None)
    checks.equal("failed page: banner", page.classes["failed"], 1)
    checks.true(f"failed page: title {page.title!r}", page.title.startswith("Failed </script>"))
    checks.equal("failed page: no timeline", page.within["timeline", "span"], 0)
    checks.equal("failed page: missing row", page.within["waits", "cell"], 2 * (7 * 8 + 8))
    checks.true("failed page: warnings", page.classes["warn"] >= 4)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--keep", type=Path, help="leave the pages here")
    options = parser.parse_args()
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        print(f"skipped: no browser; looked for {', '.join(BROWSERS)}")
        return 77
    checks = Checks()
    with tempfile.TemporaryDirectory() as folder:
        keep = options.keep or Path(folder)
        keep.mkdir(parents=True, exist_ok=True)
        for name, check in (("good", check_good), ("failed", check_failed)):
            path = keep.resolve() / f"{name}.html"
            kind = ["failed"] if name == "failed" else []
            subprocess.run([options.program, path, *kind], check=True)
            used = keep.resolve() / f"{name}-used.html"
            text = path.read_text(encoding="utf-8")
            used.write_text(text.replace("</body>", USE + "</body>"), encoding="utf-8")
            check(checks, dump(browser, used, "?theme=dark"))
    for failure in checks.failures:
        print(failure)
    print(f"{len(checks.failures)} failures")
    return 1 if checks.failures else 0


if __name__ == "__main__":
    sys.exit(main())
