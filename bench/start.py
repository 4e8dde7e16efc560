"""
Workload c: how long one job waits on an idle control plane, and one job after another.

Belongs here: from the submit being sent to the engine being told to start it; and from the end of a job on the engine
to the start of the next, submitted by somebody who waited for that end. Every transition on the way is on disk first.
"""

from __future__ import annotations

import asyncio
from itertools import pairwise
from pathlib import Path

from ledger_engine import LEDGER, entries, plugged
from load import Load
from measure import Contender, demand, latencies
from plane import Plane, Server, embedded, quickly, submission

from standfast.engines.fake.runs import Run
from standfast.runtime.world import EVENTS

PAUSE_S = 0.005


def contenders(jobs: int) -> list[Contender]:
    """
    Our rows and the peers'.
    """
    goals = {"p50 ms": "< 2", "p99 ms": "< 5"}
    dbos, huey, given = "peers.dbos_peer", "peers.huey_peer", {"jobs": jobs}
    linked = {"p50 ms": "< 1.5", "p99 ms": "< 5"}
    against = (("p50 ms", "DBOS step to next step, a chain", "<= 0.8"),)
    return [
        Contender("c", "standfast submit to start, in process", "start", "in_process", given, goals),
        Contender("c", "standfast submit to start, HTTP", "start", "http", given, goals),
        Contender("c", "DBOS start to first step", dbos, "start_latency", given),
        Contender("c", "huey enqueue to start, looking every 1 ms", huey, "start_latency", given),
        Contender("c", "standfast end to next start, a chain", "start", "chain", given, linked, against),
        Contender("c", "DBOS step to next step, a chain", dbos, "chain", given),
    ]


def in_process(folder: str, jobs: int) -> tuple[dict[str, float], str]:
    """
    Singles, each after the one before has ended.
    """

    async def work() -> list[float]:
        taken: list[float] = []
        async with embedded(folder) as plane:
            for number in range(jobs):
                asked_at = plane.world.clock.now()
                await plane.intake.submit(submission(number), by="bench")
                run = await _run(plane, number)
                taken.append((run.started_at - asked_at).total_seconds())
                await asyncio.sleep(PAUSE_S)
            demand(len(_ledger(plane)) == jobs, "a run too many")
        return taken

    return latencies(quickly(work())), f"{jobs} started, each once"


def http(folder: str, jobs: int) -> tuple[dict[str, float], str]:
    """
    Singles over one connection; the engine's ledger and the load maker read the same clock.
    """
    server = Server(folder, engine="ledger", plugins=plugged(Path(folder)))
    server.start()
    with Load(server) as load:
        done = load.submit(jobs, clients=1, pause_s=PAUSE_S, engine="ledger", program={})
    demand(done.accepted == jobs, f"{done.accepted} accepted: {done.trouble}")
    used = server.used()
    server.stop()
    starts = [(ns, what) for kind, ns, what in entries(Path(folder) / LEDGER) if kind == "start"]
    demand(len({what for _, what in starts}) == len(starts) == jobs, "not each started once")
    taken = [ns / 1e9 - sent for (ns, _), sent in zip(starts, done.sent, strict=True)]
    acks = latencies(done.taken, prefix="ack ")
    return {**latencies(taken), **acks, **used}, f"{jobs} started, each once"


def chain(folder: str, jobs: int) -> tuple[dict[str, float], str]:
    """
    A caller who waits for each job's end before submitting the next.
    """

    async def work() -> list[float]:
        async with embedded(folder) as plane:
            for number in range(jobs):
                job = (await plane.intake.submit(submission(number), by="bench")).job
                while not job.phase.final:
                    seen = plane.world.wakeups.seen(EVENTS)
                    job = await plane.intake.job(job.uid)
                    if not job.phase.final:
                        await plane.world.wakeups.wait(EVENTS, seen=seen, until=None)
            runs = _ledger(plane)
        demand(len(runs) == jobs, "a run too many")
        return [(b.started_at - a.ends_at).total_seconds() for a, b in pairwise(runs)]

    return latencies(quickly(work())), f"{jobs} started in order, each once"


def _ledger(plane: Plane) -> list[Run]:
    return plane.world.engines["fake"].ledger  # type: ignore[attr-defined,no-any-return]


async def _run(plane: Plane, number: int) -> Run:
    """
    The run of that number, once the engine has started it.
    """
    async with asyncio.timeout(10):
        while len(_ledger(plane)) <= number:
            await asyncio.sleep(0.0005)
    return _ledger(plane)[number]
