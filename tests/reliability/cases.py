# SPDX-License-Identifier: Apache-2.0
"""The cases of the fault table: who is hurt, when, and what the others must see."""

import os
import random
import signal
import socket
import subprocess
import threading
import time
from dataclasses import dataclass, field
from typing import Callable

from job import Job, free_port

FOREVER = "1000000"
HURT = 2


@dataclass(frozen=True)
class Tools:
    crossdock: str
    round_loop: str
    case_loop: str = ""


class Skipped(Exception):
    """This host cannot show the case."""


@dataclass(frozen=True)
class Case:
    who: str
    when: str
    run: Callable  # (tools) -> (finished job, time of the fault in ns or None)
    check: Callable  # (job) -> "" or what is wrong
    bound: float = 1.0  # seconds from the fault until the last survivor was told
    hurt: tuple = field(default=(HURT,))


# --- what the ranks must see ---------------------------------------------------------------------


def all_verified(job):
    wrong = [rank for rank, who in job.ranks.items() if not who.verified]
    return f"ranks {wrong} did not verify; {job.story()}" if wrong else ""


def others_verified(*hurt):
    def check(job):
        wrong = [rank for rank, who in job.ranks.items() if rank not in hurt and not who.verified]
        return f"ranks {wrong} did not verify; {job.story()}" if wrong else ""

    return check


def all_name(culprit, *kinds, hurt=(HURT,), text=""):
    """Every rank that is not hurt has an error of one of the kinds that names the culprit."""

    def check(job):
        for rank, who in job.ranks.items():
            if rank in hurt:
                continue
            if who.failure is None:
                return f"rank {rank} was told nothing; {job.story()}"
            _, named, kind, message = who.failure
            if (
                kind not in kinds
                or (culprit is not None and named not in culprit)
                or text not in message
            ):
                return f"rank {rank} saw {kind}, names {named}: {message}"
        return ""

    return check


# --- how they are hurt ---------------------------------------------------------------------------


def rounds(count=FOREVER, tokens=16, hidden=64, timeout=60, fault=""):
    return f"{count} {tokens} {hidden} {timeout} {fault}"


def signal_in_rounds(number, *victims, shape="", ranks=4, **how):
    """A signal at a random moment of the rounds."""

    def run(tools):
        job = Job(tools, shape or rounds(), ranks=ranks, **how)
        job.wait_for("rounds begin")
        time.sleep(random.uniform(0.05, 0.3))
        since = [job.signal(victim, number) for victim in victims][-1]
        return job.finish(), since

    return run


def signal_before_rounds(number, moment, timeout=60):
    """After that line; the buffers are large, so that making them takes a while."""

    def run(tools):
        job = Job(tools, rounds(tokens=2048, hidden=4096, timeout=timeout))
        job.wait_for(moment, [HURT])
        since = job.signal(HURT, number)
        return job.finish(), since

    return run


def own_fault(what, round_number=10, count=FOREVER, **how):
    """The rank does it to itself between dispatch and combine."""

    def run(tools):
        job = Job(tools, rounds(count, fault=f"{what}@{HURT}:{round_number}"), **how)
        job.finish()
        began = [
            int(text.split()[-1])
            for _, text in job.ranks[HURT].lines
            if "hurts itself at_ns" in text
        ]
        return job, began[0] if began else None

    return run


def with_prefix(prefix, count="40", **how):
    def run(tools):
        return (
            Job(tools, rounds(count, **how.pop("shape", {})), prefix=prefix, **how).finish(),
            None,
        )

    return run


def for_one(command):
    return f"if [ $CROSSDOCK_RANK = {HURT} ]; then {command}; fi;"


def stopped_for(seconds, count):
    def run(tools):
        job = Job(tools, rounds(count))
        job.wait_for("rounds begin")
        job.signal(HURT, signal.SIGSTOP)
        time.sleep(seconds)
        job.signal(HURT, signal.SIGCONT)
        return job.finish(), None

    return run


def stopped_beyond(timeout, shape=None, moment="rounds begin"):
    def run(tools):
        job = Job(tools, shape or rounds(timeout=timeout))
        job.wait_for(moment, [HURT])
        since = job.signal(HURT, signal.SIGSTOP)
        try:
            job.wait_for("failed", [rank for rank in job.ranks if rank != HURT], timeout + 10)
        finally:
            job.signal(HURT, signal.SIGCONT)
        return job.finish(), since

    return run


