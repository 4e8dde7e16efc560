"""
A small control plane in process: the real runtime over the memory store and fake engines.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from standfast.core.job.spec import Spec
from standfast.core.job.state import Job
from standfast.engines.fake import FakeEngine
from standfast.ports.clock import Clock
from standfast.runtime.intake import Intake, Submission
from standfast.runtime.loop import Loop
from standfast.runtime.world import EVENTS, Limits, World
from standfast.stores.memory.blobs import MemoryBlobs
from standfast.stores.memory.store import MemoryStore
from standfast.system.clock import SystemClock
from standfast.system.ids import SystemIds
from standfast.system.wakeups import LoopWakeups

LIMITS = Limits(look_every_s=0.2, poll_every_s=0.05, sweep_every_s=0.2, call_timeout_s=1.0, drain_s=2.0)


@dataclass
class Bench:
    """
    The parts, and short ways to use them.
    """

    world: World
    loop: Loop
    intake: Intake
    engine: FakeEngine
    store: MemoryStore

    async def submit(self, name: str = "job", *, program: Mapping[str, Any] | None = None, **spec: Any) -> str:
        """
        The uid of a new job.
        """
        made = Spec(engine=spec.pop("engine", "fake"), program=program or {}, **spec)
        return (await self.intake.submit(Submission(name=name, spec=made), by="ann")).job.uid

    async def until(self, uid: str, holds: Callable[[Job], bool]) -> Job:
        """
        The job once something holds of it.
        """
        async with asyncio.timeout(10):
            while True:
                seen = self.world.wakeups.seen(EVENTS)
                job = await self.intake.job(uid)
                if holds(job):
                    return job
                await self.world.wakeups.wait(EVENTS, seen=seen, until=None)

    async def final(self, uid: str) -> Job:
        """
        The job once it is final.
        """
        return await self.until(uid, lambda job: job.phase.final)


def bench(
    *, limits: Limits = LIMITS, clock: Clock | None = None, store: MemoryStore | None = None, **other: Any
) -> Bench:
    """
    A bench that has not started. other: more engines, by name.
    """
    ticking, kept = clock or SystemClock(), store or MemoryStore()
    engine = FakeEngine(ticking)
    world = World(
        store=kept,
        catalogue=kept,
        engines={"fake": engine, **other},
        clock=ticking,
        ids=SystemIds(),
        wakeups=LoopWakeups(ticking),
        blobs=MemoryBlobs(),
        limits=limits,
    )
    loop = Loop(world)
    return Bench(world, loop, Intake(world, loop), engine, kept)
