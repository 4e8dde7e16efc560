"""
Our side of every comparison: a control plane with everything on, embedded in this process or served from another.

Belongs here: settings, the jobs that are submitted, the server process, and the audit of what it left on disk. All of
it goes through the doors that users have: `standfast.wiring` and the `standfast` command.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import uvloop
from measure import demand

from standfast.core.job.spec import Spec
from standfast.runtime.intake import Submission
from standfast.settings import Settings
from standfast.wiring import Plane, control_plane

T = TypeVar("T")

LABELS = {"team": "payments", "pipeline": "daily-settlement"}
MOMENT = {"run_s": 1e-6}
"""A job that ends at once but is seen running first: four durable transitions, as long jobs make them."""

CPU_TICKS_S = os.sysconf("SC_CLK_TCK")


class Watch:
    """
    Wall and CPU seconds of a stretch of this process; `to_figures` gives the CPU per job.
    """

    def __enter__(self) -> Watch:
        self._wall, self._cpu = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *error: object) -> None:
        self.seconds, self.cpu_s = time.perf_counter() - self._wall, time.process_time() - self._cpu

    def to_figures(self, jobs: int) -> dict[str, float]:
        """
        Rate and cost.
        """
        return {"jobs/s": jobs / self.seconds, "CPU µs/job": self.cpu_s / jobs * 1e6}


def quickly(work: Coroutine[Any, Any, T]) -> T:
    """
    Run on the event loop that the server uses.
    """
    return uvloop.run(work)


def settings(folder: str, **others: Any) -> Settings:
    """
    The defaults, with the fake engine and slots that do not limit it.
    """
    given = {"state_dir": folder, "engines": ("fake",), "slots": 1000, "log_level": "error", **others}
    return Settings(**given)


@asynccontextmanager
async def embedded(folder: str, **others: Any) -> AsyncIterator[Plane]:
    """
    A control plane in this process.
    """
    async with control_plane(settings(folder, **others)) as plane:
        yield plane


def submission(number: int, program: dict[str, Any] | None = None, engine: str = "fake") -> Submission:
    """
    A job of about 300 bytes as JSON, with a request id of its own.
    """
    return Submission(
        spec=Spec(engine=engine, program=MOMENT if program is None else program),
        name=f"settle-{number % 97:02}-accounts",
        labels=LABELS,
        request_id=f"request-{number:012}-of-the-benchmark",
    )


def body(number: int, program: dict[str, Any] | None = None, engine: str = "fake") -> dict[str, Any]:
    """
    The same job as a REST document.
    """
    one = submission(number, program, engine)
    return {
        "name": one.name,
        "labels": dict(one.labels),
        "spec": {"engine": engine, "program": dict(one.spec.program), "retry": {"max_attempts": 3}},
    }


def finished(plane: Plane) -> Coroutine[Any, Any, int]:
    """
    How many jobs have succeeded, from the kept counters.
    """

    async def count() -> int:
        return sum(slot.count for slot in await plane.world.catalogue.slots() if slot.phase == "succeeded")

    return count()


async def until_finished(plane: Plane, jobs: int, *, patience_s: float = 120.0) -> None:
    """
    Return once so many have succeeded.
    """
    async with asyncio.timeout(patience_s):
        while await finished(plane) < jobs:
            await asyncio.sleep(0.001)


def audit_file(folder: str, jobs: int, *, events_each: int | None, phase: str = "succeeded", others: int = 0) -> str:
    """
    Check the file that is left: that many jobs in that phase, each request once, each attempt sent once.

    others: jobs in other phases. events_each: None if their number is not always the same.
    """
    with sqlite3.connect(f"file:{folder}/standfast.db?mode=ro", uri=True) as db:
        one = lambda sql: db.execute(sql).fetchone()[0]  # noqa: E731
        stored = db.execute("SELECT count(*), count(DISTINCT request_id) FROM jobs WHERE phase = ?", (phase,))
        demand(stored.fetchone() == (jobs, jobs), f"not {jobs} distinct jobs in {phase}")
        demand(one("SELECT count(*) FROM jobs") == jobs + others, f"not {jobs} jobs in all")
        demand(one("SELECT coalesce(max(sends), 1) FROM attempts") == 1, "an attempt was sent twice")
        if events_each is not None:
            demand(one("SELECT count(*) FROM events") == jobs * events_each, f"not {events_each} events per job")
            demand(one("SELECT count(*) FROM attempts") == jobs, "not one attempt per job")
    return f"{jobs} accepted = {jobs} {phase}, each once"


class Server:
    """
    `standfast serve` in a process of its own, on a free port of the loopback, with a token.
    """

    def __init__(self, folder: str, *, engine: str = "fake", slots: int = 1000, plugins: Path | None = None) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.token = self._token()
        self._engine, self._slots = engine, slots
        self._environment = dict(os.environ)
        if plugins is not None:
            self._environment["PYTHONPATH"] = f"{plugins}:{Path(__file__).parent}"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> float:
        """
        Execute the command and return at the first answer of the API; seconds between the two.
        """
        command = [
            str(Path(sys.executable).with_name("standfast")),
            *("serve", "--listen", f"127.0.0.1:{self.port}", "--state-dir", str(self.folder)),
            *("--engine", self._engine, "--slots", str(self._slots), "--log-level", "error"),
            *("--tokens-file", str(self.folder / "tokens")),
        ]
        began = time.perf_counter()
        self.process = subprocess.Popen(command, env=self._environment, stdout=subprocess.DEVNULL)
        while True:
            try:
                self.get("/v1/jobs?page_size=1")
            except (ConnectionError, TimeoutError):
                demand(self.process.poll() is None, "the server ended")
                demand(time.perf_counter() - began < 30, "the server did not answer within 30 s")
                time.sleep(0.002)
            else:
                return time.perf_counter() - began

    def get(self, path: str) -> Any:
        """
        One GET over a connection of its own; the decoded answer.
        """
        head = f"GET {path} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {self.token}\r\nConnection: close\r\n\r\n"
        with socket.create_connection(("127.0.0.1", self.port), timeout=10) as connection:
            connection.sendall(head.encode())
            answer = b"".join(iter(lambda: connection.recv(1 << 20), b""))
        status, _, rest = answer.partition(b"\r\n\r\n")
        demand(status.startswith(b"HTTP/1.1 200"), f"GET {path}: {status[:80]!r} {rest[:300]!r}")
        return json.loads(rest)

    def used(self) -> dict[str, float]:
        """
        CPU seconds and peak RSS of the server so far.
        """
        assert self.process is not None
        stat = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        peak_kb = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))
        return {"CPU s": (int(stat[11]) + int(stat[12])) / CPU_TICKS_S, "RSS MB": peak_kb / 1024}

    def stop(self, *, kill: bool = False) -> None:
        """
        End it, politely or by kill -9.
        """
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL if kill else signal.SIGTERM)
            self.process.wait(30)

    def counts(self) -> dict[str, int]:
        """
        Jobs by phase, from the kept counters.
        """
        return {item["phase"]: item["count"] for item in self.get("/v1/counts?by=phase")["items"]}

    def until_finished(self, jobs: int, *, patience_s: float = 120.0) -> float:
        """
        Seconds until so many have succeeded.
        """
        began = time.perf_counter()
        while self.counts().get("succeeded", 0) < jobs:
            demand(time.perf_counter() - began < patience_s, f"not finished: {self.counts()}")
            time.sleep(0.005)
        return time.perf_counter() - began

    def _token(self) -> str:
        secret = self.folder / "secret"
        command = [str(Path(sys.executable).with_name("standfast")), "token", "create", "bench", "--role", "admin"]
        files = ["--tokens-file", str(self.folder / "tokens"), "--out", str(secret)]
        subprocess.run([*command, *files], check=True, capture_output=True)
        return secret.read_text().strip()
