"""
One engine's lane: its calls, bounded and timed, and the turns that their answers cause.

Belongs here: launch, look, halt, remove against one engine, so that a slow engine delays nobody else. An answer is an
observation in the inbox; one drain at a time takes all of them in one turn, and acts on what the steps ask for.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from typing import Any, TypeVar

import msgspec
import structlog

from standfast.core.errors import StandfastError, Unavailable
from standfast.core.job.actions import Halt, Launch, Look, Remove
from standfast.core.job.evidence import Verdict
from standfast.core.job.inputs import Remainder, Removed
from standfast.core.job.machine import Step
from standfast.core.job.observation import Absent, Ended, Observation, Present, Unreachable
from standfast.core.job.state import Job
from standfast.ports.engine import Engine
from standfast.runtime.archive import archived
from standfast.runtime.incarnations import Incarnations
from standfast.runtime.intake import forget, order_of
from standfast.runtime.turn import Told, take
from standfast.runtime.world import World

log = structlog.get_logger(__name__)

T = TypeVar("T")

LOOK_CHUNK = 500
"""Handles per look, so that one call stays short."""

STORE_RETRY_S = 0.5
"""Wait before a turn is taken again that the store did not take."""


class Lane:
    """
    Calls to one engine, from the moment it is `opened`. `moved` is told of every step that won here.

    launched: told of each handle whose launch was answered, once that answer is in the inbox.
    """

    def __init__(
        self, world: World, engine: Engine, moved: Callable[[Sequence[Step]], None], incarnations: Incarnations
    ) -> None:
        self.engine = engine
        self.launching: set[str] = set()
        self.launched: Callable[[str], None] = lambda handle: None
        self.opened = asyncio.Event()
        self.trouble: str | None = None
        self._world = world
        self._moved = moved
        self._incarnations = incarnations
        self._to_launch: deque[Job] = deque()
        self._launchers = 0
        self._looks: dict[int, set[str]] = {}
        self._began_s: float | None = None
        self._sent_s: dict[str, float] = {}
        self._halting: set[str] = set()
        self._removing: set[str] = set()
        self._inbox: list[Told] = []
        self._draining = False
        self._tasks: set[asyncio.Task[None]] = set()

    def act(self, steps: Iterable[Step]) -> None:
        """
        Carry out what the won steps ask for; returns at once.
        """
        looks: list[Job] = []
        for s in steps:
            action = s.action
            if isinstance(action, Launch):
                self._launch(s.after)
            elif isinstance(action, Look):
                looks.append(s.after)
            elif isinstance(action, Halt):
                if s.after.attempt.handle not in self._halting:
                    self._halting.add(s.after.attempt.handle)
                    self.spawn(self._halt_one(s.after))
            elif isinstance(action, Remove) and s.after.uid not in self._removing:
                self._removing.add(s.after.uid)
                self.spawn(self._remove_one(s.after, action.what))
        if looks:
            self.spawn(self._look_at(looks))

    async def look(self, handles: Sequence[str]) -> dict[str, Observation]:
        """
        One batched look; an engine that fails to answer is unreachable for every handle asked.

        A handle whose launch began in the meantime is left out: the answer may be from before it.
        """
        seen: dict[str, Observation] = {}
        self._clock_starts()
        loop = asyncio.get_running_loop()
        for start in range(0, len(handles), LOOK_CHUNK):
            chunk = handles[start : start + LOOK_CHUNK]
            launched: set[str] = set()
            self._looks[id(launched)] = launched
            asked_s = loop.time()
            try:
                answer = await self._ask("look", self.engine.look(chunk))
            finally:
                del self._looks[id(launched)]
            told = dict.fromkeys(chunk, answer) if isinstance(answer, Unreachable) else answer
            self._heard(next(iter(told.values()), None), asked_s)
            for handle, one in told.items():
                if handle not in launched:
                    seen[handle] = self._in_doubt(handle, one)
        return seen

    def _heard(self, seen: Observation | None, asked_s: float) -> None:
        """
        Note in which life the engine gave this answer.
        """
        if isinstance(seen, Present | Ended | Absent):
            self._incarnations.heard(self.engine.name, seen.incarnation, asked_s=asked_s)
        elif isinstance(seen, Unreachable):
            self._incarnations.silent(self.engine.name)

    def _clock_starts(self) -> float:
        """
        When this lane first asked anything; a send of an earlier life was before that.
        """
        if self._began_s is None:
            self._began_s = asyncio.get_running_loop().time()
        return self._began_s

    def _in_doubt(self, handle: str, seen: Observation) -> Observation:
        """
        The answer, but an absence proves nothing until the engine's quiet time has passed since the last send.

        Measured on this process's own clock, from the end of the last call: the stored time of a send may be from a
        machine whose clock was set since, and says when it was decided, not when it left.
        """
        if not isinstance(seen, Absent):
            self._sent_s.pop(handle, None)
            return seen
        if not seen.proven or seen.final or not seen.quiet_s:
            return seen
        quiet_s = asyncio.get_running_loop().time() - self._sent_s.get(handle, self._clock_starts())
        return seen if quiet_s >= seen.quiet_s else msgspec.structs.replace(seen, proven=False)

    def tell(self, told: Iterable[Told]) -> None:
        """
        Put inputs into the inbox; they reach their jobs in the next turn.
        """
        self._inbox += told
        if self._inbox and not self._draining:
            self._draining = True
            self.spawn(self._drain())

    async def idle(self, timeout_s: float) -> bool:
        """
        Wait until no call and no turn is under way; False if that took longer than `timeout_s`.
        """
        deadline = asyncio.get_running_loop().time() + timeout_s
        while self._tasks:
            left = deadline - asyncio.get_running_loop().time()
            if left <= 0:
                return False
            await asyncio.wait(set(self._tasks), timeout=left)
        return True

    def abandon(self) -> None:
        """
        Stop waiting for what is under way; the stored rows say all that the next start needs.
        """
        for task in self._tasks:
            task.cancel()

    def _launch(self, job: Job) -> None:
        handle = job.attempt.handle
        if handle not in self.launching:
            self.launching.add(handle)
            for launched in self._looks.values():
                launched.add(handle)
            self._to_launch.append(job)
            if self._launchers < self._world.limits.launches:
                self._launchers += 1
                self.spawn(self._launch_waiting())

    async def _launch_waiting(self) -> None:
        """
        One of at most `launches` that launch whoever waits; a task and a semaphore for each job cost more than a row.
        """
        try:
            while self._to_launch:
                await self._launch_one(self._to_launch.popleft())
        finally:
            self._launchers -= 1

    async def _launch_one(self, job: Job) -> None:
        loop, attempt = asyncio.get_running_loop(), job.attempt
        handle = attempt.handle
        asked_s = loop.time()
        try:
            seen = await self._ask("launch", self.engine.launch(order_of(job, handle, attempt.number)))
        finally:
            self.launching.discard(handle)
        if isinstance(seen, Unreachable):
            self._sent_s[handle] = loop.time()
        self._heard(seen, asked_s)
        self.tell((Told(job.uid, handle, seen, job),))
        self.launched(handle)

    async def _look_at(self, jobs: Sequence[Job]) -> None:
        asked = {job.attempt.handle: job for job in jobs if job.attempt.handle not in self.launching}
        seen = await self.look(list(asked))
        self.tell(Told(asked[handle].uid, handle, observation) for handle, observation in seen.items())

    async def _halt_one(self, job: Job) -> None:
        """
        Look, ask to stop if that did not settle it, and look again: only a look confirms.
        """
        handle = job.attempt.handle
        try:
            seen = (await self.look([handle])).get(handle)
            if seen is None or not _settled(seen):
                answer = await self._ask("halt", self.engine.halt(handle, grace_s=job.spec.stop_grace_s))
                seen = answer if isinstance(answer, Unreachable) else (await self.look([handle])).get(handle)
        finally:
            self._halting.discard(handle)
        if seen is not None:
            self.tell((Told(job.uid, handle, seen),))

    async def _remove_one(self, job: Job, what: Remainder) -> None:
        try:
            async with asyncio.timeout(self._world.limits.call_timeout_s):
                if what is Remainder.RECORD:
                    await forget(self._world, job)
                    return
                for attempt in job.attempts:
                    await self.engine.remove(attempt.handle, what)
            self.tell((Told(job.uid, None, Removed(what=what)),))
        except (StandfastError, TimeoutError) as error:
            log.warning("removal_failed", uid=job.uid, what=what, error=str(error))
        finally:
            self._removing.discard(job.uid)

    async def _drain(self) -> None:
        """
        Take turns until the inbox is empty; what the store did not take is tried again.
        """
        try:
            while self._inbox:
                # One tick later, so that all who have something to tell in this turn of the loop share the commit.
                await asyncio.sleep(0)
                told, self._inbox = self._inbox, []
                try:
                    told = await archived(self._world, told)
                    won = await take(self._world, told)
                except Unavailable as error:
                    log.warning("store_unavailable", inputs=len(told), error=str(error))
                    self.trouble = f"store: {error.message}"
                    self._inbox = told + self._inbox
                    await self._world.clock.sleep(STORE_RETRY_S)
                    continue
                self.trouble = None
                self._moved(won)
        finally:
            self._draining = False

    async def _ask(self, call: str, work: Awaitable[T]) -> T | Unreachable:
        """
        The engine's answer, or that there was none, whatever went wrong: a failed call knows nothing.
        """
        try:
            async with asyncio.timeout(self._world.limits.call_timeout_s):
                return await work
        except TimeoutError:
            reason = "no answer in time"
        except Unavailable as error:
            reason = error.message
        except Exception as error:
            log.exception("engine_call_failed", engine=self.engine.name, call=call)
            reason = f"{type(error).__name__}: {error}"
        return Unreachable(at=self._world.clock.now(), by=f"{self.engine.name}.{call}", reason=reason)

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """
        Do this beside everything else; `idle` waits for it.
        """
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            log.error("lane_task_failed", engine=self.engine.name, exc_info=task.exception())


def _settled(seen: Observation) -> bool:
    """
    Whether the answer proves that nothing of the attempt is alive or will be.
    """
    match seen:
        case Ended(gone=Verdict.PROVEN):
            return True
        case Absent(proven=True, final=True):
            return True
    return False
