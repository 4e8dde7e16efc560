"""
Workload b: jobs that do nothing, from acceptance to their recorded end, with four durable transitions each.

Belongs here: the fake engine (what the control plane itself costs), and `/bin/true` through the process engine beside
the floor of that engine alone. History is kept, every transition is on disk before the next effect.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import Any

from measure import Contender, demand
from plane import Watch, audit_file, embedded, quickly, submission, until_finished

from standfast.core.job.attempt import handle_of
from standfast.core.job.evidence import Verdict
from standfast.core.job.observation import Ended
from standfast.engines.process import build
from standfast.ports.engine import EngineContext, Order
from standfast.system.clock import SystemClock
from standfast.system.ids import SystemIds

CALLERS = 32


def contenders(jobs: int, real: int) -> list[Contender]:
    """
    Our rows and the peers': `jobs` no-ops, `real` processes.
    """
    few = max(100, jobs // 10)
    dbos, huey = "peers.dbos_peer", "peers.huey_peer"
    slow = {"jobs": real, "program": {"argv": ["/bin/true"]}, "engine": "process", "slots": 16}
    against = tuple(("jobs/s", f"DBOS no-op, {n}", ">= 25") for n in ("1 thread starts", "32 threads start"))
    against += (("jobs/s", "huey no-op, 1 worker", ">= 1"),)
    own = {"jobs/s": ">= 5000"}
    real_ratio = (("jobs/s", "floor: process engine alone", ">= 0.5"), ("jobs/s", "DBOS /bin/true", ">= 1"))
    return [
        Contender("b", "standfast no-op", "finish", "to_end", {"jobs": jobs}, own, against),
        Contender("b", "standfast no-op, batches of 100", "finish", "to_end", {"jobs": jobs, "batch": 100}),
        Contender("b", "DBOS no-op, 1 thread starts", dbos, "to_end", {"jobs": few, "threads": 1}),
        Contender("b", "DBOS no-op, 32 threads start", dbos, "to_end", {"jobs": few, "threads": 32}),
        Contender("b", "huey no-op, 1 worker", huey, "to_end", {"jobs": jobs // 2, "workers": 1}),
        Contender("b", "huey no-op, 8 workers", huey, "to_end", {"jobs": jobs // 2, "workers": 8}),
        Contender("b", "standfast /bin/true", "finish", "to_end", slow, {"jobs/s": ">= 200"}, real_ratio),
        Contender("b", "floor: process engine alone", "finish", "process_floor", {"jobs": real}),
        Contender("b", "DBOS /bin/true", dbos, "to_end", {"jobs": real // 2, "threads": 8, "real": True}),
        Contender("b", "huey /bin/true, 8 workers", huey, "to_end", {"jobs": real, "workers": 8, "real": True}),
    ]


def to_end(
    folder: str,
    jobs: int,
    program: dict[str, Any] | None = None,
    engine: str = "fake",
    slots: int = 1000,
    batch: int = 1,
) -> tuple[dict[str, float], str]:
    """
    Submit everything as fast as it is accepted, and wait for the last end.
    """

    async def work() -> Watch:
        async with embedded(folder, engines=(engine,), slots=slots) as plane:
            firsts = iter(range(0, jobs, batch))

            async def caller() -> None:
                for first in firsts:
                    some = [submission(n, program, engine) for n in range(first, first + batch)]
                    await plane.intake.submit_many(some, by="bench")

            with Watch() as watch:
                await asyncio.gather(*(caller() for _ in range(CALLERS if batch == 1 else 1)))
                await until_finished(plane, jobs)
            if engine == "fake":
                runs = [run.handle for run in plane.world.engines["fake"].ledger]  # type: ignore[attr-defined]
                demand(len(runs) == len(set(runs)) == jobs, "the engine's ledger does not have each job once")
            return watch

    return quickly(work()).to_figures(jobs), audit_file(folder, jobs, events_each=4 if engine == "fake" else None)


def process_floor(folder: str, jobs: int, at_once: int = 16) -> tuple[dict[str, float], str]:
    """
    The same processes through the same engine without a control plane: launch, wait for its hint, look.
    """

    async def work() -> Watch:
        engine = build(EngineContext(Path(folder) / "engine", SystemClock(), SystemIds(), at_once))
        hinted: dict[str, asyncio.Event] = {}
        await engine.open(lambda handle: hinted[handle].set() if handle in hinted else None)
        numbers = iter(range(jobs))
        ended: list[str] = []

        async def caller() -> None:
            for number in numbers:
                spec = submission(number, {"argv": ["/bin/true"]}, "process").spec
                uid = SystemIds().job_uid()
                handle = handle_of(uid, 1)
                order = Order(
                    handle=handle,
                    uid=uid,
                    namespace="default",
                    name="true",
                    attempt=1,
                    spec=spec,
                    resources=spec.resources,
                )
                hinted[handle] = asyncio.Event()
                seen = await engine.launch(order)
                while not isinstance(seen, Ended) or seen.gone is not Verdict.PROVEN:
                    with suppress(TimeoutError):
                        await asyncio.wait_for(hinted[handle].wait(), 0.05)
                    hinted[handle].clear()
                    seen = (await engine.look([handle]))[handle]
                ended.append(handle)

        with Watch() as watch:
            await asyncio.gather(*(caller() for _ in range(at_once)))
        await engine.close()
        demand(len(set(ended)) == len(ended) == jobs, "not each ended once")
        return watch

    return asyncio.run(work()).to_figures(jobs), f"{jobs} launched = {jobs} seen ended"
