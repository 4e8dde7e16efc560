"""
DBOS on SQLite, set to WAL and synchronous=FULL like ours; a job is a workflow with one step and an id of its own.

What it does that we do not: it recovers arbitrary Python code step by step. What it does not do: engines, evidence,
attempts. Source: dbos 3.4.0, `DBOS.start_workflow`, `SetWorkflowID`, `_sys_db_sqlite.py`.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

from dbos import DBOS, SetWorkflowID
from measure import demand, latencies
from sqlalchemy import event
from sqlalchemy.engine import Engine

Figures = tuple[dict[str, float], str]

effects: list[tuple[str, float]] = []
"""(job, when its step began), of this process."""
hold = threading.Event()


@DBOS.step()
def effect(job: str, real: bool) -> None:
    """
    The work itself.
    """
    effects.append((job, time.perf_counter()))
    if real:
        subprocess.run(["/bin/true"], check=True)


@DBOS.workflow()
def one_step(job: str, real: bool = False) -> None:
    """
    A job.
    """
    effect(job, real)


@DBOS.workflow()
def many_steps(count: int) -> None:
    """
    A chain.
    """
    for number in range(count):
        effect(f"step-{number}", False)


@DBOS.workflow()
def waits(job: str, ledger: str) -> None:
    """
    A job in flight: notes that it began, and waits.
    """
    with Path(ledger).open("a") as file:
        file.write(f"{os.getpid()} {time.monotonic_ns()} {job}\n")
    hold.wait()


@contextmanager
def launched(folder: str, *, own_default: bool = False, threads: int | None = None) -> Iterator[Path]:
    """
    DBOS on a fresh file. own_default: with the journal mode it would choose itself (a rollback journal).
    """
    path = Path(folder) / "dbos.sqlite"

    def pragmas(connection: sqlite3.Connection, record: Any) -> None:
        connection.execute("PRAGMA synchronous = FULL")
        if not own_default:
            connection.execute("PRAGMA journal_mode = WAL")

    event.listen(Engine, "connect", pragmas)
    config: Any = {"name": "bench", "system_database_url": f"sqlite:///{path}", "log_level": "ERROR"}
    DBOS(config={**config, "application_version": "1", "max_executor_threads": threads})
    DBOS.launch()
    try:
        yield path
    finally:
        DBOS.destroy()


def _start_all(jobs: int, threads: int, *, real: bool = False) -> tuple[list[Any], list[float]]:
    taken: list[float] = []

    def start_one(number: int) -> Any:
        began = time.perf_counter()
        with SetWorkflowID(f"job-{number}"):
            handle = DBOS.start_workflow(one_step, f"job-{number}", real)
        taken.append(time.perf_counter() - began)
        return handle

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(start_one, range(jobs))), taken


def _audited(path: Path, jobs: int) -> str:
    with sqlite3.connect(path) as db:
        (done,) = db.execute("SELECT count(*) FROM workflow_status WHERE status = 'SUCCESS'").fetchone()
    names = [job for job, _ in effects]
    demand(done == len(names) == len(set(names)) == jobs, f"{done} succeeded, {len(names)} effects, not {jobs}")
    return f"{jobs} started = {jobs} SUCCESS, each step once"


def start(folder: str, jobs: int, threads: int, own_default: bool = False) -> Figures:
    """
    `start_workflow` returns once the workflow is recorded; its threads begin to run it at the same time.
    """
    with launched(folder, own_default=own_default) as path:
        began, cpu = time.perf_counter(), time.process_time()
        handles, taken = _start_all(jobs, threads)
        seconds, cpu_s = time.perf_counter() - began, time.process_time() - cpu
        for handle in handles:
            handle.get_result()
        audit = _audited(path, jobs)
    return {"jobs/s": jobs / seconds, "CPU µs/job": cpu_s / jobs * 1e6, **latencies(taken)}, audit


def to_end(folder: str, jobs: int, threads: int, real: bool = False) -> Figures:
    """
    Until every workflow has its result.
    """
    with launched(folder) as path:
        began, cpu = time.perf_counter(), time.process_time()
        handles, _ = _start_all(jobs, threads, real=real)
        for handle in handles:
            handle.get_result()
        seconds, cpu_s = time.perf_counter() - began, time.process_time() - cpu
        audit = _audited(path, jobs)
    return {"jobs/s": jobs / seconds, "CPU µs/job": cpu_s / jobs * 1e6}, audit


def left_behind(folder: str, jobs: int) -> Figures:
    """
    The file after so many workflows.
    """
    with launched(folder) as path:
        for handle in _start_all(jobs, 1)[0]:
            handle.get_result()
        audit = _audited(path, jobs)
    return {"bytes/job": sum(file.stat().st_size for file in path.parent.glob("dbos.sqlite*")) / jobs}, audit


def start_latency(folder: str, jobs: int) -> Figures:
    """
    From the call to the first line of the step.
    """
    taken: list[float] = []
    with launched(folder) as path:
        for number in range(jobs):
            began = time.perf_counter()
            with SetWorkflowID(f"job-{number}"):
                DBOS.start_workflow(one_step, f"job-{number}").get_result()
            taken.append(effects[-1][1] - began)
            time.sleep(0.005)
        audit = _audited(path, jobs)
    return latencies(taken), audit


def chain(folder: str, jobs: int) -> Figures:
    """
    From one step's beginning to the next one's, in one workflow; the step itself takes no time.
    """
    with launched(folder):
        many_steps(jobs)
    times = [at for _, at in effects]
    demand(len(times) == jobs, "a step too many")
    return latencies([b - a for a, b in pairwise(times)]), f"{jobs} steps in order, each once"


def after_kill(folder: str, jobs: int) -> Figures:
    """
    From the exec of a new process until every pending workflow runs again.
    """
    ledger = Path(folder) / "ledger"
    command = [sys.executable, __file__, folder]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    first = subprocess.Popen([*command, str(jobs)], env=environment)
    _until(ledger, jobs, 0)
    time.sleep(0.5)
    first.send_signal(signal.SIGKILL)
    first.wait()
    began_ns = time.monotonic_ns()
    second = subprocess.Popen([*command, "0"], env=environment)
    last_ns = _until(ledger, jobs, first.pid)
    second.kill()
    second.wait()
    return {"all asked s": (last_ns - began_ns) / 1e9}, f"{jobs} pending, {jobs} run again from their last step"


def _until(ledger: Path, jobs: int, not_by: int, *, patience_s: float = 200.0) -> int:
    """
    When the last of `jobs` distinct jobs was noted by another process than `not_by`.
    """
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline:
        lines = [line.split() for line in ledger.read_text().splitlines()] if ledger.exists() else []
        ours = {job: int(ns) for pid, ns, job in lines if int(pid) != not_by}
        if len(ours) >= jobs:
            return max(ours.values())
        time.sleep(0.02)
    raise SystemExit("not regained in time")


def _process(folder: str, jobs: int) -> None:
    """
    A process that starts `jobs` workflows that never end, or none: then DBOS recovers those of before.
    """
    with launched(folder, threads=4000):
        for number in range(jobs):
            with SetWorkflowID(f"job-{number}"):
                DBOS.start_workflow(waits, f"job-{number}", str(Path(folder) / "ledger"))
        signal.pause()


if __name__ == "__main__":
    _process(sys.argv[1], int(sys.argv[2]))
