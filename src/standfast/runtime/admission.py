"""
Whose turn it is: jobs in order of priority and age, as far as engine and queue have slots.

Belongs here: who gets a slot, and what a queued job waits for. The counts come from the store's kept counters (`room`),
so limits hold across restarts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from standfast.core.errors import Unavailable
from standfast.core.job.explain import Waiting
from standfast.core.job.inputs import Admit
from standfast.core.job.machine import Step, step
from standfast.core.job.state import Job, Phase
from standfast.ports.engine import Engine
from standfast.ports.store import Committed
from standfast.runtime.incarnations import Incarnations
from standfast.runtime.room import Room, View
from standfast.runtime.turn import commit
from standfast.runtime.world import QUEUED, World


class Admission:
    """
    Admits jobs: new ones at once where nobody is before them, queued ones when there is a slot.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._room = Room(world)
        self._queueing: dict[tuple[str, str], int] = {}
        """New jobs of an engine and queue that must queue, and whose commit is under way."""
        self._closed = False
        self.incarnations = Incarnations()
        self.trouble: dict[str, str] = {}
        """By engine, why it cannot be asked just now; what keeps its queued jobs waiting."""

    def close(self) -> None:
        """
        From now on new jobs queue, for the next control plane.
        """
        self._closed = True

    async def enter(self, opened: Sequence[Step]) -> list[Step]:
        """
        The first steps of new jobs, each followed by its admission if it may start at once; for one commit.

        `entered` must follow, whatever becomes of the commit.
        """
        steps: list[Step] = []
        try:
            for one in opened:
                admitted = await self._at_once(one)
                steps.append(one)
                if admitted is not None:
                    steps.append(admitted)
        except BaseException:
            self.entered(steps, ())
            raise
        return steps

    def entered(self, steps: Sequence[Step], answers: Sequence[Committed]) -> None:
        """
        The commit of what `enter` returned is over, with these answers: a job where the step is stored; none of them if
        nothing is.
        """
        for index, one in enumerate(steps):
            spec = one.after.spec
            if one.before is not None:
                self._room.settle(spec.engine, spec.queue, won=bool(answers) and isinstance(answers[index], Job))
            elif index + 1 == len(steps) or steps[index + 1].before is not one.after:
                where = spec.engine, spec.queue
                self._queueing[where] -= 1
                if not self._queueing[where]:
                    del self._queueing[where]

    async def admit(self, engine: Engine) -> list[Step]:
        """
        Move as many queued jobs of the engine past the write boundary as there are slots; returns the steps that won.

        Raises:
            Unavailable: The engine or the store does not answer; nobody was admitted.
        """
        world, name = self._world, engine.name
        view = await self._room.read()
        if not any(queued_on == name for queued_on, _ in view.queued):
            return []
        if self._room.of_engine(view, name) <= 0:
            self._room.sent_away(view)
            return []
        asked_s = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(world.limits.call_timeout_s):
                incarnation = await engine.incarnation()
        except (Unavailable, TimeoutError):
            self.incarnations.silent(name)
            raise
        self.incarnations.heard(name, incarnation, asked_s=asked_s)
        view = await self._room.read()
        jobs = await self._next(name, view)
        if len(jobs) < sum(count for (on, _), count in view.queued.items() if on == name):
            self._room.sent_away(view)
        steps = self._given(jobs, view, incarnation)
        answers: list[Committed] = []
        try:
            answers += await commit(world, steps)
        finally:
            self.entered(steps, answers)
        return [s for s, answer in zip(steps, answers, strict=True) if isinstance(answer, Job)]

    async def waiting(self, job: Job) -> Waiting | None:
        """
        What a queued job waits for: the tighter of its two limits, and its place.
        """
        if job.phase is not Phase.QUEUED:
            return None
        limits, room, view = self._world.limits, self._room, await self._room.read()
        engine, queue = job.spec.engine, job.spec.queue
        limit, free, name = limits.of_engine(engine), room.of_engine(view, engine), f"engine {engine}"
        of_queue, free_of_queue = limits.of_queue(queue), room.of_queue(view, queue)
        if of_queue is not None and free_of_queue is not None and free_of_queue < free:
            limit, free, name = of_queue, free_of_queue, f"queue {queue}"
        return Waiting(
            limit=name,
            slots=limit,
            active=limit - free,
            ahead=await self._world.catalogue.ahead(job),
            trouble=self.trouble.get(engine),
        )

    async def _at_once(self, opened: Step) -> Step | None:
        """
        The admission of a new job, with a slot taken for it, if one is left when everybody who waits has one; None: it
        must queue, and is noted.

        The life it is sent to may be over by then, unnoticed. That is safe: the attempt bears the name of a life that
        gives no more answers, and `decisions` takes absence in any other life for a doubt, never for leave to send the
        attempt again.
        """
        job = opened.after
        engine, queue = job.spec.engine, job.spec.queue
        # A queued job's wake time is a start time ahead.
        if job.phase is Phase.QUEUED and job.wake_at is None and self.incarnations.known(engine) is not None:
            view = await self._up_to_date(engine, queue)
            # From here to the slot nobody else gets a word in.
            incarnation = self.incarnations.known(engine)
            if view is not None and incarnation is not None and not self._closed and self._spare(view, engine, queue):
                self._room.give(engine, queue)
                return step(job, Admit(incarnation=incarnation), opened.at)
        self._queueing[engine, queue] = self._queueing.get((engine, queue), 0) + 1
        return None

    async def _up_to_date(self, engine: str, queue: str) -> View | None:
        """
        The counters, read again only if that may tell something else: of room, a slot that came free since; of none
        before it, a job that was queued since.
        """
        view, seen = self._room.view, self._world.wakeups.seen
        if view is not None:
            spare = self._spare(view, engine, queue)
            if seen(QUEUED) == view.queued_seen if spare else not self._room.better(view):
                return view if spare else None
        try:
            view = await self._room.read()
        except Unavailable:
            return None
        return view if seen(QUEUED) == view.queued_seen else None

    def _spare(self, view: View, engine: str, queue: str) -> bool:
        """
        Whether engine and queue have a slot beside those for everybody who waits for one, or is about to.
        """
        free, of_queue = self._room.of_engine(view, engine), self._room.of_queue(view, queue)
        for waiting in (view.queued, self._queueing):
            for (on, of), count in waiting.items():
                if on == engine:
                    free -= count
                if of == queue and of_queue is not None:
                    of_queue -= count
        return free > 0 and (of_queue is None or of_queue > 0)

    async def _next(self, engine: str, view: View) -> list[Job]:
        """
        The queued jobs of the engine that may have a slot, in the order they get it.
        """
        now = self._world.clock.now()
        free = min(self._room.of_engine(view, engine), self._world.limits.batch)
        candidates: list[Job] = []
        for queue in sorted(of for on, of in view.queued if on == engine) if free > 0 else ():
            of_queue = self._room.of_queue(view, queue)
            room = free if of_queue is None else min(free, of_queue)
            if room > 0:
                candidates += await self._world.store.queued(now, engine=engine, queue=queue, limit=room)
        candidates.sort(key=lambda job: (-job.spec.priority, job.uid))
        return candidates[: max(0, free)]

    def _given(self, jobs: Sequence[Job], view: View, incarnation: str) -> list[Step]:
        """
        The admissions of those for whom there still is a slot, each with its slot taken.
        """
        now, room = self._world.clock.now(), self._room
        steps: list[Step] = []
        for job in jobs:
            engine, queue = job.spec.engine, job.spec.queue
            of_queue = room.of_queue(view, queue)
            if room.of_engine(view, engine) <= 0 or (of_queue is not None and of_queue <= 0):
                room.sent_away(view)
                continue
            admitted = step(job, Admit(incarnation=incarnation), now)
            if admitted.events:
                room.give(engine, queue)
                steps.append(admitted)
        return steps