def killed_launcher(tools):
    job = Job(tools, rounds())
    job.wait_for("rounds begin")
    os.kill(job.processes[0].pid, signal.SIGKILL)
    job.finish()
    until = time.monotonic() + 5
    while job.left_behind() and time.monotonic() < until:
        time.sleep(0.01)
    return job, None


def out_of_memory(tools):
    """A cgroup of 128 MiB for the hurt rank alone."""
    root = "/sys/fs/cgroup/memory"
    limit = "memory.limit_in_bytes"
    if not os.path.isdir(root):
        root, limit = "/sys/fs/cgroup", "memory.max"
    group = f"{root}/crossdock_fault_{os.getpid()}"
    try:
        os.mkdir(group)
        with open(f"{group}/{limit}", "w", encoding="ascii") as file:
            file.write(str(128 << 20))
    except OSError as error:
        raise Skipped(f"no memory cgroup ({error.strerror})") from None
    try:
        return own_fault("memory", prefix=for_one(f"echo $$ > {group}/cgroup.procs"))(tools)
    finally:
        for _ in range(50):
            try:
                os.rmdir(group)
                break
            except OSError:
                time.sleep(0.1)


def small_shared_memory(tools):
    mount = "mount -t tmpfs -o size=64k tmpfs /dev/shm && "
    wrap = ("unshare", "--mount", "/bin/sh", "-c", mount + 'exec "$0" "$@"')
    if subprocess.run([*wrap, "true"], capture_output=True, check=False).returncode != 0:
        raise Skipped("no mount namespaces")
    return Job(tools, rounds("20", tokens=512, hidden=2048), wrap=wrap).finish(), None


def another_clock(tools):
    """One rank in a time namespace whose monotonic clock is 1000 s ahead."""
    unshare = ["unshare", "--time", "--monotonic", "1000"]
    if subprocess.run([*unshare, "true"], capture_output=True, check=False).returncode != 0:
        raise Skipped("no time namespaces")
    prefix = for_one(f"exec {' '.join(unshare)} {tools.round_loop} {rounds('40')}")
    return Job(tools, rounds("40"), prefix=prefix).finish(), None


def two_jobs(tools):
    jobs = [Job(tools, rounds("200")) for _ in range(2)]
    for job in jobs:
        job.finish()
    problem = all_verified(jobs[1])
    if problem:
        raise AssertionError(problem)
    return jobs[0], None


def strangers(bytes_of):
    """Others connect to the bootstrap port before, while and after the ranks meet."""

    def run(tools):
        port = free_port()
        enough = threading.Event()

        def bother():
            held = []
            while not enough.is_set():
                try:
                    stranger = socket.create_connection(("127.0.0.1", port), 1)
                    stranger.sendall(bytes_of())
                    held.append(stranger)
                except OSError:
                    pass
                time.sleep(0.005)
            for stranger in held:
                stranger.close()

        visitors = [threading.Thread(target=bother) for _ in range(2)]
        for visitor in visitors:
            visitor.start()
        try:
            job = Job(
                tools,
                rounds("40"),
                launcher=False,
                port=port,
                prefix="[ $CROSSDOCK_RANK = 0 ] || sleep 0.5;",
            )
            return job.finish(), None
        finally:
            enough.set()
            for visitor in visitors:
                visitor.join()

    return run


def wrong_secret(tools):
    port = free_port()
    job = Job(
        tools, rounds("40", timeout=3), launcher=False, port=port, secrets_of={HURT: "00" * 32}
    )
    return job.finish(), None


def all_descriptors(tools):
    job, since = own_fault("descriptors", count="40")(tools)
    if not job.ranks[HURT].said("descriptors"):
        raise AssertionError(f"none were taken; {job.story()}")
    return job, since


def forked_and_used(tools):
    job, since = own_fault("fork_use", count="40")(tools)
    if not job.ranks[HURT].said("child: unsupported communicator: used after fork"):
        raise AssertionError(f"the child was not refused; {job.story()}")
    return job, since


def no_core_left(tools):
    return (
        Job(
            tools, rounds("100", tokens=64, hidden=1024), ranks=8, wrap=("taskset", "-c", "0")
        ).finish(120),
        None,
    )


def late_start(seconds, timeout):
    def run(tools):
        prefix = for_one(f"sleep {seconds}")
        return Job(tools, rounds("40", timeout=timeout), prefix=prefix).finish(), None

    return run


