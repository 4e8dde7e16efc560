"""
A lab for the Spark engine: an engine of its own, orders with sensible defaults, and cleaning up by pid.

Belongs here: what every file of this folder needs. Nothing sleeps: an end is awaited on the ticket's own lock, a job's
word on a named pipe, a death on a pidfd.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import select
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from standfast.core.job.observation import Ended, Observation
from standfast.core.job.spec import Resources, Spec
from standfast.engines.process import processes
from standfast.engines.process.observe import Seen, observe
from standfast.engines.spark import build
from standfast.ports.engine import EngineContext, Order
from standfast.system.clock import SystemClock
from standfast.system.ids import SystemIds

QUIET = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2"}
LIFE = f"{os.getpid():x}{time.monotonic_ns():x}"
"""In every handle, so that two runs of these tests on one machine never find, or clean up, each other's processes."""

PRELUDE = "from pyspark.sql import SparkSession\nspark = SparkSession.builder.getOrCreate()\n"


def handle_of(word: str, attempt: int = 1) -> str:
    """
    A handle of this run of the tests alone.
    """
    return f"sf-{word}{LIFE}-{attempt}"


def order(
    main: str | Path,
    *,
    handle: str | None = None,
    attempt: int = 1,
    resources: Resources | None = None,
    spec: Mapping[str, Any] | None = None,
    **program: Any,
) -> Order:
    """
    One order for two threads of this machine, without a web UI; keyword arguments go into the program.
    """
    given: dict[str, Any] = {"main": str(main), "master": "local[2]", "conf": QUIET, **program}
    given["env"] = {"SPARK_LOCAL_IP": "127.0.0.1", **given.get("env", {})}
    made = Spec(engine="spark", program=given, **(spec or {}))
    return Order(
        handle=handle or handle_of("lab"),
        uid="job_lab",
        namespace="default",
        name="lab",
        attempt=attempt,
        spec=made,
        resources=resources or made.resources,
    )


class SparkLab:
    """
    One engine, and what a test does with it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.engine = build(EngineContext(folder / "engine", SystemClock(), SystemIds()))
        self.ledger = folder / "ledger"
        self.handles: set[str] = set()

    def script(self, body: str, *, name: str = "main.py", prelude: str = PRELUDE) -> Path:
        """
        A main file with a session named `spark`.
        """
        path = self.folder / name
        path.write_text(prelude + body)
        return path

    def pipe(self, name: str) -> Path:
        """
        A named pipe for one word of a job to its test.
        """
        path = self.folder / name
        os.mkfifo(path)
        return path

    async def heard(self, pipe: Path) -> str:
        """
        The word that comes through the pipe, within minutes or never.
        """
        # Open for both, so that neither side waits for the other, and a job that died is not waited for for ever.
        end = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
        came = asyncio.Event()
        loop = asyncio.get_running_loop()
        loop.add_reader(end, came.set)
        try:
            async with asyncio.timeout(300):
                await came.wait()
            return os.read(end, 100).decode()
        finally:
            loop.remove_reader(end)
            os.close(end)

    async def launch(self, given: Order) -> Observation:
        """
        Launch, and remember to clean up.
        """
        self.handles.add(given.handle)
        return await self.engine.launch(given)

    async def ended(self, handle: str) -> Ended:
        """
        Wait until no keeper holds the ticket, then look.
        """
        await asyncio.to_thread(self._wait_free, handle)
        seen = (await self.engine.look([handle]))[handle]
        assert isinstance(seen, Ended), seen
        return seen

    async def run(self, given: Order) -> Ended:
        """
        Launch, and wait for the end.
        """
        await self.launch(given)
        return await self.ended(given.handle)

    def stream(self, handle: str, name: str) -> str:
        """
        All of one stream.
        """
        return (self.folder / "engine" / "runs" / handle / name).read_text(errors="replace")

    def main_pid(self, handle: str) -> int:
        """
        The JVM: spark-submit's shell has become it.
        """
        seen = observe(self.engine._opened(), handle)
        assert isinstance(seen, Seen)
        assert seen.ticket is not None
        assert seen.ticket.started is not None
        return seen.ticket.started.main

    def runs(self) -> list[str]:
        """
        What jobs have noted in the ledger.
        """
        return self.ledger.read_text().splitlines() if self.ledger.exists() else []

    async def clean(self) -> None:
        """
        Kill whatever is left of every handle, keepers first.
        """
        await self.engine.close()
        for handle in self.handles:
            for cookie in (f"STANDFAST_KEEPER={handle}", f"STANDFAST_ATTEMPT_ID={handle}"):
                for pid in living(cookie):
                    process = processes.read(pid)
                    if process is not None and processes.send(pid, process.start, signal.SIGKILL):
                        wait_dead(pid)

    def _wait_free(self, handle: str) -> None:
        with (self.folder / "engine" / "tickets" / handle).open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH)


def living(cookie: str) -> list[int]:
    """
    Pids of processes with this variable in their environment.
    """
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if cookie.encode() in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


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
