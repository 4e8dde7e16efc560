"""
Orphans: runs that an engine shows under our handles though no job wants them any more; and the blobs that no job names.

A launch delayed in the network can start after its job was cancelled, so prevention is not enough. Only what is known
to be superseded is stopped; a run whose job nobody knows is reported and left alone.
"""

from __future__ import annotations

import asyncio

import structlog

from standfast.core.errors import StandfastError
from standfast.core.job.attempt import uid_and_number
from standfast.core.job.evidence import Verdict
from standfast.core.job.observation import Ended, Present
from standfast.core.job.state import Job
from standfast.ports.engine import Capability
from standfast.runtime.lane import Lane
from standfast.runtime.unclaimed import Unclaimed
from standfast.runtime.world import World

log = structlog.get_logger(__name__)

BATCH = 500


class Sweep:
    """
    Looks through the handles of every engine that can list them.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self.unknown: set[str] = set()
        self._over: dict[str, set[str]] = {}
        self._unclaimed = Unclaimed(world)

    async def run(self, lane: Lane) -> None:
        """
        Sweep one engine, as soon as it is open and then now and then, until cancelled; whichever is first, the blobs.
        """
        await lane.opened.wait()
        while True:
            try:
                await self.sweep(lane)
            except (StandfastError, TimeoutError) as error:
                log.warning("sweep_failed", engine=lane.engine.name, error=str(error))
            await self._world.clock.sleep(self._world.limits.sweep_every_s)
            try:
                await self._unclaimed.collect()
            except StandfastError as error:
                log.warning("blobs_not_swept", error=str(error))

    async def sweep(self, lane: Lane) -> int:
        """
        Stop the superseded runs of one engine; returns how many were asked to stop.
        """
        if Capability.LISTS not in lane.engine.capabilities:
            return 0
        async with asyncio.timeout(self._world.limits.call_timeout_s):
            listed = set(await lane.engine.handles())
        # What has ended stays so: a handle found dead, of a job that is done with it, is not looked at again.
        over = self._over[lane.engine.name] = self._over.get(lane.engine.name, set()) & listed
        handles = sorted(listed - over)
        stopped = 0
        for start in range(0, len(handles), BATCH):
            stopped += await self._sweep_some(lane, handles[start : start + BATCH])
        return stopped

    async def _sweep_some(self, lane: Lane, handles: list[str]) -> int:
        ours = {handle: named for handle in handles if (named := uid_and_number(handle)) is not None}
        jobs = {job.uid: job for job in await self._world.store.load([uid for uid, _ in ours.values()])}
        suspects: dict[str, Job] = {}
        for handle, (uid, number) in ours.items():
            job = jobs.get(uid)
            if job is None:
                if handle not in self.unknown:
                    log.warning("run_without_job", engine=lane.engine.name, handle=handle)
                self.unknown.add(handle)
            elif superseded(job, number):
                suspects[handle] = job
        looks = await lane.look(list(suspects)) if suspects else {}
        alive = [handle for handle, seen in looks.items() if isinstance(seen, Present)]
        self._over[lane.engine.name].update(
            handle for handle, seen in looks.items() if isinstance(seen, Ended) and seen.gone is Verdict.PROVEN
        )
        for handle in alive:
            log.warning("orphan_stopped", engine=lane.engine.name, handle=handle)
            async with asyncio.timeout(self._world.limits.call_timeout_s):
                await lane.engine.halt(handle, grace_s=suspects[handle].spec.stop_grace_s)
        return len(alive)


def superseded(job: Job, number: int) -> bool:
    """
    Whether attempt `number` must not be alive: the job is final, or has gone on to a later attempt.
    """
    return job.phase.final or number < len(job.attempts) or not job.phase.holds_slot
