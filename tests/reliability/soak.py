#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Random exchanges of every kind for a long time on one communicator, bit for bit, memory flat.

usage: soak.py --crossdock PROGRAM --case-loop PROGRAM [--seconds N] [--ranks N]
               [--way direct|queued] [--seed N]

The resident memory of each rank is sampled once a second. Its largest value in the last quarter may
exceed that of the second quarter by 5 % or 8 MiB. The last line is "N passed, N failed", a rank
each.
"""

import argparse
import re
import sys
import time

import cases
from job import Job


def growth(samples):
    """Largest KiB of the second and of the last quarter."""
    quarter = max(1, len(samples) // 4)
    return max(samples[quarter : 2 * quarter] or samples), max(samples[-quarter:])


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--crossdock", required=True)
    parser.add_argument("--case-loop", required=True)
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--way", default="direct", choices=["direct", "queued"])
    parser.add_argument("--seed", type=int, default=time.time_ns() % (1 << 40))
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    tools = cases.Tools(options.crossdock, "", options.case_loop)
    job = Job(
        tools,
        f"{options.seed} {options.seconds} 100",
        program=tools.case_loop,
        ranks=options.ranks,
        environment={"CROSSDOCK_WAY": options.way},
    )
    job.finish(options.seconds + 300)
    failed = 0
    for rank, who in job.ranks.items():
        samples = [
            int(found[1]) for _, text in who.lines if (found := re.match(r"rss_kib (\d+) ", text))
        ]
        verified = [text for _, text in who.lines if text.startswith("verified")]
        early, late = growth(samples) if samples else (0, 0)
        is_flat = late <= max(early * 1.05, early + 8192)
        failed += not (verified and samples and is_flat)
        print(
            f"rank {rank}: {verified[0] if verified else who.saw()}; "
            f"{early} KiB in the second quarter, "
            f"{late} KiB in the last one",
            flush=True,
        )
    if failed:
        print(job.story())
    print(f"{options.ranks - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
