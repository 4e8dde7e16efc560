"""
The loop: whoever is due gets a turn, whoever is queued gets a slot, whoever runs is watched, until told to stop.

Belongs here: the tasks and their order at start and stop. A start reads the store like any other turn: there is no
recovery mode.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from datetime import datetime, timedelta
from typing import Any

import structlog

from standfast.core.errors import Unavailable
from standfast.core.job.actions import Halt, Look, Remove
from standfast.core.job.explain import Waiting
from standfast.core.job.inputs import Due, Outage
from standfast.core.job.machine import Step, step
from standfast.core.job.state import Job
from standfast.ports.store import DueJobs
from standfast.runtime.admission import Admission
from standfast.runtime.lane import Lane
from standfast.runtime.observer import Observer
from standfast.runtime.sweep import Sweep
from standfast.runtime.turn import commit
from standfast.runtime.world import DUE, TURN, World

log = structlog.get_logger(__name__)

RETRY_S = 1.0
"""Wait after a store or an engine did not answer before it is asked again."""

CLOCK_TOLERANCE = timedelta(seconds=1)
"""A clock that was set back by less than this changes nothing."""

ADMIT_AGAIN_S = 60.0
"""Queues are looked through this often though nothing was heard: a hint may be lost, or a start time come twice."""

COOL_S = 5.0
"""A due job whose turn changed nothing and set no later wake time is left alone this long."""


class Loop:
    """
    The running control plane over a wired world.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._outages: tuple[Outage, ...] = ()
        self._set_back = timedelta()
        self.fence = 0
        self._lanes = {name: Lane(world, engine, self.moved) for name, engine in world.engines.items()}
        self._observers = {name: Observer(world, lane) for name, lane in self._lanes.items()}
        self._admission = Admission(world)
        self._sweep = Sweep(world)
        self._cooling: dict[str, datetime] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._failed: str | None = None

    async def start(self) -> None:
        """
        Begin an epoch, open the engines, and go.

        Raises:
            Unavailable: The store is held by another process, or cannot be read; nothing was started.
        """
        epoch = await self._world.store.begin(self._world.clock.now())
        self.fence, self._outages, self._set_back = epoch.fence, epoch.outages, timedelta(seconds=epoch.set_back_s)
        watched = await self._world.store.watched()
        for name, observer in self._observers.items():
            observer.load(one for one in watched if one.engine == name)
        log.info("started", fence=self.fence, watched=len(watched), outages=len(self._outages))
        self._run("due", self._take_due())
        for name, lane in self._lanes.items():
            self._run(f"observe {name}", self._observe(lane, self._observers[name]))
            self._run(f"admit {name}", self._admit(lane))
            self._run(f"sweep {name}", self._sweep.run(lane))

    async def stop(self) -> None:
        """
        Take no new work, wait for the calls under way, let go. What runs on engines goes on.
        """
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for name, lane in self._lanes.items():
            if not await lane.idle(self._world.limits.drain_s):
                log.warning("drain_timeout", engine=name)
                lane.abandon()
        for engine in self._world.engines.values():
            await engine.close()

    async def watching(self) -> None:
        """
        Return once every attempt that was alive at the start has been looked at.
        """
        for observer in self._observers.values():
            await observer.looked.wait()

    @property
    def trouble(self) -> str | None:
        """
        What keeps the loop from doing its work; None if nothing does.
        """
        return self._failed or next((lane.trouble for lane in self._lanes.values() if lane.trouble), None)

    async def waiting(self, job: Job) -> Waiting | None:
        """
        What a queued job waits for.
        """
        return await self._admission.waiting(job)

    def moved(self, steps: Sequence[Step]) -> None:
        """
        Follow steps that won, whoever caused them, and do what they ask for.
        """
        by_engine: dict[str, list[Step]] = {}
        for s in steps:
            by_engine.setdefault(s.after.spec.engine, []).append(s)
            if s.events:
                self._cooling.pop(s.after.uid, None)
        for name, some in by_engine.items():
            if name in self._lanes:
                self._observers[name].moved(some)
                # A step without events only moved a wake time: whoever caused it acts by itself.
                self._lanes[name].act(s for s in some if s.events and not isinstance(s.action, Look))

    async def _take_due(self) -> None:
        """
        Turns by time: deadlines, backoffs, overdue answers, repeated stops, removals.
        """
        world = self._world
        while True:
            seen = world.wakeups.seen(DUE)
            try:
                next_at = await self._one_round()
                self._failed = None
            except Unavailable as error:
                self._failed = f"store: {error}"
                log.warning("store_unavailable", error=str(error))
                next_at = world.clock.now() + timedelta(seconds=RETRY_S)
                seen = world.wakeups.seen(DUE)
            await world.wakeups.wait(DUE, seen=seen, until=next_at)

    async def _one_round(self) -> datetime | None:
        """
        One batch of due jobs; returns when to come back.
        """
        world, now = self._world, self._world.clock.now()
        self._cooling = {uid: at for uid, at in self._cooling.items() if at > now}
        due = await self._due(now)
        steps = [step(job, Due(outages=self._outages), now) for job in due.jobs]
        changed = [s for s in steps if s.events or (s.before is not None and s.after.wake_at != s.before.wake_at)]
        answers = await commit(world, changed)
        won = {answer.uid for answer in answers if isinstance(answer, Job)}
        unchanged = {s.after.uid for s in steps}.difference(s.after.uid for s in changed)
        self._cooling.update(dict.fromkeys(unchanged, now + timedelta(seconds=COOL_S)))
        self.moved([s for s in steps if s.after.uid in won])
        for s in steps:
            if not s.events and isinstance(s.action, Look | Halt | Remove) and s.after.spec.engine in self._lanes:
                self._lanes[s.after.spec.engine].act((s,))
        later = [at for at in (due.next_at, *self._cooling.values()) if at is not None]
        if len(due.jobs) == world.limits.batch or len(won) < len(changed):
            return now
        return min(later, default=None)

    async def _observe(self, lane: Lane, observer: Observer) -> None:
        """
        Open the engine, however long that takes, and watch.
        """
        while True:
            try:
                await lane.engine.open(observer.hint)
                lane.opened.set()
                self._admission.trouble.pop(lane.engine.name, None)
                break
            except Unavailable as error:
                if self._admission.trouble.get(lane.engine.name) != error.message:
                    log.warning("engine_unavailable", engine=lane.engine.name, error=error.message)
                self._admission.trouble[lane.engine.name] = error.message
                await self._world.clock.sleep(RETRY_S)
        await observer.run()

    async def _due(self, now: datetime) -> DueJobs:
        """
        Who is due; after the machine's clock was set back, also those whose wake time was reckoned by the old clock.
        """
        store, limit, skip = self._world.store, self._world.limits.batch, self._cooling.keys()
        if self._set_back < CLOCK_TOLERANCE:
            return await store.due(now, limit=limit, skip=skip)
        due = await store.due(now + self._set_back, limit=limit, skip=skip)
        ours = [job for job in due.jobs if job.updated_at > now or (job.wake_at is not None and job.wake_at <= now)]
        later = [job.wake_at for job in due.jobs if job.wake_at is not None and job not in ours]
        if due.next_at is not None:
            # It may have been reckoned by either clock; too early costs one look.
            later.append(due.next_at - self._set_back)
        return DueJobs(ours, min(later, default=None))

    async def _admit(self, lane: Lane) -> None:
        """
        Slots for the engine's queued jobs, whenever something may have freed one.
        """
        world = self._world
        await lane.opened.wait()
        while True:
            seen, until = world.wakeups.seen(TURN), world.clock.now() + timedelta(seconds=ADMIT_AGAIN_S)
            try:
                won = await self._admission.admit(lane.engine)
                self._admission.trouble.pop(lane.engine.name, None)
                self.moved(won)
                if won:
                    continue
            except (Unavailable, TimeoutError) as error:
                told = str(error) or "no answer in time"
                if self._admission.trouble.get(lane.engine.name) != told:
                    log.warning("admission_waits", engine=lane.engine.name, error=told)
                self._admission.trouble[lane.engine.name] = told
                until = world.clock.now() + timedelta(seconds=RETRY_S)
                seen = world.wakeups.seen(TURN)
            await world.wakeups.wait(TURN, seen=seen, until=until)

    def _run(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work, name=name)
        task.add_done_callback(self._ended)
        self._tasks.append(task)

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and task.exception() is not None:
            self._failed = f"task {task.get_name()} died: {task.exception()}"
            log.critical("loop_task_died", task=task.get_name(), exc_info=task.exception())
