"""
Workload f: what a finished job leaves behind, on disk and in memory.

Belongs here: jobs run to their end in chunks, with the size of the file and of the process after each.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from measure import Contender, demand
from plane import audit_file, embedded, quickly, submission, until_finished

BATCH = 100
CALLERS = 4


def contenders(jobs: int, few: int) -> list[Contender]:
    """
    Our row, and the peers' with fewer jobs.
    """
    goals = {"bytes/job": "<= 2000", "RSS growth MB": "<= 20"}
    return [
        Contender("f", f"standfast, {jobs} finished", "footprint", "left_behind", {"jobs": jobs}, goals, rounds=1),
        Contender("f", f"DBOS, {few} finished", "peers.dbos_peer", "left_behind", {"jobs": few}, rounds=1),
    ]


def left_behind(folder: str, jobs: int) -> tuple[dict[str, float], str]:
    """
    Memory after a tenth of the jobs, when everything is warm, against memory at the end; the file when it is closed.
    """
    rss: list[float] = []

    async def work() -> None:
        async with embedded(folder) as plane:
            for tenth in range(10):
                firsts = iter(range(tenth * jobs // 10, (tenth + 1) * jobs // 10, BATCH))

                async def caller(firsts: object = firsts) -> None:
                    for first in firsts:  # type: ignore[attr-defined]
                        some = [submission(number) for number in range(first, first + BATCH)]
                        await plane.intake.submit_many(some, by="bench")

                await asyncio.gather(*(caller() for _ in range(CALLERS)))
                await until_finished(plane, (tenth + 1) * jobs // 10)
                # The fake engine remembers every run for good, which is its own affair: let it forget.
                engine = plane.world.engines["fake"]
                demand(len(engine.ledger) == jobs // 10, "a run too many")  # type: ignore[attr-defined]
                engine.restart(forget=True, kill=False)  # type: ignore[attr-defined]
                engine.ledger.clear()  # type: ignore[attr-defined]
                rss.append(_rss_mb())

    quickly(work())
    audit = audit_file(folder, jobs, events_each=4)
    size = sum(path.stat().st_size for path in Path(folder).glob("standfast.db*"))
    return {"bytes/job": size / jobs, "RSS growth MB": rss[-1] - rss[0], "RSS MB": rss[-1]}, audit


def _rss_mb() -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024
