"""
A lab for the process engine: a root of its own, jobs that count their runs, and cleaning up by pid.

Belongs here: what every file of this folder needs. Nothing sleeps: an end is awaited on the ticket's own lock, a death
on a pidfd, a job's word on a pipe.
"""

from __future__ import annotations

import fcntl
import os
import select
import signal
from pathlib import Path
from typing import Any

from standfast.engines.process import launcher, observe, processes, root, stop, ticket
from standfast.engines.process.launcher import Command, Launched
from standfast.engines.process.observe import Look, Seen
from standfast.engines.process.spawner import Spawner

# Multiplies the rounds of every randomised test.
ROUNDS = int(os.environ.get("STANDFAST_PROCESS_ROUNDS", "1"))
PATH = "/usr/local/bin:/usr/bin:/bin"


def wait_dead(pid: int, timeout_s: float = 30.0) -> None:
    """
    Block until the process is gone, or a zombie.
    """
    try:
        pidfd = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        ready, _, _ = select.select([pidfd], [], [], timeout_s)
        assert ready, f"{pid} is still alive"
    finally:
        os.close(pidfd)


class Lab:
    """
    One engine root, and what a test does with it.
    """

    def __init__(self, folder: Path, spawner: Spawner = launcher.PLAIN) -> None:
        self.folder = folder
        self.spawner = spawner
        self.root = root.prepare(folder / "root", fresh_id="lab")
        self.ledger = folder / "ledger"
        self.handles: set[str] = set()

    def sh(self, script: str, **options: Any) -> Command:
        """
        A shell script as a job; $LEDGER and $LAB are files of the lab.
        """
        env = {"PATH": PATH, "LEDGER": str(self.ledger), "LAB": str(self.folder), **options.pop("env", {})}
        return Command(argv=("/bin/sh", "-c", script), env=env, **options)

    def counting(self, script: str = "exit 0", **options: Any) -> Command:
        """
        A job that leaves a line in the ledger before anything else.
        """
        return self.sh(f"echo $STANDFAST_ATTEMPT_ID >> $LEDGER; {script}", **options)

    def launch(self, handle: str, command: Command, **options: Any) -> Launched:
        """
        Launch with digest "d" unless told otherwise.
        """
        self.handles.add(handle)
        options = {"spawner": self.spawner, "digest": "d", **options}
        return launcher.launch(self.root, handle, command=command, **options)

    def look(self, handle: str) -> Look:
        """
        Observe.
        """
        return observe.observe(self.root, handle)

    def seen(self, handle: str) -> Seen:
        """
        Observe what must have a ticket.
        """
        look = self.look(handle)
        assert isinstance(look, Seen), look
        return look

    def free(self, handle: str) -> Seen:
        """
        Block until no keeper holds the ticket, then observe.
        """
        with (self.root.tickets / handle).open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH)
        return self.seen(handle)

    def quiet(self, handle: str) -> Seen:
        """
        Block until neither keepers nor survivors are left, then observe.
        """
        while (seen := self.free(handle)).survivors:
            for survivor in seen.survivors:
                wait_dead(survivor.process.pid)
        return seen

    def runs(self, handle: str) -> int:
        """
        How often a counting job really ran.
        """
        return self.ledger.read_text().split().count(handle) if self.ledger.exists() else 0

    def pair(self, handle: str) -> tuple[int, int]:
        """
        (worker, spare) of a started attempt.
        """
        found = self.seen(handle).ticket
        assert found is not None
        assert found.started is not None
        return found.started.worker, found.claim.pid

    def kill_pair(self, handle: str) -> None:
        """
        SIGKILL both keepers, and wait until they are dead.
        """
        worker, spare = self.pair(handle)
        for pid in (spare, worker):
            os.kill(pid, signal.SIGKILL)
        for pid in (spare, worker):
            wait_dead(pid)

    def pipe(self, name: str) -> Path:
        """
        A named pipe for one word of a job to its test.
        """
        path = self.folder / name
        os.mkfifo(path)
        return path

    def clean(self) -> None:
        """
        Kill whatever is left of every handle, keepers first.
        """
        for handle in self.handles:
            while True:
                look = observe.observe(self.root, handle, search=True)
                found = processes.search(self.root, handle, None)
                alive = [*found.survivors, *(stop.living(look) if isinstance(look, Seen) else ())]
                left = {survivor.process.pid: survivor.process.start for survivor in alive}
                keepers = list(found.keepers)
                if isinstance(look, Seen) and look.basis == "lock_held" and look.ticket:
                    keepers.append(look.ticket.claim.pid)
                    keepers.extend([look.ticket.started.worker] if look.ticket.started else [])
                for pid in keepers:
                    process = processes.read(pid)
                    if process is not None and process.name.startswith("python"):
                        processes.send(pid, process.start, signal.SIGKILL)
                for pid, start in left.items():
                    processes.send(pid, start, signal.SIGKILL)
                for pid in [*keepers, *left]:
                    wait_dead(pid)
                if not keepers and not left:
                    break


def status_of(seen: Seen) -> ticket.Status:
    """
    The status that must be known.
    """
    assert seen.status is not None, seen
    return seen.status
