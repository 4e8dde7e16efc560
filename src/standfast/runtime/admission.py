"""
Whose turn it is: queued jobs in order of priority and age, as far as engine and queue have slots.

Belongs here: slots, and what a queued job waits for. The counts come from the store's kept counters, so limits hold
across restarts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from standfast.core.job.explain import Waiting
from standfast.core.job.inputs import Admit
from standfast.core.job.machine import Step, step
from standfast.core.job.state import Job, Phase
from standfast.ports.engine import Engine
from standfast.ports.store import Slot
from standfast.runtime.turn import commit
from standfast.runtime.world import World


class Admission:
    """
    Admits queued jobs, one engine at a time; a lock keeps limits that span engines.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._one_at_a_time = asyncio.Lock()
        self.trouble: dict[str, str] = {}
        """By engine, why it cannot be asked just now; what keeps its queued jobs waiting."""

    async def admit(self, engine: Engine) -> list[Step]:
        """
        Move as many queued jobs of the engine past the write boundary as there are slots; returns the steps that won.

        Raises:
            Unavailable: The engine or the store does not answer; nobody was admitted.
        """
        world = self._world
        slots = await world.catalogue.slots()
        if not self._free(engine.name, slots) or not _queues(engine.name, slots):
            return []
        async with asyncio.timeout(world.limits.call_timeout_s):
            incarnation = await engine.incarnation()
        async with self._one_at_a_time:
            now = world.clock.now()
            jobs = await self._next(engine.name, await world.catalogue.slots())
            steps = [step(job, Admit(incarnation=incarnation), now) for job in jobs]
            steps = [s for s in steps if s.events]
            answers = await commit(world, steps)
        return [s for s, answer in zip(steps, answers, strict=True) if isinstance(answer, Job)]

    async def waiting(self, job: Job) -> Waiting | None:
        """
        What a queued job waits for: the tighter of its two limits, and its place.
        """
        if job.phase is not Phase.QUEUED:
            return None
        slots = await self._world.catalogue.slots()
        limits = self._world.limits
        engine, queue = job.spec.engine, job.spec.queue
        limit, active, name = limits.of_engine(engine), _active(slots, engine=engine), f"engine {engine}"
        of_queue = limits.of_queue(queue)
        if of_queue is not None and of_queue - _active(slots, queue=queue) < limit - active:
            limit, active, name = of_queue, _active(slots, queue=queue), f"queue {queue}"
        return Waiting(
            limit=name,
            slots=limit,
            active=active,
            ahead=await self._world.catalogue.ahead(job),
            trouble=self.trouble.get(engine),
        )

    async def _next(self, engine: str, slots: Sequence[Slot]) -> list[Job]:
        """
        The queued jobs of the engine that have a slot, in the order they get it.
        """
        limits, now = self._world.limits, self._world.clock.now()
        free = self._free(engine, slots)
        candidates: list[Job] = []
        for queue in _queues(engine, slots) if free else ():
            of_queue = limits.of_queue(queue)
            room = free if of_queue is None else min(free, of_queue - _active(slots, queue=queue))
            if room > 0:
                candidates += await self._world.store.queued(now, engine=engine, queue=queue, limit=room)
        candidates.sort(key=lambda job: (-job.spec.priority, job.uid))
        return candidates[:free]

    def _free(self, engine: str, slots: Sequence[Slot]) -> int:
        """
        How many jobs of the engine may start now, as far as the engine bounds it.
        """
        limits = self._world.limits
        return max(0, min(limits.of_engine(engine) - _active(slots, engine=engine), limits.batch))


def _queues(engine: str, slots: Sequence[Slot]) -> list[str]:
    """
    The queues with queued jobs of that engine.
    """
    return sorted({s.queue for s in slots if s.phase is Phase.QUEUED and s.engine == engine})


def _active(slots: Sequence[Slot], *, engine: str | None = None, queue: str | None = None) -> int:
    """
    Jobs that hold a slot of that engine, or of that queue.
    """
    return sum(
        s.count
        for s in slots
        if s.phase.holds_slot and (engine is None or s.engine == engine) and (queue is None or s.queue == queue)
    )
