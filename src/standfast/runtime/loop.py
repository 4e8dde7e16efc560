"""
The loop: whoever is due gets a turn, whoever is queued gets a slot, whoever runs is watched, until told to stop.

Belongs here: the tasks and their order at start and stop. A start reads the store like any other turn: there is no
recovery mode.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
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

RESTART_S = 1.0
"""Pause before a task of the loop that died begins anew; the control plane is not ready meanwhile."""

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
        self._old_clock_until = world.clock.now()
        self.fence = 0
        self.admission = Admission(world)
        incarnations = self.admission.incarnations
        self._lanes = {name: Lane(world, engine, self.moved, incarnations) for name, engine in world.engines.items()}
        self._observers = {name: Observer(world, lane) for name, lane in self._lanes.items()}
        self._sweep = Sweep(world)
        self._cooling: dict[str, datetime] = {}
        self._due_at: datetime | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._left_behind: set[asyncio.Task[None]] = set()
        self._stopped = False
        self._failed: str | None = None
        self._died: dict[str, str] = {}

    async def start(self) -> None:
        """
        Begin an epoch, open the engines, and go.

        Raises:
            Unavailable: The store is held by another process, or cannot be read; nothing was started.
        """
        now = self._world.clock.now()
        epoch = await self._world.store.begin(now)
        self.fence, self._outages, self._set_back = epoch.fence, epoch.outages, timedelta(seconds=epoch.set_back_s)
        self._old_clock_until = now + self._set_back if self._set_back >= CLOCK_TOLERANCE else now
        watched = await self._world.store.watched()
        for name, observer in self._observers.items():
            observer.load(one for one in watched if one.engine == name)
        log.info("started", fence=self.fence, watched=len(watched), outages=len(self._outages))
        self._run("due", self._take_due)
        for name, lane in self._lanes.items():
            self._run(f"observe {name}", partial(self._observe, lane, self._observers[name]))
            self._run(f"admit {name}", partial(self._admit, lane))
            self._run(f"sweep {name}", partial(self._sweep.run, lane))

    async def stop(self) -> None:
        """
        Take no new work, wait for the calls under way, let go. What runs on engines goes on.
        """
        self.admission.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for name, lane in self._lanes.items():
            if not await lane.idle(self._world.limits.drain_s):
                log.warning("drain_timeout", engine=name)
                lane.abandon()
        # From here on the rows alone say what is to be done; the next start reads them.
        self._stopped = True
        for task in self._left_behind:
            task.cancel()
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
        lanes = (lane.trouble for lane in self._lanes.values() if lane.trouble)
        return self._failed or next(iter(self._died.values()), None) or next(lanes, None)

    async def waiting(self, job: Job) -> Waiting | None:
        """
        What a queued job waits for.
        """
        return await self.admission.waiting(job)

    def moved(self, steps: Sequence[Step]) -> None:
        """
        Follow steps that won, whoever caused them, and do what they ask for.
        """
        if self._stopped:
            return
        earliest: datetime | None = None
        for s in steps:
            after = s.after
            if s.events and self._cooling:
                self._cooling.pop(after.uid, None)
            if after.wake_at is not None and (earliest is None or after.wake_at < earliest):
                earliest = after.wake_at
        if earliest is not None and (self._due_at is None or earliest < self._due_at):
            self._world.wakeups.hint(DUE)
        for name, some in _by_engine(steps).items():
            if name in self._lanes:
                self._observers[name].moved(some)
                # A step without events only moved a wake time: whoever caused it acts by itself.
                self._lanes[name].act(s for s in some if s.events and not isinstance(s.action, Look))

    def carry_on(self, work: Coroutine[Any, Any, None]) -> None:
        """
        Finish what a caller left behind, beside everything else.
        """
        task = asyncio.get_running_loop().create_task(work)
        self._left_behind.add(task)
        task.add_done_callback(self._carried_on)

    def _carried_on(self, task: asyncio.Task[None]) -> None:
        self._left_behind.discard(task)
        if not task.cancelled() and task.exception() is not None:
            log.error("carry_on_failed", exc_info=task.exception())

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
            # Who is due later than this round would come by itself need not be told of.
            self._due_at = next_at
            await world.wakeups.wait(DUE, seen=seen, until=next_at)
            self._due_at = None

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
        if len(due.jobs) >= world.limits.batch or len(won) < len(changed):
            return now
        return min(later, default=None)

    async def _observe(self, lane: Lane, observer: Observer) -> None:
        """
        Open the engine, however long that takes, and watch.
        """
        name, troubles = lane.engine.name, self.admission.trouble
        while not lane.opened.is_set():
            try:
                await lane.engine.open(observer.hint)
                lane.opened.set()
                self.admission.incarnations.opened(name)
                troubles.pop(name, None)
            except Unavailable as error:
                if troubles.get(name) != error.message:
                    log.warning("engine_unavailable", engine=name, error=error.message)
                troubles[name] = error.message
                await self._world.clock.sleep(RETRY_S)
        await observer.run()

    async def _due(self, now: datetime) -> DueJobs:
        """
        Who is due; after the machine's clock was set back, also those whose wake time was reckoned by the old clock.

        Those who wait by the new clock are passed over page by page, so that they never hide who is due behind them.
        """
        store, limit, skip = self._world.store, self._world.limits.batch, set(self._cooling)
        if now >= self._old_clock_until:
            return await store.due(now, limit=limit, skip=skip)
        ours: list[Job] = []
        later: list[datetime] = []
        while True:
            due = await store.due(now + self._set_back, limit=limit, skip=skip)
            for job in due.jobs:
                skip.add(job.uid)
                if job.updated_at > now or (job.wake_at is not None and job.wake_at <= now):
                    ours.append(job)
                elif job.wake_at is not None:
                    later.append(job.wake_at)
            if len(due.jobs) < limit or len(ours) >= limit:
                break
        if due.next_at is not None:
            # It may have been reckoned by either clock; too early costs one look.
            later.append(due.next_at - self._set_back)
        return DueJobs(ours[:limit], min(later, default=None))

    async def _admit(self, lane: Lane) -> None:
        """
        Slots for the engine's queued jobs, whenever something may have freed one.
        """
        world = self._world
        await lane.opened.wait()
        while True:
            seen, until = world.wakeups.seen(TURN), world.clock.now() + timedelta(seconds=ADMIT_AGAIN_S)
            try:
                won = await self.admission.admit(lane.engine)
                self.admission.trouble.pop(lane.engine.name, None)
                self.moved(won)
                if won:
                    continue
            except (Unavailable, TimeoutError) as error:
                told = str(error) or "no answer in time"
                if self.admission.trouble.get(lane.engine.name) != told:
                    log.warning("admission_waits", engine=lane.engine.name, error=told)
                self.admission.trouble[lane.engine.name] = told
                until = world.clock.now() + timedelta(seconds=RETRY_S)
                seen = world.wakeups.seen(TURN)
            await world.wakeups.wait(TURN, seen=seen, until=until)

    def _run(self, name: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._tasks.append(asyncio.get_running_loop().create_task(self._kept_up(name, work), name=name))

    async def _kept_up(self, name: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """
        Do this for as long as the loop runs: what dies of a bug is said aloud, and begins anew after a pause.
        """
        while True:
            try:
                await work()
            except Exception as error:
                self._died[name] = f"task {name} died: {type(error).__name__}: {error}"
                log.critical("loop_task_died", task=name, exc_info=error)
            await self._world.clock.sleep(RESTART_S)
            self._died.pop(name, None)


def _by_engine(steps: Sequence[Step]) -> Mapping[str, Sequence[Step]]:
    """
    The steps of each engine, in order.
    """
    if len(steps) == 1:
        return {steps[0].after.spec.engine: steps}
    by_engine: dict[str, list[Step]] = {}
    for s in steps:
        by_engine.setdefault(s.after.spec.engine, []).append(s)
    return by_engine