def scribbled(tools):
    return Job(tools, rounds("200", timeout=3, fault=f"scribble@{HURT}:10")).finish(), None


def ended_with_it(job):
    """Without a launcher ranks shall not go on."""
    told = [rank for rank, who in job.ranks.items() if who.verified or who.failure]
    return f"ranks {told} went on; {job.story()}" if told else ""


def bounded(job):
    """No crash and no hang: every rank verified, or has an error."""
    for rank, who in job.ranks.items():
        if not who.verified and who.failure is None:
            return f"rank {rank} has neither a result nor an error; {job.story()}"
    return ""


def all_cases():
    dead = ("peer dead",)
    gone = ("peer dead", "closed")
    dead_or_late = ("peer dead", "timeout", "io")
    name_it = all_name((HURT,), *dead)
    in_time = {"bound": 1.0}  # seconds from the fault until the last survivor was told
    yield Case(
        "rank 2 of 4, SIGKILL",
        "in small rounds",
        signal_in_rounds(signal.SIGKILL, HURT),
        name_it,
        **in_time,
    )
    yield Case(
        "rank 2 of 4, SIGKILL",
        "in rounds of 64 MiB",
        signal_in_rounds(signal.SIGKILL, HURT, shape=rounds(tokens=1024, hidden=4096)),
        name_it,
        2.0,
    )
    yield Case(
        "rank 0 of 4, SIGKILL",
        "in small rounds",
        signal_in_rounds(signal.SIGKILL, 0),
        all_name((0,), *dead, hurt=(0,)),
        hurt=(0,),
        **in_time,
    )
    yield Case(
        "ranks 1 and 2 of 4, SIGKILL",
        "at the same time",
        signal_in_rounds(signal.SIGKILL, 1, HURT),
        all_name((1, HURT), *dead, hurt=(1, HURT)),
        hurt=(1, HURT),
        **in_time,
    )
    yield Case(
        "ranks 1, 2 and 3 of 4, SIGKILL",
        "at the same time",
        signal_in_rounds(signal.SIGKILL, 1, HURT, 3),
        all_name((1, HURT, 3), *dead, hurt=(1, HURT, 3)),
        hurt=(1, HURT, 3),
        **in_time,
    )
    yield Case(
        "rank 2 of 16, SIGKILL",
        "in small rounds",
        signal_in_rounds(signal.SIGKILL, HURT, ranks=16),
        name_it,
        2.0,
    )
    yield Case(
        "rank 2 of 4, SIGKILL",
        "before it met the others, deadline 3 s",
        signal_before_rounds(signal.SIGKILL, "pid", 3),
        all_name((HURT,), *dead_or_late),
        5.0,
    )
    yield Case(
        "rank 2 of 4, SIGKILL",
        "while buffers are made",
        signal_before_rounds(signal.SIGKILL, "ranks met"),
        name_it,
        2.0,
    )
    yield Case(
        "rank 2 of 4, SIGKILL, no launcher",
        "in small rounds",
        signal_in_rounds(signal.SIGKILL, HURT, launcher=False, port=free_port()),
        name_it,
        **in_time,
    )
    yield Case("the launcher, SIGKILL", "in small rounds", killed_launcher, ended_with_it, hurt=())
    yield Case(
        "rank 2 never starts",
        "its program exits at once",
        with_prefix(for_one("exit 0"), shape={"timeout": 3}),
        all_name((HURT,), "timeout", "peer dead", "io"),
    )
    yield Case("rank 2, SIGSTOP for 2 s", "in small rounds", stopped_for(2, "3000"), all_verified)
    yield Case(
        "rank 2, SIGSTOP",
        "longer than the deadline of 3 s",
        stopped_beyond(3),
        all_name((HURT,), "timeout"),
        5.0,
    )
    yield Case(
        "rank 2, SIGSTOP",
        "while buffers are made, deadline 3 s",
        stopped_beyond(3, rounds(tokens=2048, hidden=4096, timeout=3), "ranks met"),
        all_name((HURT,), "timeout"),
        5.0,
    )
    yield Case(
        "rank 2 starts 2 s late", "before the ranks meet", late_start(2, 60), all_verified, hurt=()
    )
    yield Case(
        "rank 2 starts 8 s late",
        "the deadline is 3 s",
        late_start(8, 3),
        all_name((HURT,), "timeout", hurt=(HURT,)),
    )
    yield Case(
        "rank 2 pauses for 2 s",
        "between dispatch and combine",
        own_fault("sleep2", count="40"),
        all_verified,
        hurt=(),
    )
    yield Case(
        "rank 2, exit(0)",
        "between dispatch and combine",
        own_fault("exit"),
        all_name((HURT,), *gone),
        **in_time,
    )
    yield Case(
        "rank 2, _exit(0)", "between dispatch and combine", own_fault("_exit"), name_it, **in_time
    )
    yield Case(
        "rank 2 throws an exception",
        "between dispatch and combine",
        own_fault("throw"),
        all_name((HURT,), *gone),
        **in_time,
    )
    yield Case(
        "rank 2, abort()", "between dispatch and combine", own_fault("abort"), name_it, **in_time
    )
    yield Case(
        "rank 2, SIGSEGV", "between dispatch and combine", own_fault("segv"), name_it, **in_time
    )
    yield Case(
        "rank 2, SIGINT",
        "between dispatch and combine",
        own_fault("interrupt"),
        all_name((HURT,), *gone),
        **in_time,
    )
    yield Case(
        "rank 2, SIGTERM",
        "between dispatch and combine",
        own_fault("terminate"),
        all_name((HURT,), *gone),
        **in_time,
    )
    yield Case(
        "rank 2, out of memory in a cgroup of its own",
        "between dispatch and combine",
        out_of_memory,
        name_it,
        10.0,
    )
    yield Case(
        "all ranks, 8 MiB of lockable memory",
        "from the start",
        with_prefix("ulimit -l 8192;"),
        all_verified,
        hurt=(),
    )
    yield Case(
        "all ranks, no huge pages",
        "from the start",
        with_prefix("", environment={"CROSSDOCK_HUGE_PAGES": "off"}),
        all_verified,
        hurt=(),
    )
    yield Case(
        "the host, /dev/shm of 64 KiB", "from the start", small_shared_memory, all_verified, hurt=()
    )
    yield Case(
        "rank 2 takes 20,000 descriptors, or all that it may have",
        "between dispatch and combine",
        all_descriptors,
        all_verified,
        hurt=(),
    )
    yield Case(
        "rank 2, 16 descriptors allowed",
        "from the start",
        with_prefix(for_one("ulimit -n 16"), shape={"timeout": 5}),
        bounded,
        hurt=(),
    )
    yield Case("8 ranks on one core", "from the start", no_core_left, all_verified, hurt=())
    yield Case(
        "rank 2, a clock 1000 s ahead", "from the start", another_clock, all_verified, hurt=()
    )
    yield Case(
        "rank 2 forks two children that end",
        "between dispatch and combine",
        own_fault("fork", count="100"),
        all_verified,
        hurt=(),
    )
    yield Case(
        "rank 2 forks, the child dispatches",
        "between dispatch and combine",
        forked_and_used,
        all_verified,
        hurt=(),
    )
    yield Case("two jobs at once on one host", "from the start", two_jobs, all_verified, hurt=())
    yield Case(
        "strangers send garbage to the bootstrap port",
        "while the ranks meet",
        strangers(lambda: random.randbytes(random.randrange(1, 4096))),
        all_verified,
        hurt=(),
    )
    yield Case(
        "strangers connect to the bootstrap port and say nothing",
        "while the ranks meet",
        strangers(lambda: b""),
        all_verified,
        hurt=(),
    )
    yield Case(
        "rank 2 has another job secret",
        "while the ranks meet",
        wrong_secret,
        all_name(None, "timeout", "io", "peer refused", "mismatch", "peer dead", hurt=(HURT,)),
    )
    yield Case(
        "rank 2 has another CROSSDOCK_MEMORY_BUDGET",
        "when buffers are made",
        with_prefix(for_one("export CROSSDOCK_MEMORY_BUDGET=1GiB")),
        all_name((HURT,), "mismatch", hurt=()),
        hurt=(),
    )
    yield Case(
        "all ranks ask for more memory than there is",
        "when buffers are made",
        with_prefix(
            "export CROSSDOCK_MEMORY_BUDGET=64TiB;", shape={"tokens": 1 << 22, "hidden": 65536}
        ),
        all_name(None, "out of memory", "invalid argument", "no memory", hurt=()),
        hurt=(),
    )
    yield Case(
        "rank 2 writes nonsense into its own window",
        "between dispatch and combine",
        scribbled,
        bounded,
        hurt=(),
    )
