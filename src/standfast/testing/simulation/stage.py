"""
The stage: what outlives control planes (engine, store, requests under way), and the life that is being lived.

Belongs here: births and deaths, the trace, and who is told of what. Not here: when things go wrong (`mood`, `story`),
or what must hold (`checkers`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from random import Random
from typing import Any, Protocol, TypeVar

from standfast.core.job.machine import Step
from standfast.core.job.state import Job
from standfast.engines.fake import FakeEngine
from standfast.stores.memory.store import MemoryStore
from standfast.testing.simulation.loop import CountingIds, VirtualClock, VirtualLoop
from standfast.testing.simulation.mood import Mood

T = TypeVar("T")


class Violation(AssertionError):
    """
    Something that must hold does not.
    """


class Checker(Protocol):
    """
    One thing that must hold.
    """

    def committed(self, stage: Stage, step: Step, stored: Job | None, after: Job) -> None:
        """
        A step was committed over what was `stored`.
        """
        ...

    def ended(self, stage: Stage) -> None:
        """
        The story is over.
        """
        ...


class Life:
    """
    One life of a control plane. Once dead, each of its calls to a port waits for ever.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        self.over = asyncio.Event()

    @property
    def dead(self) -> bool:
        """
        Whether it is over.
        """
        return self.over.is_set()

    async def halt(self) -> None:
        """
        What a dead process does: nothing, for ever.
        """
        await asyncio.get_running_loop().create_future()


class Stage:
    """
    Everything of one story that is not a control plane.
    """

    def __init__(self, seed: int, mood: Mood, loop: VirtualLoop, checkers: Sequence[Checker]) -> None:
        self.mood = mood
        self.loop = loop
        self.chaos = True
        self.luck = Random(f"{seed}/luck")
        self.clock = VirtualClock(loop)
        self.ids = CountingIds(seed)
        self.engine = FakeEngine(self.clock, capabilities=mood.capabilities, quiet_s=mood.quiet_s)
        self.store = MemoryStore()
        self.jobs: dict[str, Job] = {}
        """Every job as it was last committed."""
        self.moved_at: dict[str, float] = {}
        """When each of them last changed, in seconds of the loop."""
        self.acknowledged: dict[str, str] = {}
        """Request id to uid, for every submission that a caller was told is accepted."""
        self.trace: list[str] = []
        self.lives = 0
        self.violation: Violation | None = None
        self._checkers = checkers
        self._outside: set[asyncio.Task[Any]] = set()

    def note(self, what: str) -> None:
        """
        Put a line into the trace.
        """
        self.trace.append(f"{self.loop.time():10.3f} [{self.lives}] {what}")

    def chance(self, probability: float) -> bool:
        """
        Whether this misfortune happens now; never once the story is being healed.
        """
        return self.chaos and probability > 0 and self.luck.random() < probability

    def outside(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """
        Work that no death of a control plane touches, such as a request that is under way.
        """
        task = self.loop.create_task(work)
        self._outside.add(task)
        task.add_done_callback(self._arrived)
        return task

    def _arrived(self, task: asyncio.Task[Any]) -> None:
        self._outside.discard(task)
        if not task.cancelled():
            # The one who asked may be dead; then nobody else reads the error.
            task.exception()

    def survives(self, task: asyncio.Task[Any]) -> bool:
        """
        Whether a death leaves this task alone.
        """
        return task in self._outside

    def demand(self, holds: bool, message: str) -> None:
        """
        Record a violation unless it holds; the first one counts.
        """
        if not holds and self.violation is None:
            self.violation = Violation(message)
            self.note(f"VIOLATION {message}")

    def saw_commit(self, step: Step, after: Job) -> None:
        """
        A step won its swap.
        """
        stored = self.jobs.get(after.uid)
        self.jobs[after.uid] = after
        if step.events:
            self.moved_at[after.uid] = self.loop.time()
            named = ", ".join(type(event).__name__ for event in step.events)
            attempt = f" #{after.attempt.number}" if after.attempts else ""
            self.note(f"{after.uid[-4:]}{attempt} {step.before.phase if step.before else '-'} {named} -> {after.phase}")
        for checker in self._checkers:
            checker.committed(self, step, stored, after)

    def judge(self) -> None:
        """
        Ask every checker about the whole story.
        """
        for checker in self._checkers:
            checker.ended(self)

    def kill(self, life: Life, where: str) -> None:
        """
        End a life, here and now.
        """
        if not life.dead:
            self.note(f"crash at {where}")
            life.over.set()


Effect = Callable[[], Coroutine[Any, Any, T]]
