#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Kills or stops one rank of jobs that run random exchanges of every kind, at random moments.

usage: storm.py --crossdock PROGRAM --case-loop PROGRAM [--count N] [--seed N]

Every survivor must name the hurt rank: within --bound seconds (1) after a kill, within the deadline
of 2 s plus 2 s after a stop. Nothing may be left. A line for each job; the last line is
"N passed, N failed".
"""

import argparse
import os
import random
import signal
import sys
import time

import cases
from job import Job

DEADLINE_S = 2
STOP_BOUND_S = DEADLINE_S + 2


def hurt_one(tools, chance, kill_bound_s):
    """A sentence, and what is wrong or ""."""
    ranks = chance.randrange(2, 9)
    victim = chance.randrange(ranks)
    way = chance.choice(["direct", "queued"])
    kills = chance.random() < 0.5
    # A kill is noticed at once: the deadline must not be what ends the wait.
    timeout = 60 if kills else DEADLINE_S
    sentence = f"{'kill' if kills else 'stop'} rank {victim} of {ranks}, {way} way"
    job = Job(
        tools,
        f"{chance.randrange(1 << 40)} 600 {timeout}",
        program=tools.case_loop,
        ranks=ranks,
        environment={"CROSSDOCK_WAY": way},
    )
    try:
        job.wait_for("rounds begin")
        time.sleep(chance.uniform(0, 0.7))
        since = job.signal(victim, signal.SIGKILL if kills else signal.SIGSTOP)
        survivors = [rank for rank in job.ranks if rank != victim]
        job.wait_for("failed", survivors, 30)
        if not kills:
            job.signal(victim, signal.SIGCONT)
        job.finish()
        told = max(job.ranks[rank].failure[0] for rank in survivors) - since
        problem = cases.all_name((victim,), "peer dead" if kills else "timeout", hurt=(victim,))(
            job
        )
        bound = kill_bound_s if kills else STOP_BOUND_S
        if not problem and told > bound * 1e9:
            problem = f"told after {told / 1e9:.2f} s; allowed: {bound} s"
        if not problem and job.left_behind():
            problem = f"processes {job.left_behind()} are left"
        return f"{sentence}: told after {told / 1e9:.2f} s", problem
    except (TimeoutError, ProcessLookupError) as error:
        return sentence, str(error)
    finally:
        job.kill()


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--crossdock", required=True)
    parser.add_argument("--case-loop", required=True)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument(
        "--seed", type=int, default=int(os.environ.get("TEST_SEED", "0")) or time.time_ns()
    )
    parser.add_argument("--bound", type=float, default=1.0)
    options = parser.parse_args()
    tools = cases.Tools(options.crossdock, "", options.case_loop)
    names_before = set(os.listdir("/dev/shm"))
    print(f"seed {options.seed}", flush=True)
    failed = 0
    for number in range(options.count):
        sentence, problem = hurt_one(tools, random.Random(options.seed + number), options.bound)
        failed += bool(problem)
        print(
            f"{'FAILED' if problem else 'ok'}: {sentence}{' - ' + problem if problem else ''}",
            flush=True,
        )
    if set(os.listdir("/dev/shm")) - names_before:
        print(f"FAILED: /dev/shm has {set(os.listdir('/dev/shm')) - names_before}")
        failed += 1
    print(f"{options.count - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
