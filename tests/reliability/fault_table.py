#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Hurts jobs in every way of the table in docs/reliability.md; checks who saw what, and when.

usage: fault_table.py --crossdock PROGRAM --round-loop PROGRAM [--only TEXT] [--write FILE]

Each case is one line on stdout: ok or FAILED, who was hurt and when, what the others saw, after how
long. --only runs the cases whose text contains TEXT; --write puts the table into FILE between its
two marks.
Exit code 0: all cases as expected; 1: some not. The last line is "N passed, N failed".
"""

import argparse
import os
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import cases

BEGIN = "<!-- fault table: begin -->"
END = "<!-- fault table: end -->"


@dataclass
class Outcome:
    case: cases.Case
    saw: str
    seconds: float | None
    problem: str


def shared_memory_names():
    return set(os.listdir("/dev/shm"))


def summary(job, hurt):
    """What the ranks that were not hurt saw, in one phrase."""
    phrases = Counter(who.saw() for rank, who in job.ranks.items() if rank not in hurt)
    return "; ".join(
        phrase if count == 1 else f"{count} ranks: {phrase}" for phrase, count in phrases.items()
    )


def seconds_until_told(job, hurt, since_ns):
    times = [who.failure[0] for rank, who in job.ranks.items() if rank not in hurt and who.failure]
    return (max(times) - since_ns) / 1e9 if times and since_ns else None


def run_case(case, tools):
    names_before = shared_memory_names()
    job = None
    try:
        job, since_ns = case.run(tools)
        problem = case.check(job)
        seconds = seconds_until_told(job, case.hurt, since_ns)
        if not problem and seconds is not None and seconds > case.bound:
            problem = f"told after {seconds:.2f} s; allowed: {case.bound} s"
        if not problem and job.left_behind():
            problem = f"processes {job.left_behind()} are left"
        if not problem and shared_memory_names() - names_before:
            problem = f"/dev/shm has {shared_memory_names() - names_before}"
        return Outcome(case, summary(job, case.hurt), seconds, problem)
    except cases.Skipped as skipped:
        return Outcome(case, f"not run here: {skipped}", None, "")
    except Exception as error:  # pylint: disable=broad-except
        return Outcome(case, "", None, f"{type(error).__name__}: {error}")
    finally:
        if job is not None:
            job.kill()


def write_table(path, outcomes):
    rows = [
        "| who is hurt, and how | when | what the others saw | told after |",
        "|---|---|---|---|",
    ]
    for outcome in outcomes:
        told = "" if outcome.seconds is None else f"{outcome.seconds:.2f} s"
        rows.append(f"| {outcome.case.who} | {outcome.case.when} | {outcome.saw} | {told} |")
    text = Path(path).read_text(encoding="utf-8")
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    Path(path).write_text(
        before + BEGIN + "\n" + "\n".join(rows) + "\n" + END + after, encoding="utf-8"
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--crossdock", required=True)
    parser.add_argument("--round-loop", required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--write")
    options = parser.parse_args()
    tools = cases.Tools(options.crossdock, options.round_loop)
    outcomes = []
    for case in cases.all_cases():
        if options.only not in f"{case.who} {case.when}":
            continue
        began = time.monotonic()
        outcome = run_case(case, tools)
        outcomes.append(outcome)
        mark = "FAILED" if outcome.problem else "ok"
        told = "" if outcome.seconds is None else f", told after {outcome.seconds:.2f} s"
        print(
            f"{mark}: {case.who}, {case.when}: {outcome.saw}{told}"
            f" ({time.monotonic() - began:.1f} s)",
            flush=True,
        )
        if outcome.problem:
            print(f"    {outcome.problem}", flush=True)
    failed = sum(bool(outcome.problem) for outcome in outcomes)
    if options.write and not failed:
        write_table(options.write, outcomes)
    print(f"{len(outcomes) - failed} passed, {failed} failed")
    return 1 if failed or not outcomes else 0


if __name__ == "__main__":
    sys.exit(main())
