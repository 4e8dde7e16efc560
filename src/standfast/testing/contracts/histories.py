"""
Histories to drive stores with: a desk that submits and moves jobs by real steps, and one that does so at random.

Belongs here: what the store contract and tests that compare stores share. Not here: what must hold afterwards.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol

from standfast.core.errors import Rejected
from standfast.core.failure import FailureClass
from standfast.core.job.cleanup import next_removal
from standfast.core.job.inputs import Admit, Cancel, Due, Input, Removed, Resume, Submit, Suspend
from standfast.core.job.machine import Step, step
from standfast.core.job.spec import Ttl
from standfast.core.job.state import Job
from standfast.core.retry import RetryPolicy
from standfast.ports.clock import Clock
from standfast.ports.store import Catalogue, JobStore, Query
from standfast.testing import builders


class Store(JobStore, Catalogue, Protocol):
    """
    Both store ports in one object, as every store has them.
    """


@dataclass(frozen=True)
class Subject:
    """
    A store to be judged, empty at first.

    open: makes a store object over the same data each time; the one before is closed. It takes signs of life from the
    clock, if from any. durable: what was stored is still there after close and open.
    """

    open: Callable[[Clock], Store]
    durable: bool


class HandClock:
    """
    A clock that stands still until it is moved.
    """

    def __init__(self) -> None:
        self._now = builders.START

    def now(self) -> datetime:
        """
        The time it was moved to.
        """
        return self._now

    def pass_s(self, seconds: float) -> datetime:
        """
        Move it on, and return the new time.
        """
        self._now += timedelta(seconds=seconds)
        return self._now

    async def sleep(self, seconds: float) -> None:
        """
        Move it on; nobody waits.
        """
        self.pass_s(seconds)


class Desk:
    """
    Submits jobs to a store and lets inputs reach them, a second apart; refuses to go on if a step does not win.
    """

    def __init__(self, store: Store, clock: HandClock) -> None:
        self.store = store
        self.clock = clock
        self._number = 0

    def opening(
        self, *, uid: str | None = None, request_id: str | None = None, command: Submit | None = None, **fields: Any
    ) -> Step:
        """
        The first step of a new job, not committed; fields: of its spec.
        """
        self._number += 1
        made = command or builders.submit(
            builders.spec(**fields),
            uid=uid or uid_of(self._number),
            request_id=request_id or f"request-{self._number}",
        )
        return step(None, made, self.clock.pass_s(1))

    async def submitted(self, **fields: Any) -> Job:
        """
        A new job, committed; fields: of its spec.
        """
        return await self.commit(self.opening(**fields))

    async def sent(self, command: Submit) -> Job:
        """
        The job of that command, committed.
        """
        return await self.commit(self.opening(command=command))

    async def told(self, job: Job, *inputs: Input) -> Job:
        """
        The job after the inputs reached it one by one, each committed by itself.
        """
        for given in inputs:
            job = await self.commit(step(job, given, self.clock.pass_s(1)))
        return job

    async def launched(self, **fields: Any) -> Job:
        """
        A new job past the write boundary.
        """
        return await self.told(await self.submitted(**fields), Admit(incarnation=builders.LIFE))

    async def finished(self, **fields: Any) -> Job:
        """
        A new job that succeeded.
        """
        job = await self.launched(**fields)
        return await self.told(job, builders.present(self.clock.now()), builders.ended(self.clock.now()))

    async def commit(self, one: Step) -> Job:
        """
        The job as it is after the step, which must win.
        """
        (answer,) = await self.store.commit([one])
        assert isinstance(answer, Job), answer
        return answer


def uid_of(number: int) -> str:
    """
    A job uid; those of larger numbers sort behind.
    """
    return f"job_{number:026d}"


class Wanderer:
    """
    Takes random but possible actions on jobs it has heard of: what it asks for depends on the dice and on what it was
    told, never on the store.
    """

    def __init__(self, dice: random.Random, clock: HandClock) -> None:
        self.dice = dice
        self.clock = clock
        self.jobs: dict[str, Job] = {}
        self._stale: list[Job] = []
        self._requests: list[str] = []
        self._number = 0

    def steps(self) -> list[Step]:
        """
        A few steps to be committed with one call; some of them are bound to lose.
        """
        self.clock.pass_s(self.dice.choice([0.0, 0.5, 3.0, 40.0]))
        made: list[Step] = []
        for _ in range(self.dice.randint(1, 4)):
            dice = self.dice.random()
            unfinished = [job for job in self.jobs.values() if not job.phase.final][-8:]
            if dice < (0.1 if len(unfinished) > 5 else 0.4) or not self.jobs:
                made.append(self._opening())
            elif dice < 0.15 and self._stale:
                made += self._moved(self.dice.choice(self._stale))
            else:
                made += self._moved(
                    self.dice.choice(unfinished if unfinished and dice < 0.9 else list(self.jobs.values()))
                )
        return made

    def learn(self, answers: Sequence[object]) -> None:
        """
        Hear what became of the steps.
        """
        for answer in answers:
            if isinstance(answer, Job):
                if answer.uid in self.jobs:
                    self._stale = [*self._stale[-9:], self.jobs[answer.uid]]
                self.jobs[answer.uid] = answer

    def removal(self) -> Job | None:
        """
        A job whose record may be asked to go, finished or not; now and then.
        """
        return self.dice.choice(list(self.jobs.values())) if self.jobs and self.dice.random() < 0.2 else None

    def forget(self, uid: str) -> None:
        """
        Hear that the record is gone.
        """
        self._stale.append(self.jobs.pop(uid))

    def query(self) -> Query:
        """
        A question with a few filters, some of which fit something.
        """
        dice = self.dice
        choices: dict[str, Callable[[], Any]] = {
            "namespace": lambda: dice.choice(_NAMESPACES),
            "phases": lambda: tuple(dice.sample(_PHASES, dice.randint(1, 3))),
            "not_phases": lambda: tuple(dice.sample(_PHASES, dice.randint(1, 3))),
            "engines": lambda: tuple(dice.sample(_ENGINES, dice.randint(1, 2))),
            "queue": lambda: dice.choice(_QUEUES),
            "labels": lambda: dict(dice.sample(_LABELS, dice.randint(1, 2))),
            "name": lambda: dice.choice(_NAMES),
            "name_prefix": lambda: dice.choice(["", "n", "nightly", "b", "z"]),
            "created_after": self._time,
            "created_before": self._time,
            "retry_of": lambda: dice.choice(list(self.jobs) or [uid_of(0)]),
        }
        given = dice.sample(list(choices), dice.choice([0, 1, 1, 2, 3]))
        return Query(**{name: choices[name]() for name in given})

    def _time(self) -> datetime:
        """
        A time between the start and now; often the very time that a job was made.
        """
        made = [job.created_at for job in self.jobs.values()]
        passed = self.clock.now() - builders.START
        return self.dice.choice([*made[-5:], builders.START + passed * self.dice.random()])

    def _opening(self) -> Step:
        dice = self.dice
        self._number += 1
        if self._requests and dice.random() < 0.15:
            request_id = dice.choice(self._requests)
        else:
            request_id = f"request-{self._number}"
            self._requests.append(request_id)
        now = self.clock.now()
        asked = builders.spec(
            engine=dice.choice(_ENGINES),
            queue=dice.choice(_QUEUES),
            priority=dice.choice([-1, 0, 0, 5]),
            start_at=now + timedelta(seconds=20) if dice.random() < 0.2 else None,
            deadline_s=dice.choice([None, 30.0]),
            start_deadline_s=dice.choice([None, 20.0]),
            retry=RetryPolicy(max_attempts=dice.randint(1, 3)),
            ttl=Ttl(logs_s=dice.choice([None, 10.0]), compute_s=dice.choice([None, 5.0])),
        )
        command = builders.submit(
            asked,
            uid=uid_of(self._number),
            namespace=dice.choice(_NAMESPACES),
            name=dice.choice(_NAMES),
            request_id=request_id,
            labels=dict(dice.sample(_LABELS, dice.randint(0, 2))),
            retry_of=dice.choice(list(self.jobs)) if self.jobs and dice.random() < 0.2 else None,
        )
        return step(None, command, now)

    def _moved(self, job: Job) -> list[Step]:
        """
        One step of the job, or two in a row, or none if the input does not fit.
        """
        made: list[Step] = []
        for _ in range(self.dice.choice([1, 1, 1, 2])):
            try:
                one = step(job, self._input(job), self.clock.now(), actor=self.dice.choice(["standfast", "ann"]))
            except Rejected:
                break
            if one.events or one.after.wake_at != job.wake_at:
                made.append(one)
                job = one.after
        return made

    def _input(self, job: Job) -> Input:
        now, dice = self.clock.now(), self.dice
        due = next_removal(job)
        return dice.choice(
            [
                Admit(incarnation=builders.LIFE),
                Admit(incarnation=builders.LIFE),
                Due(),
                builders.present(now, started_at=now),
                builders.present(now, engine_ref=f"run-{dice.randint(1, 9)}"),
                builders.ended(now),
                builders.failed(now, dice.choice([FailureClass.NODE_LOST, FailureClass.USER_ERROR])),
                builders.refused(now),
                builders.unreachable(now),
                builders.absent(now, proven=True, final=True),
                Cancel(by="ann", reason="no longer needed"),
                Suspend(by="ann"),
                Resume(by="ann"),
                Removed(what=due.what) if due else Due(),
            ]
        )


_NAMESPACES = ["default", "science"]
_ENGINES = ["fake", "process"]
_QUEUES = ["default", "night"]
_NAMES = ["nightly", "nightly-2", "backfill", "n"]
_LABELS = [("team", "blue"), ("tier", "gold"), ("team ü", "☃")]
_PHASES = ["queued", "launching", "running", "stopping", "backing_off", "suspended", "succeeded", "failed", "cancelled"]
