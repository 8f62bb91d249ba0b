# SPDX-License-Identifier: Apache-2.0
"""A job of ranks that a test hurts: how it is started, and what its ranks say at what time."""

import os
import re
import secrets
import signal
import socket
import subprocess
import threading
import time

FAILED = re.compile(r"failed at_ns (\d+) culprit (-?\d+) kind ([a-z ]+): (.*)")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Rank:
    """What one rank said and how it ended."""

    def __init__(self):
        self.lines = []
        self.process_id = None
        self.exit_code = None  # by hand only

    def add(self, text):
        self.lines.append((time.monotonic_ns(), text))
        if text.startswith("pid "):
            self.process_id = int(text.split()[1])

    def said(self, part):
        return any(part in text for _, text in self.lines)

    @property
    def failure(self):
        """(at_ns, culprit, kind, message) or None."""
        for _, text in self.lines:
            found = FAILED.search(text)
            if found:
                return int(found[1]), int(found[2]), found[3], found[4]
        return None

    @property
    def verified(self):
        return self.said("verified")

    def saw(self):
        """One phrase for people."""
        if self.verified:
            return "verified"
        if self.failure:
            _, culprit, kind, message = self.failure
            return f"{kind}, names {culprit}" if culprit >= 0 else f"{kind}: {message}"
        return "ended with it"


class Job:
    """Ranks of `program` (round_loop). `prefix`: shell text before each, $CROSSDOCK_RANK set."""

    def __init__(
        self,
        tools,
        arguments,
        *,
        program=None,
        ranks=4,
        prefix="",
        environment=None,
        launcher=True,
        wrap=(),
        port=None,
        secrets_of=None,
    ):
        self.ranks = {rank: Rank() for rank in range(ranks)}
        self.launcher_said = []
        self.processes = []
        self.threads = []
        command = f"{prefix} exec {program or tools.round_loop} {arguments}"
        base = dict(os.environ, **(environment or {}))
        self.started_ns = time.monotonic_ns()
        if launcher:
            line = [
                *wrap,
                tools.crossdock,
                "launch",
                "-n",
                str(ranks),
                "--grace",
                "8",
                "--",
                "/bin/sh",
                "-c",
                command,
            ]
            self.start(line, base, None)
        else:
            secret = secrets.token_hex(32)
            for rank in range(ranks):
                own = dict(
                    base,
                    CROSSDOCK_RANK=str(rank),
                    CROSSDOCK_SIZE=str(ranks),
                    CROSSDOCK_BOOTSTRAP=f"127.0.0.1:{port or free_port()}",
                    CROSSDOCK_JOB_SECRET=(secrets_of or {}).get(rank, secret),
                )
                self.start([*wrap, "/bin/sh", "-c", command], own, rank)

    def start(self, line, environment, rank):
        process = subprocess.Popen(
            line,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env=environment,
            start_new_session=True,
        )
        self.processes.append(process)
        thread = threading.Thread(target=self.read, args=(process, rank), daemon=True)
        thread.start()
        self.threads.append(thread)

    def read(self, process, rank):
        for line in process.stdout:
            text = line.rstrip("\n")
            prefixed = re.match(r"\[(\d+)\] (.*)", text)
            if rank is not None:
                self.ranks[rank].add(text)
            elif prefixed and int(prefixed[1]) in self.ranks:
                self.ranks[int(prefixed[1])].add(prefixed[2])
            else:
                self.launcher_said.append(text)

    def wait_for(self, part, ranks=None, seconds=60):
        """Until each of `ranks` (all) said `part`."""
        until = time.monotonic() + seconds
        while not all(self.ranks[rank].said(part) for rank in ranks or self.ranks):
            if time.monotonic() > until or not any(thread.is_alive() for thread in self.threads):
                raise TimeoutError(f"no '{part}' within {seconds} s; {self.story()}")
            time.sleep(0.002)

    def signal(self, rank, number):
        """Returns the time just before."""
        at_ns = time.monotonic_ns()
        os.kill(self.ranks[rank].process_id, number)
        return at_ns

    def finish(self, seconds=90):
        """Until all ended. Nothing may be left of them."""
        until = time.monotonic() + seconds
        for process in self.processes:
            try:
                process.wait(max(0.1, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                self.kill()
                raise TimeoutError(f"did not end within {seconds} s; {self.story()}") from None
        for thread in self.threads:
            thread.join(10)
        for rank, process in zip(self.ranks.values(), self.processes):
            if len(self.processes) > 1:
                rank.exit_code = process.returncode
        return self

    def kill(self):
        for process in self.processes:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        for rank in self.ranks.values():
            if rank.process_id:
                try:
                    os.kill(rank.process_id, signal.SIGKILL)
                except ProcessLookupError:
                    pass

    def left_behind(self):
        """Processes of ranks that still run."""
        return [
            rank.process_id
            for rank in self.ranks.values()
            if rank.process_id
            and os.path.exists(f"/proc/{rank.process_id}")
            and open(f"/proc/{rank.process_id}/stat").read().split(")")[1].split()[0] != "Z"
        ]

    def story(self):
        said = {rank: [text for _, text in who.lines[-3:]] for rank, who in self.ranks.items()}
        return f"ranks said {said}; launcher said {self.launcher_said[-3:]}"
