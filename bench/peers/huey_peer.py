"""
huey on SQLite (WAL, fsync on): a plain queue. A job is a task with a stored result.

What it does not do: no history, no identity of a job against a second submission, and a task whose worker was killed is
lost. It is here as the mark of what a queue alone costs. Source: huey 3.5.4, `SqliteHuey`, `Consumer`.
"""

from __future__ import annotations

import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Thread
from typing import Any

from huey import SqliteHuey
from huey.consumer import Consumer
from measure import demand, latencies

Figures = tuple[dict[str, float], str]

LOOK_S = 0.001
"""How often an idle worker looks; 0.1 s by default, which would be all of its latency."""

effects: list[tuple[int, float]] = []


class Peer:
    """
    A queue in a file, one task, and workers that run in this process as long as the block lasts.
    """

    def __init__(self, folder: str, workers: int) -> None:
        self.huey = SqliteHuey("bench", filename=str(Path(folder) / "huey.db"), fsync=True, journal_mode="wal")
        self._consumer = Consumer(
            self.huey, workers=workers, initial_delay=LOOK_S, max_delay=LOOK_S, check_worker_health=False
        )

        @self.huey.task()
        def job(number: int, real: bool) -> int:
            effects.append((number, time.perf_counter()))
            if real:
                subprocess.run(["/bin/true"], check=True)
            return number

        self.job: Any = job

    def __enter__(self) -> Peer:
        self._consumer.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._consumer.stop(graceful=True)


def enqueue(folder: str, jobs: int, threads: int) -> Figures:
    """
    The call returns once the task is on disk; nobody runs it meanwhile.
    """
    peer = Peer(folder, 1)
    taken: list[float] = []

    def one(number: int) -> None:
        began = time.perf_counter()
        peer.job(number, False)
        taken.append(time.perf_counter() - began)

    began, cpu = time.perf_counter(), time.process_time()
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(one, range(jobs)))
    seconds, cpu_s = time.perf_counter() - began, time.process_time() - cpu
    demand(peer.huey.pending_count() == jobs, f"{peer.huey.pending_count()} pending, not {jobs}")
    return _figures(jobs, seconds, cpu_s) | latencies(taken), f"{jobs} enqueued = {jobs} pending"


def to_end(folder: str, jobs: int, workers: int, real: bool = False) -> Figures:
    """
    One thread enqueues while the workers run.
    """
    began, cpu = time.perf_counter(), time.process_time()
    with Peer(folder, workers) as peer:
        results: list[Any] = []
        sender = Thread(target=lambda: results.extend(peer.job(number, real) for number in range(jobs)))
        sender.start()
        sender.join()
        while peer.huey.result_count() < jobs:
            time.sleep(0.005)
        seconds, cpu_s = time.perf_counter() - began, time.process_time() - cpu
    return _figures(jobs, seconds, cpu_s), _audited(jobs)


def start_latency(folder: str, jobs: int) -> Figures:
    """
    From the call to the first line of the task.
    """
    taken: list[float] = []
    with Peer(folder, 1) as peer:
        for number in range(jobs):
            began = time.perf_counter()
            peer.job(number, False).get(blocking=True, timeout=10, backoff=1, max_delay=LOOK_S)
            taken.append(effects[-1][1] - began)
            time.sleep(0.005)
    return latencies(taken), _audited(jobs)


def _figures(jobs: int, seconds: float, cpu_s: float) -> dict[str, float]:
    return {"jobs/s": jobs / seconds, "CPU µs/job": cpu_s / jobs * 1e6}


def _audited(jobs: int) -> str:
    numbers = [number for number, _ in effects]
    demand(len(numbers) == len(set(numbers)) == jobs, f"{len(numbers)} effects, not {jobs}")
    return f"{jobs} enqueued = {jobs} results, each once"
