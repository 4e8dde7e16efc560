"""
Workload a: work is accepted, each acknowledged only once it is on disk.

Belongs here: submits in process and over HTTP, alone, by 32 callers at once, and in batches of 100. The engine's only
slot is taken, so that nothing but acceptance is measured; the rows "and run" have free slots and finish the jobs too.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

import apsw
from load import Load
from measure import Contender, demand, latencies
from plane import Server, Watch, audit_file, embedded, quickly, submission

BATCH = 100
BLOCKER = {"run_s": 3600.0}


def contenders(jobs: int) -> list[Contender]:
    """
    Our rows and the peers', for `jobs` submits each.
    """
    own = [
        ("in process, 1 caller", "in_process", {"callers": 1}, {"jobs/s": ">= 2000"}),
        ("in process, 32 callers", "in_process", {"callers": 32}, {"jobs/s": ">= 15000"}),
        ("in process, batches of 100", "in_process", {"callers": 1, "batch": BATCH}, {"jobs/s": ">= 40000"}),
        ("HTTP, 1 client", "http", {"clients": 1}, {"jobs/s": ">= 1500"}),
        ("HTTP, 32 clients", "http", {"clients": 32}, {"jobs/s": ">= 5000", "p99 ms": "< 15"}),
        ("HTTP, batches of 100", "http", {"clients": 1, "batch": BATCH}, {"jobs/s": ">= 20000"}),
        ("HTTP, 32 clients, and run", "http", {"clients": 32, "run": True}, {"jobs/s": ">= 3000"}),
    ]
    against = {"HTTP, 32 clients": (("jobs/s", "DBOS start, 32 threads", ">= 25"),)}
    against["in process, 1 caller"] = (("jobs/s", "DBOS start, 1 thread", ">= 1"),)
    rows = [
        Contender("a", f"standfast {name}", "submit", function, {"jobs": jobs, **given}, goals, against.get(name, ()))
        for name, function, given, goals in own
    ]
    rows.append(Contender("a", "floor: one bare SQLite commit each", "submit", "floor", {"jobs": jobs}))
    few = max(100, jobs // 10)
    peers = [
        Contender("a", f"DBOS start, {n} thread{'s'[: n > 1]}", "peers.dbos_peer", "start", {"jobs": few, "threads": n})
        for n in (1, 32)
    ]
    default = {"jobs": max(100, few // 4), "threads": 1, "own_default": True}
    peers += [
        Contender("a", "DBOS start, 1 thread, its own journal mode", "peers.dbos_peer", "start", default),
        Contender("a", "huey enqueue, 1 thread", "peers.huey_peer", "enqueue", {"jobs": jobs, "threads": 1}),
        Contender("a", "huey enqueue, 32 threads", "peers.huey_peer", "enqueue", {"jobs": jobs // 2, "threads": 32}),
    ]
    return rows + peers


def floor(folder: str, jobs: int) -> tuple[dict[str, float], str]:
    """
    What the disk allows a single caller: a row of 300 bytes, a flush, and nothing else.
    """
    taken: list[float] = []
    db = apsw.Connection(f"{folder}/floor.db")
    for pragma in ("journal_mode = WAL", "synchronous = FULL"):
        db.execute(f"PRAGMA {pragma}")
    db.execute("CREATE TABLE jobs (id INTEGER PRIMARY KEY, document TEXT)")
    with Watch() as watch:
        for _ in range(jobs):
            began = time.perf_counter()
            db.execute("INSERT INTO jobs (document) VALUES (?)", ("x" * 300,))
            taken.append(time.perf_counter() - began)
    demand(db.execute("SELECT count(*) FROM jobs").get == jobs, "a row is missing")
    return {**watch.to_figures(jobs), **latencies(taken)}, f"{jobs} rows"


def in_process(folder: str, jobs: int, callers: int, batch: int = 1) -> tuple[dict[str, float], str]:
    """
    `callers` tasks that each submit, wait for the answer and submit again.
    """
    taken: list[float] = []

    async def work() -> Watch:
        async with embedded(folder, slots=1) as plane:
            await plane.intake.submit(submission(jobs, BLOCKER), by="bench")
            numbers = iter(range(jobs))

            async def caller() -> None:
                for number in numbers:
                    began = time.perf_counter()
                    await plane.intake.submit(submission(number), by="bench")
                    taken.append(time.perf_counter() - began)

            async def batches() -> None:
                for first in range(0, jobs, batch):
                    began = time.perf_counter()
                    some = [submission(number) for number in range(first, first + batch)]
                    await plane.intake.submit_many(some, by="bench")
                    taken.append(time.perf_counter() - began)

            with Watch() as watch:
                await asyncio.gather(*((caller if batch == 1 else batches)() for _ in range(callers)))
            return watch

    figures = quickly(work()).to_figures(jobs)
    return {**figures, **latencies(taken)}, _audited(folder, jobs)


def http(folder: str, jobs: int, clients: int, batch: int = 1, run: bool = False) -> tuple[dict[str, float], str]:
    """
    `clients` connections that each send, wait for the answer and send again; the load maker is another process.
    """
    server = Server(folder, slots=1000 if run else 1)
    server.start()
    with Load(server) as load:
        if not run:
            load.submit(1, clients=1, first=jobs, program=BLOCKER)
        before = server.used()
        done = load.submit(jobs, clients=clients, batch=batch)
        used = server.used()
        figures: dict[str, Any] = {"jobs/s": jobs / done.seconds, **latencies(done.taken)}
        demand(done.accepted == jobs, f"{done.accepted} of {jobs} accepted: {done.trouble}")
        if run:
            figures["finished/s"] = jobs / (done.seconds + server.until_finished(jobs))
        figures |= {"CPU s": used["CPU s"] - before["CPU s"], "RSS MB": used["RSS MB"]}
    server.stop()
    return figures, audit_file(folder, jobs, events_each=4) if run else _audited(folder, jobs)


def _audited(folder: str, jobs: int) -> str:
    return audit_file(folder, jobs, events_each=None, phase="queued", others=1)
